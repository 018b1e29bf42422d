"""A folder tree of SKILL.md folders on disk. The walk and its rule for links stand in find.py."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.find import Found, find_skills, list_siblings
from facet_dagster.skills.licence import is_collection, is_licence_file, is_unpacked_collection
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.checkout import remote_of
from facet_dagster.skills.sources.entry import MAX_BYTES, MAX_LICENCE, Entry, LicenceText, place_of


class FolderSource:
    """Skill folders below a root that is nobody's repository: a licence at the root proves nothing about them."""

    version = ""

    def __init__(self, root: Path, name: str = "") -> None:
        self.root = root
        self.place = place_of(root)
        self.name = name or root.resolve().name or "skills"
        self._licences_in = cache(_licences_in)
        self._is_collection = cache(_is_collection)

    def entries(self) -> Iterator[Entry]:
        """In the order of their paths."""
        for found in find_skills(self.root):
            yield self._entry(found)

    def _entry(self, found: Found) -> Entry:
        if found.file is None:
            return self._refused(found, found.refusal or Refusal(SkillFault.UNREADABLE, "no SKILL.md"))
        try:
            size = found.file.stat().st_size
            with found.file.open("rb") as stream:
                data = stream.read(MAX_BYTES)
            siblings, cut = list_siblings(found.folder)
            licences = tuple(self._licences(found.folder))
        except OSError as trouble:
            return self._refused(found, Refusal(SkillFault.UNREADABLE, f"cannot be read: {trouble.strerror}"))
        target = found.file.resolve().relative_to(self.root.resolve()).as_posix() if found.linked else ""
        return Entry(
            source=self.name,
            path=found.path,
            data=data,
            size=size,
            siblings=siblings,
            siblings_cut=cut,
            licences=licences,
            target=target,
            notes=found.notes,
        )

    def _refused(self, found: Found, refusal: Refusal) -> Entry:
        return Entry(source=self.name, path=found.path, refusal=refusal)

    def _licences(self, folder: Path) -> Iterator[LicenceText]:
        """Licence files from the skill's folder up to its own repository, never that of the root of all."""
        root = self.root.resolve()
        here = folder
        while True:
            if here == folder or not self._collects(here):
                yield from (LicenceText(name, text, own=here == folder) for name, text in self._licences_in(here))
            if here in (root, here.parent) or here.parent == root or (here / ".git").exists():
                return
            here = here.parent

    def _collects(self, here: Path) -> bool:
        top = here.parent == self.root.resolve()
        return (top or (here / ".git").exists()) and self._is_collection(here, self.name if top else "")


def _is_collection(folder: Path, name: str) -> bool:
    """Whether a folder below the root is the repository of somebody who collects what others wrote."""
    remote = remote_of(folder) if (folder / ".git").exists() else ""
    return is_collection(name) or is_collection(remote) or is_unpacked_collection(folder.name)


def _licences_in(folder: Path) -> tuple[tuple[str, str], ...]:
    files = [each for each in sorted(folder.iterdir()) if is_licence_file(each.name)]
    regular = [each for each in files if each.is_file() and not each.is_symlink()]
    return tuple((each.name, _beginning(each)) for each in regular)


def _beginning(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(MAX_LICENCE).decode("utf-8", errors="replace")
