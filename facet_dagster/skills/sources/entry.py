"""One SKILL.md as any source gives it, so that the rest of the station does not know where it came from.

Does not belong here: how a source is read, and any judgement of the text.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from facet_dagster.skills.refusal import Refusal

MAX_BYTES = 100_000
"""A larger SKILL.md is a manual and not a skill: 17 of 116,000 in the public corpus."""
MAX_SIBLINGS = 200
"""Sibling files listed per skill; the corpus has p99 = 20, but a skill at a repository's root can own thousands."""
MAX_LICENCE = 4_000
"""Bytes of a licence file that are looked at."""


@dataclass(frozen=True, slots=True)
class LicenceText:
    """What a licence file says at its beginning (or a dump in its place). `own`: it stands in the skill's folder."""

    name: str
    text: str
    own: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder with a SKILL.md. `path` is the folder below the source's root, with `/`; `.` is the root itself.

    `data` holds at most MAX_BYTES of the file, `size` its true size in bytes; `refusal` stands where there is nothing
    to read. `licences` come nearest first. `target` is where the SKILL.md leads when it is a link inside the source.
    """

    source: str
    path: str
    data: bytes = b""
    size: int = 0
    refusal: Refusal | None = None
    siblings: tuple[str, ...] = ()
    siblings_cut: bool = False
    licences: tuple[LicenceText, ...] = ()
    target: str = ""
    notes: tuple[str, ...] = ()


def place_of(path: Path) -> str:
    """A path from wherever one stands, safe to store: bytes that are not UTF-8 become backslash escapes."""
    return os.fsencode(path.resolve()).decode("utf-8", errors="backslashreplace")


class Source(Protocol):
    """A collection of skills. `entries` may be called once; it raises SettingsError for what cannot be read at all."""

    @property
    def name(self) -> str:
        """What the collection is called in the store; the same name later is the same collection, grown older."""
        ...

    @property
    def place(self) -> str:
        """Where it is read from, so that it can be read again: see inbox.reopen."""
        ...

    @property
    def version(self) -> str:
        """What names its present state (a commit), empty where nothing does."""
        ...

    def entries(self) -> Iterator[Entry]: ...
