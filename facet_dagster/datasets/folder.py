"""Folders that appear whole or not at all, and the hash of what is in them.

Belongs here: writing files that others will read. What the files say does not.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from facet_dagster.records.base import digest_of
from facet_dagster.records.container import FileEntry


def replace_folder(target: Path, files: Sequence[FileEntry]) -> None:
    """Make `target` hold exactly these files. Does nothing where it does already.

    Written beside it under a name with a leading dot, then renamed; what an interrupted export left there is
    removed by the next one. Raises ValueError for a path that leaves the folder or is given twice.
    """
    wanted = {_inside(file.path): file for file in files}
    if len(wanted) != len(files):
        raise ValueError(f"a file of {target.name} is given twice")
    partial, old = target.with_name(f".{target.name}.partial"), target.with_name(f".{target.name}.old")
    for rest in (partial, old):
        shutil.rmtree(rest, ignore_errors=True)
    if _holds(target, wanted):
        return
    for path, file in wanted.items():
        place = partial / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data())
        place.chmod(file.mode)
    if target.exists():
        target.rename(old)
    partial.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def content_hash(files: Iterable[FileEntry]) -> str:
    """SHA-256 over paths, modes and contents, whatever their order."""
    lines = sorted(f"{file.path}\0{file.mode & 0o777:o}\0{digest_of(file.data())}" for file in files)
    return digest_of("\n".join(lines))


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write one file, at once or piece by piece, under another name, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.writelines([data] if isinstance(data, bytes) else data)
    partial.replace(path)


def _inside(path: str) -> PurePosixPath:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise ValueError(f"the path {path!r} leaves the folder")
    return pure


def _holds(target: Path, wanted: dict[PurePosixPath, FileEntry]) -> bool:
    if not target.is_dir():
        return False
    there = {PurePosixPath(p.relative_to(target).as_posix()): p for p in target.rglob("*") if not p.is_dir()}
    return there.keys() == wanted.keys() and all(
        not path.is_symlink()
        and path.stat().st_mode & 0o777 == wanted[name].mode & 0o777
        and path.read_bytes() == wanted[name].data()
        for name, path in there.items()
    )
