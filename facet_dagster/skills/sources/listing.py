"""A flat listing of files (of a commit, of an archive) seen as skill folders; links are resolved on paper only.

Does not belong here: where the listing and the bytes come from.
"""

import posixpath
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.find import HIDDEN_STORES
from facet_dagster.skills.licence import is_licence_file, is_unpacked_collection
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import MAX_BYTES, MAX_LICENCE, MAX_SIBLINGS, Entry, LicenceText

Read = Callable[[str, int], bytes | Refusal]
"""The first so many bytes of the file at a path of the listing."""


@dataclass(frozen=True, slots=True)
class Node:
    """One file of a listing. `target` is what a link says, relative to its folder; `size` is in bytes."""

    kind: Literal["file", "link", "other"]
    size: int = 0
    target: str = ""


def wanted(path: str) -> bool:
    """Whether the bytes of a file may be asked for: the SKILL.md files and the licence files."""
    name = posixpath.basename(path)
    return name.lower() == "skill.md" or is_licence_file(name)


def read_listing(
    source: str, nodes: Mapping[str, Node], read: Read, *, own_root: bool, collection: bool = False
) -> Iterator[Entry]:
    """The skill folders of a listing by path. `own_root`: the root is the repository that the skills belong to.

    `collection`: what lies below the root is the repository of somebody who collects what others wrote.
    """
    listing = _Listing(source, nodes, read, own_root, collection)
    for folder in sorted(listing.skills):
        yield listing.entry(folder)


class _Listing:
    def __init__(self, source: str, nodes: Mapping[str, Node], read: Read, own_root: bool, collection: bool) -> None:
        self._source, self._nodes, self._read, self._own_root = source, nodes, read, own_root
        self._collection = collection
        self._paths = sorted(nodes)
        self.skills: dict[str, list[str]] = defaultdict(list)  # folder -> its SKILL.md files
        self._licence_files: dict[str, list[str]] = defaultdict(list)
        self._texts: dict[str, str] = {}
        for path in self._paths:
            folder, name = posixpath.split(path)
            if HIDDEN_STORES.intersection(folder.split("/")):
                continue
            if name.lower() == "skill.md":
                self.skills[folder].append(path)
            elif is_licence_file(name) and nodes[path].kind == "file":
                self._licence_files[folder].append(path)

    def entry(self, folder: str) -> Entry:
        candidates = self.skills[folder]
        file = next((each for each in candidates if posixpath.basename(each) == "SKILL.md"), candidates[0])
        others = [posixpath.basename(each) for each in candidates if each != file]
        target = self._resolve(file)
        if isinstance(target, Refusal):
            return Entry(source=self._source, path=folder or ".", refusal=target)
        data = self._read(target, MAX_BYTES)
        if isinstance(data, Refusal):
            return Entry(source=self._source, path=folder or ".", refusal=data)
        siblings = tuple(self._siblings(folder))
        return Entry(
            source=self._source,
            path=folder or ".",
            data=data,
            size=self._nodes[target].size,
            siblings=siblings[:MAX_SIBLINGS],
            siblings_cut=len(siblings) > MAX_SIBLINGS,
            licences=tuple(self._licences(folder)),
            target=target if target != file else "",
            notes=(f"also holds {', '.join(others)}, which was not read",) if others else (),
        )

    def _resolve(self, file: str) -> str | Refusal:
        """The regular file that a path means, inside the listing."""
        seen = {file}
        while (node := self._nodes[file]).kind == "link":
            where = posixpath.normpath(posixpath.join(posixpath.dirname(file), node.target))
            if posixpath.isabs(where) or where == ".." or where.startswith("../"):
                return _unreadable("SKILL.md is a symbolic link that leads out of the tree")
            if where in seen:
                return _unreadable("SKILL.md is a symbolic link that leads to itself")
            if where not in self._nodes:
                return _unreadable("SKILL.md is a symbolic link to a file that does not exist")
            seen.add(where)
            file = where
        return file if node.kind == "file" else _unreadable("SKILL.md is not a regular file")

    def _siblings(self, folder: str) -> list[str]:
        """Files of the skill folder and below, without links and without nested skills."""
        prefix = f"{folder}/" if folder else ""
        found = []
        for path in self._paths[bisect_left(self._paths, prefix) :]:
            if not path.startswith(prefix):
                break
            if self._nodes[path].kind == "file" and self._owner(path, folder) == folder:
                found.append(path[len(prefix) :])
                if len(found) > MAX_SIBLINGS:
                    break
        return found

    def _owner(self, path: str, folder: str) -> str | None:
        """The nearest skill folder above a path; None for a SKILL.md itself and for what tools keep."""
        if posixpath.basename(path).lower() == "skill.md":
            return None
        here = posixpath.dirname(path)
        while here != folder and here not in self.skills:
            if posixpath.basename(here) in HIDDEN_STORES:
                return None
            here = posixpath.dirname(here)
        return here

    def _licences(self, folder: str) -> Iterator[LicenceText]:
        here = folder
        while here or self._own_root or here == folder:
            proves = here == folder or not self._collects(here)
            for file in self._licence_files.get(here, ()) if proves else ():
                yield LicenceText(posixpath.basename(file), self._text(file), own=here == folder)
            if not here:
                return
            here = posixpath.dirname(here)

    def _collects(self, folder: str) -> bool:
        """Whether a folder is the root of a collection, whose licence proves nothing about the skills in it."""
        return bool(folder) and "/" not in folder and (self._collection or is_unpacked_collection(folder))

    def _text(self, file: str) -> str:
        if file not in self._texts:
            data = self._read(file, MAX_LICENCE)
            self._texts[file] = "" if isinstance(data, Refusal) else data.decode("utf-8", errors="replace")
        return self._texts[file]


def _unreadable(evidence: str) -> Refusal:
    return Refusal(SkillFault.UNREADABLE, evidence)
