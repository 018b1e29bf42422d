"""Finds the SKILL.md folders below a root, without leaving the tree.

Holds the walk, the rule for links and the listing of sibling files. Does not belong here: reading
a SKILL.md or judging its text.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import MAX_SIBLINGS

HIDDEN_STORES = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__"})
"""Folders that tools keep for themselves: no skill is looked for in them."""

_LICENCE_FILE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """One skill folder: its path as text relative to the root, and the SKILL.md or why there is none to read."""

    folder: Path
    path: str
    file: Path | None
    refusal: Refusal | None = None
    linked: bool = False
    notes: tuple[str, ...] = ()


def address(path: Path, root: Path) -> str:
    """The path below the root with `/`, safe to store: bytes that are not UTF-8 become backslash escapes."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", errors="backslashreplace")


def find_skills(root: Path) -> Iterator[Found]:
    """Every folder that holds a SKILL.md (any case), in the order of its path, and leaf folders that lack one.

    Folders reached through a link are not entered: a link inside the tree is a second way to a skill
    that is found anyway, a link out of it is not ours to read. Both are reported.
    """
    yield from _walk(root.resolve(), root.resolve(), inside_skill=False)


def _walk(folder: Path, root: Path, *, inside_skill: bool) -> Iterator[Found]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: os.fsencode(entry.name))
    except OSError as trouble:
        yield _refused(folder, root, f"the folder cannot be listed: {trouble.strerror}")
        return
    candidates = [entry for entry in entries if entry.name.lower() == "skill.md"]
    folders, closed = _folders(entries)
    if candidates:
        try:
            yield _choose(folder, root, candidates)
        except OSError as trouble:
            yield _refused(folder, root, f"SKILL.md cannot be looked at: {trouble.strerror}")
    elif not inside_skill:
        yield from (_refused(entry, root, f"it cannot be looked at: {why}") for entry, why in closed)
        if folder.parent == root and not folders and not closed and _looks_like_skill(entries):
            yield _refused(folder, root, "no SKILL.md")
    for child in folders:
        if child.is_symlink():
            yield from _linked_folder(child, root, inside_skill=inside_skill or bool(candidates))
        else:
            yield from _walk(child, root, inside_skill=inside_skill or bool(candidates))


def _folders(entries: list[Path]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The folders among them; and what leads where nobody may look (a link into a closed folder), with the reason."""
    folders, closed = [], []
    for entry in entries:
        try:
            if entry.is_dir() and not _hidden_store(entry):
                folders.append(entry)
        except OSError as trouble:
            closed.append((entry, str(trouble.strerror)))
    return folders, closed


def _hidden_store(entry: Path) -> bool:
    return entry.name in HIDDEN_STORES


def _looks_like_skill(entries: list[Path]) -> bool:
    # A folder that only collects licence texts beside the skills is not a skill that lost its file.
    return not entries or not all(_LICENCE_FILE.search(entry.name) for entry in entries)


def _refused(folder: Path, root: Path, evidence: str, fault: SkillFault = SkillFault.UNREADABLE) -> Found:
    return Found(folder, address(folder, root), None, Refusal(fault, evidence))


def _choose(folder: Path, root: Path, candidates: list[Path]) -> Found:
    file = next((each for each in candidates if each.name == "SKILL.md"), candidates[0])
    if file.is_symlink():
        target = _target(file)
        if target is None:
            return _refused(folder, root, "SKILL.md is a symbolic link that leads to itself")
        if not target.is_relative_to(root):
            return _refused(folder, root, "SKILL.md is a symbolic link that leads out of the tree")
        if not target.exists():
            return _refused(folder, root, "SKILL.md is a symbolic link to a file that does not exist")
    if not file.is_file():
        return _refused(folder, root, "SKILL.md is not a regular file")
    others = [each.name for each in candidates if each != file]
    notes = (f"also holds {', '.join(others)}, which was not read",) if others else ()
    return Found(folder, address(folder, root), file, linked=file.is_symlink(), notes=notes)


def _target(link: Path) -> Path | None:
    """Where a link leads; None where it leads to itself (Python before 3.13 raises RuntimeError there)."""
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        return None


def _linked_folder(link: Path, root: Path, *, inside_skill: bool) -> Iterator[Found]:
    target = _target(link)
    if target is None or not target.is_relative_to(root):
        if not inside_skill:
            yield _refused(link, root, "the folder is a symbolic link that leads out of the tree")
        return
    try:
        holds_skill = any(entry.name.lower() == "skill.md" for entry in target.iterdir())
    except OSError as trouble:
        yield _refused(link, root, f"the folder that the link leads to cannot be listed: {trouble.strerror}")
        return
    if holds_skill:
        evidence = f"the folder is a symbolic link to {address(target, root)}"
        yield _refused(link, root, evidence, SkillFault.DUPLICATE)


def list_siblings(folder: Path) -> tuple[tuple[str, ...], bool]:
    """Files beside the SKILL.md, relative to its folder and sorted; nested skills and links are left out.

    The second value says whether the list was cut at `MAX_SIBLINGS`.
    """
    found: list[str] = []
    for here, folders, files in os.walk(folder, followlinks=False):
        if Path(here) != folder and any(name.lower() == "skill.md" for name in files):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not _hidden_store(Path(name)))
        for name in sorted(files):
            file = Path(here) / name
            if name.lower() != "skill.md" and not file.is_symlink():
                found.append(address(file, folder))
        if len(found) > MAX_SIBLINGS:
            return tuple(sorted(found)[:MAX_SIBLINGS]), True
    return tuple(sorted(found)), False
