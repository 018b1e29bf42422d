"""Under which licence a skill stands: the nearest licence file up to its own repository, else its front matter.

The root licence of a collection says nothing about the skills collected in it: sources do not hand it on. Does not
belong here: whether a licence permits a use.
"""

import re
from collections.abc import Sequence

from facet_dagster.skills.sources.entry import LicenceText

UNKNOWN = "unknown"
_COLLECTIONS = frozenset(
    {
        "tomevault-io/skills-registry",
        "agentworkers/skills",
        "gabrielmoreira/agent-skills-mirror",
        "thereisnotime/skills-collection",
        "openclaw/skills",
        "sickn33/antigravity-awesome-skills",
    }
)
"""Repositories that collect other people's skills: aggregators, mirrors and archives of the public corpus."""
_UNPACKED = frozenset(each.replace("/", "-") for each in _COLLECTIONS)
_REVISION = re.compile(r"-(?:[0-9a-f]{7,40}|main|master|head)$")
_FILE = re.compile(r"^(?:licen[cs]e|copying)(?:[.-].*)?$", re.IGNORECASE)
_BSD = "redistribution and use in source and binary forms"
_TEXTS = (
    ("Apache-2.0", re.compile(r"apache license.{0,40}version 2\.0|apache[- ]?2(?:\.0)?\b")),
    ("AGPL-3.0", re.compile(r"affero general public|agpl")),
    ("LGPL", re.compile(r"lesser general public|lgpl")),
    ("GPL-3.0", re.compile(r"gnu general public license.{0,40}version 3|gpl[- ]?v?3")),
    ("GPL-2.0", re.compile(r"gnu general public license.{0,40}version 2|gpl[- ]?v?2")),
    ("MPL-2.0", re.compile(r"mozilla public license|mpl[- ]?2")),
    ("CC-BY-SA-4.0", re.compile(r"attribution-sharealike 4\.0|cc[- ]by[- ]sa[- ]4")),
    ("CC-BY-NC", re.compile(r"attribution-noncommercial|cc[- ]by[- ]nc")),
    ("CC-BY-4.0", re.compile(r"attribution 4\.0 international|cc[- ]by[- ]4")),
    ("CC0-1.0", re.compile(r"cc0")),
    ("Unlicense", re.compile(r"unlicense|released into the public domain")),
    ("MIT", re.compile(r"\bmit\b|permission is hereby granted, free of charge")),
    ("BSD-3-Clause", re.compile(rf"\bb?sd[- ]3|{_BSD}(?=.*neither the name of)|neither the name of")),
    ("BSD-2-Clause", re.compile(rf"\bbsd[- ]2|{_BSD}")),
    ("ISC", re.compile(r"\bisc\b|permission to use, copy, modify, and/or distribute")),
)
_PROPRIETARY = re.compile(r"proprietary|all rights reserved")  # where nothing else fits: free licences say it as well
_NOTHING = re.compile(r"^(?:unknown|none|n/?a|unspecified|see .*|complete terms in .*|https?://\S+)$")


def is_licence_file(name: str) -> bool:
    """Whether a file of this name holds a licence."""
    return bool(_FILE.match(name))


def is_collection(source: str) -> bool:
    """Whether a repository (`owner/name`) collects what others wrote, so that its own licence proves nothing."""
    return source.lower() in _COLLECTIONS


def is_unpacked_collection(folder: str) -> bool:
    """Whether a folder is called as archives of such a repository are: `owner-name`, with a commit or main branch."""
    return _REVISION.sub("", folder.lower()) in _UNPACKED


def licence_of(files: Sequence[LicenceText], stated: str) -> tuple[str, bool]:
    """An SPDX-like identifier, the author's own words when they fit none, or `unknown`; and whether it is its own.

    `files` come nearest first, `stated` is what the front matter says.
    """
    if files and files[0].text:
        return _identify(files[0].text) or f"see {files[0].name}", files[0].own
    if stated and not _NOTHING.match(stated.lower()):
        return _identify(stated) or stated[:80], True
    # A dump may know that there is a licence file and not what it says.
    return (f"see {files[0].name}", files[0].own) if files else (UNKNOWN, False)


def _identify(text: str) -> str | None:
    """What is named first: a licence's text begins with its own name and may speak of others later."""
    flat = " ".join(text.lower().split())
    found = [(match.start(), name) for name, rule in _TEXTS if (match := rule.search(flat))]
    if not found:
        return "proprietary" if _PROPRIETARY.search(flat) else None
    return min(found, key=lambda each: each[0])[1]
