"""From what a person wrote, `PATH` or `NAME=PATH`, to a source: the kind follows from what is there.

Does not belong here: how any kind is read.
"""

from collections.abc import Sequence
from pathlib import Path

from facet_dagster.errors import SettingsError
from facet_dagster.skills.sources.archive import ARCHIVES, ArchiveSource
from facet_dagster.skills.sources.checkout import CheckoutSource, is_checkout
from facet_dagster.skills.sources.dump import DUMPS, DumpSource
from facet_dagster.skills.sources.entry import Source
from facet_dagster.skills.sources.folder import FolderSource


def open_sources(given: Sequence[str]) -> list[Source]:
    """All sources, checked before any is read. Raises SettingsError, also where two have one name."""
    if not given:
        raise SettingsError("no source of skills: give a folder, a git checkout, a dump or an archive")
    sources = [_named(text) for text in given]
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"two sources are called {name!r}: call one by another name, NAME=PATH")
    return sources


def _named(text: str) -> Source:
    name, equals, path = text.partition("=")
    return open_source(Path(path), name) if equals and not Path(text).exists() else open_source(Path(text))


def open_source(path: Path, name: str = "") -> Source:
    """One source; nothing is read yet. Raises SettingsError for what is missing, closed or of no known kind."""
    try:
        return _open(path, name)
    except OSError as trouble:  # a closed folder, or a link into one
        raise SettingsError(f"{path} cannot be looked at: {trouble.strerror}") from trouble


def _open(path: Path, name: str) -> Source:
    if not path.exists():
        raise SettingsError(f"there are no skills at {path}: it does not exist")
    if path.is_dir():
        return CheckoutSource(path, name) if is_checkout(path) else FolderSource(path, name)
    low = path.name.lower()
    if path.is_file() and (ending := next((each for each in DUMPS if low.endswith(each)), None)):
        return DumpSource(path, name or path.name[: -len(ending)])
    if path.is_file() and (ending := next((each for each in ARCHIVES if low.endswith(each)), None)):
        return ArchiveSource(path, name or path.name[: -len(ending)])
    known = ", ".join((*DUMPS, *ARCHIVES))
    raise SettingsError(f"{path} is no source of skills: give a folder, a git checkout, or a file ending in {known}")
