"""Which differences e0 -> eT are outputs that the instruction cares about: the subjects of negative controls.

What nobody asked for may be spoilt without any test noticing, so only what the instruction names counts: by path, by
file name, or by a folder that it lies in. Notes count where nothing but notes was written. Pure functions of what was
observed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.environment import ObservedFile

# Left behind by programs at work in a folder that the instruction names.
_BY_PRODUCT = re.compile(
    r"(^|/)(\.[^/]+|[^/]*(~|\.(bak|tmp|temp|swp|lock|pid|log|pyc|orig)))$"
    r"|/(__pycache__|node_modules|\.venv|venv|\.git|\.cache|\.[a-z]+_cache)/"
)
_NOTES = re.compile(r"/((README|NOTES|CHANGELOG)[^/]*|[^/]*\.(md|rst))$")  # written beside the work, or the work itself
_INSIDE_REPOSITORY = re.compile(r"/\.git/")
_SIDE_FILE = re.compile(r"-(wal|shm|journal)$")
_ABOUT_GIT = re.compile(
    r"\b(git|commit(s|ted)?|branch(es)?|tag(s|ged)?|repositor(y|ies)|merge[ds]?|rebase[ds]?)\b", re.I
)
_ABOUT_MODES = re.compile(r"\b(chmod|permissions?|executable|modes?|readable|writable|0?[0-7]{3})\b", re.I)
_EVERYWHERE = frozenset({"/", "/app", "/etc", "/home", "/opt", "/root", "/srv", "/usr", "/usr/local", "/var", "/tmp"})


@dataclass(frozen=True)
class _History:
    """What the observer says of a git repository, apart from its files: of its refs, HEAD, HEAD's commit.

    Observations of earlier versions tell neither `at` nor `refs`.
    """

    line: str  # HEAD, branches, tags, commits
    head: str
    commits: str
    at: str | None
    refs: str | None

    @classmethod
    def of(cls, sniffed: str) -> Self:
        line = sniffed.partition(" commits;")[0]
        head, commits = line.partition("; ")[0], line.rpartition("; ")[2]
        found = [re.search(rf"; {word} (\w+);", sniffed) for word in ("at", "refs")]
        at, refs = (match[1] if match else None for match in found)
        return cls(line, head, commits, at, refs)

    def differs(self, other: Self) -> bool:
        return self.line != other.line or (None not in (self.refs, other.refs) and self.refs != other.refs)


@dataclass(frozen=True)
class Subject:
    """One output. `folder`: the innermost one that is named, where the output itself is not."""

    change: FileChange
    folder: PurePosixPath | None = None

    @property
    def named(self) -> bool:
        """By path or file name."""
        return self.folder is None

    @property
    def path(self) -> str:
        return self.change.path

    @property
    def repository(self) -> bool:
        """A git directory, whose changes count as one output."""
        observed = self.change.after or self.change.before
        return observed is not None and observed.type == "dir"

    @property
    def committed(self) -> bool:
        """Of a repository: whether the branch that HEAD names has got another commit."""
        before, after = (_History.of(side.sniffed or "") for side in _sides(self.change))
        if None in (before.at, after.at):
            return before.commits != after.commits
        return before.at != after.at and (before.head == after.head or before.commits != after.commits)


def subjects(diff: StateDiff, instruction: str, workdir: str) -> tuple[Subject, ...]:
    """Outputs that the instruction names, those named themselves first, then by path."""
    found = _without_side_notes(list(_subjects(diff, instruction, workdir)))
    return tuple(sorted(found, key=lambda subject: (not subject.named, subject.path)))


def whatever_was_made(diff: StateDiff) -> tuple[Subject, ...]:
    """Files that were created or changed, without by-products: the outputs of an instruction that names none."""
    made = [
        Subject(change, folder=PurePosixPath("/"))
        for change in diff.files
        if change.change != "removed" and _can_be_spoilt(change, "")
        if not any(kind.search(change.path) for kind in (_BY_PRODUCT, _INSIDE_REPOSITORY, _SIDE_FILE))
    ]
    return tuple(_without_side_notes(made))


def _without_side_notes(found: Sequence[Subject]) -> list[Subject]:
    """Without notes that lie in a folder with other work: they were not what the folder was asked for."""

    def is_note(subject: Subject) -> bool:
        return not subject.named and _NOTES.search(subject.path) is not None

    at_work = {folder for each in found if not is_note(each) for folder in PurePosixPath(each.path).parents}
    return [each for each in found if not is_note(each) or each.folder not in at_work]


def _subjects(diff: StateDiff, instruction: str, workdir: str) -> Iterator[Subject]:
    for change in diff.files:
        if _INSIDE_REPOSITORY.search(change.path) or _SIDE_FILE.search(change.path):
            continue
        if _is_repository(change):
            before, after = (_History.of(side.sniffed or "") for side in _sides(change))
            if _ABOUT_GIT.search(instruction) and before.differs(after):  # edited files alone are none of git's doing
                yield Subject(change)
            continue
        if not _can_be_spoilt(change, instruction):
            continue
        if names_itself(instruction, change.path):
            yield Subject(change)
        elif not _BY_PRODUCT.search(change.path) and (folder := named_folder(instruction, change.path, workdir)):
            yield Subject(change, folder)


def _is_repository(change: FileChange) -> bool:
    return change.change == "changed" and all(
        side.type == "dir" and (side.sniffed or "").startswith("git repository") for side in _sides(change)
    )


def _sides(change: FileChange) -> list[ObservedFile]:
    return [side for side in (change.before, change.after) if side is not None]


def _can_be_spoilt(change: FileChange, instruction: str) -> bool:
    """A file or link. One whose content is the same counts only where the instruction speaks of permissions."""
    sides = _sides(change)
    if any(side.type not in {"file", "link"} for side in sides):
        return False
    if change.change != "changed":
        return True
    before, after = sides
    content = (before.type, before.sha256 or before.size, before.target)
    if content != (after.type, after.sha256 or after.size, after.target):
        return True
    return before.mode != after.mode and _ABOUT_MODES.search(instruction) is not None


def names_itself(text: str, path: str) -> bool:
    """Whether a text names a file: its path, the end of its path, or its name. A name that is a plain word must be
    marked as one."""
    parts = PurePosixPath(path).parts[1:]
    if any(_occurs(text, "/".join(parts[start:])) for start in range(len(parts) - 1)):
        return True
    name = parts[-1] if parts else ""
    if not name:
        return False
    return _occurs(text, name) if "." in name[1:] else f"`{name}`" in text


def named_folder(text: str, path: str, workdir: str) -> PurePosixPath | None:
    """The innermost folder of a path that a text names; the task's own and the system's folders say nothing."""
    for folder in PurePosixPath(path).parents:
        if str(folder) in _EVERYWHERE or folder in (PurePosixPath(workdir), *PurePosixPath(workdir).parents):
            continue
        parts = folder.parts[1:]
        if _occurs(text, str(folder)) or any(f"`{'/'.join(parts[n:])}/" in text for n in range(len(parts))):
            return folder
    return None


def _occurs(text: str, words: str) -> bool:
    """As a whole: not as a part of a longer path or name."""
    return re.search(rf"(?<![\w.-]){re.escape(words)}(?![\w-]|\.\w)", text) is not None
