"""A folder into which sources are put: each of its members is one, all together are the collection `inbox`.

One that cannot be read (half copied, of no known kind) is refused by itself and keeps no other from being read.
Where two dumps hold the same folder of one repository, the member that comes first by name has it.
"""

from collections.abc import Iterator
from pathlib import Path

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.detect import open_source
from facet_dagster.skills.sources.entry import Entry, Source, place_of

ALL_OF = "/*"
"""Ends the place of an inbox: each member of that folder is a source."""


class InboxSource:
    """Raises SettingsError where there is no such folder."""

    name = "inbox"
    version = ""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SettingsError(f"the inbox {folder} is not a folder: set FACET_INBOX")
        self.folder = folder
        self.place = f"{place_of(folder)}{ALL_OF}"

    def entries(self) -> Iterator[Entry]:
        """Member by member; hidden files are left alone."""
        read_from: dict[tuple[str, str], str] = {}
        for member in sorted(self.folder.iterdir()):
            if member.name.startswith("."):
                continue
            try:
                for entry in open_source(member, member.name).entries():
                    first = read_from.setdefault((entry.source, entry.path), member.name)
                    yield entry if first == member.name else _second(entry, member.name, first)
            except SettingsError as error:
                # A dump that breaks off may have given the skill of its root before.
                path = "." if (member.name, ".") not in read_from else "./"
                yield Entry(source=member.name, path=path, refusal=Refusal(SkillFault.UNREADABLE, str(error)))


def _second(entry: Entry, member: str, first: str) -> Entry:
    """What stands in for an entry whose address is taken: two of one address would replace each other for ever."""
    evidence = f"{first} of the inbox has this folder of {entry.source} already"
    path = f"{entry.source}/{entry.path}"
    return Entry(source=member, path=path, refusal=Refusal(SkillFault.DUPLICATE, evidence))


def reopen(name: str, place: str) -> Source:
    """A source by the name and the place that an ingest noted. Raises SettingsError where it is not there, or empty:
    what cannot be looked into (a disk that is not mounted) must not count as what has lost all its skills.
    """
    if not place:
        raise SettingsError("it was read by an earlier version, which did not note where from")
    folder = place.removesuffix(ALL_OF)

    def opened() -> Source:
        return InboxSource(Path(folder)) if folder != place else open_source(Path(place), name)

    if not any(True for _ in opened().entries()):
        raise SettingsError(f"there are no skills at {place} any more")
    return opened()  # entries can be asked for once
