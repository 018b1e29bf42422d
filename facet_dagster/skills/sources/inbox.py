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
from facet_dagster.skills.sources.entry import Entry


class InboxSource:
    """Raises SettingsError where there is no such folder."""

    name = "inbox"
    version = ""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SettingsError(f"the inbox {folder} is not a folder: set FACET_INBOX")
        self.folder = folder

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
