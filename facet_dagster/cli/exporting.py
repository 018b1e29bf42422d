"""`facet export OUT`: the accepted tasks, trajectories and the SFT set, copied from where the run wrote them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from facet_dagster.errors import SettingsError
from facet_dagster.settings import Settings

PARTS = ("tasks", "trajectories", "sft")


def export_all(settings: Settings, out: Path) -> Iterator[str]:
    """Copy every part that is there; one line per part. Raises SettingsError where there is nothing to export."""
    present = [part for part in PARTS if (settings.out / part).is_dir()]
    if not present:
        raise SettingsError(f"nothing to export in {settings.out}: run `facet run` first")
    if out.exists() and not out.is_dir():
        raise SettingsError(f"{out} is a file: name a folder to write to")
    source, target = settings.out.resolve(), out.resolve()
    if source == target or source in target.parents or target in source.parents:
        raise SettingsError(f"{out} lies in, on or around {settings.out}: name a folder elsewhere")
    for part in present:
        try:
            shutil.copytree(settings.out / part, out / part, dirs_exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{part} cannot be copied to {out / part}: {error.strerror or error}") from error
        yield f"{part:<13} {out / part}"
