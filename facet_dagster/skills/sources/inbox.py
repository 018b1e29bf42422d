"""A folder into which sources are put: each of its members is one, all together are the collection `inbox`.

One that cannot be read (half copied, of no known kind) is refused by itself and keeps no other from being read.
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
        for member in sorted(self.folder.iterdir()):
            if member.name.startswith("."):
                continue
            try:
                yield from open_source(member, member.name).entries()
            except SettingsError as error:
                yield Entry(source=member.name, path=".", refusal=Refusal(SkillFault.UNREADABLE, str(error)))
