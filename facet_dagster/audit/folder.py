"""A sub-folder of a task as file entries: bounded in size and number, links never followed out of the task.

Only reading belongs here; what the files are for does not.
"""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from facet_dagster.records.container import FileEntry

MAX_FILES = 5_000
MAX_BYTES = 200_000_000


@dataclass
class Tree:
    """Files with paths relative to the folder. `faults` no task may have; `obstacles` this program cannot handle."""

    files: list[FileEntry] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)


def read_tree(folder: Path, task: Path) -> Tree:
    """Everything below a folder of the task. Never waits on a pipe, never leaves the task."""
    tree, left = Tree(), MAX_BYTES
    if folder.is_symlink() and not _inside(folder, task):
        tree.faults.append(f"{folder.name}: a link that leads out of the task or nowhere")
        return tree
    for place in _paths(folder, tree.obstacles, task):
        shown = printable(place.relative_to(task).as_posix())
        if len(tree.files) >= MAX_FILES:
            tree.obstacles.append(f"{folder.name}/ holds more than {MAX_FILES} files")
            break
        try:
            entry = _read(place, folder, task, shown, left, MAX_BYTES)
        except ValueError as fault:
            tree.faults.append(str(fault))
            continue
        except OSError as trouble:
            tree.obstacles.append(f"{shown} cannot be read: {trouble.strerror or trouble}")
            continue
        if isinstance(entry, str):
            tree.obstacles.append(entry)
            break
        tree.files.append(entry)
        left -= place.stat().st_size
    return tree


def read_text(place: Path, task: Path, limit: int) -> bytes | None:
    """A single file of the task, None where there is none.

    Raises ValueError for anything but a small plain file, OSError.
    """
    shown = printable(place.relative_to(task).as_posix())
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    entry = _read(place, place.parent, task, shown, limit, limit)
    if isinstance(entry, str):
        raise ValueError(entry)
    return entry.data()


def printable(text: str) -> str:
    """A path as text that can be written anywhere."""
    return text.encode(errors="replace").decode()


def _paths(folder: Path, obstacles: list[str], task: Path) -> list[Path]:
    """All that is no folder, in order; a link to a folder is listed, not entered."""
    found: list[Path] = []

    def closed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            place = printable(Path(error.filename).relative_to(task).as_posix())
            obstacles.append(f"{place} cannot be read: {error.strerror}")

    for root, folders, files in os.walk(folder, onerror=closed, followlinks=False):
        links = [name for name in folders if Path(root, name).is_symlink()]
        found += [Path(root, name) for name in (*files, *links)]
        if len(found) > MAX_FILES:
            break
    return sorted(found)


def _read(place: Path, folder: Path, task: Path, shown: str, left: int, limit: int) -> FileEntry | str:
    """One file; text where it is too large for what is `left` of the limit.

    Raises ValueError where no task may hold such a thing, OSError.
    """
    name = place.relative_to(folder).as_posix()
    if name != printable(name):
        raise ValueError(f"{shown}: the name is not UTF-8")
    if place.is_symlink() and not _inside(place, task):
        raise ValueError(f"{shown}: a link that leads out of the task or nowhere")
    info = place.stat()
    if stat.S_ISDIR(info.st_mode):
        return f"{shown} is a link to a folder, which is not supported"
    if not stat.S_ISREG(info.st_mode):
        raise ValueError(f"{shown}: neither file nor folder")
    if info.st_size > left:
        return f"{shown} is too large: at most {limit // 1_000_000} MB are read"
    return FileEntry.of(name, place.read_bytes(), stat.S_IMODE(info.st_mode))


def _inside(link: Path, task: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(task.resolve())
    except (OSError, RuntimeError):  # broken, or a loop
        return False
