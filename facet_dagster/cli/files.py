"""Files that a command is asked to write: checked before the work, and what goes wrong in one clear line."""

from pathlib import Path

from facet_dagster.errors import SettingsError


def check_target(file: Path | None) -> None:
    """Rather before the work than after it. Raises SettingsError."""
    if file is None:
        return
    if file.is_dir():
        raise SettingsError(f"{file} is a folder: name a file to write to")
    if not file.absolute().parent.is_dir():
        raise SettingsError(f"{file} cannot be written: there is no folder {file.absolute().parent}")


def write_file(file: Path, content: bytes) -> None:
    """Raises SettingsError where it cannot be written."""
    try:
        file.write_bytes(content)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}") from error
