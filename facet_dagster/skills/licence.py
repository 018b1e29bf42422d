"""Under which licence a skill stands: a licence file in its own folder, else its front matter, else unknown.

A root licence of a collection says nothing about the skills collected in it, so no other folder is asked. Does not
belong here: whether a licence permits a use.
"""

import re
from pathlib import Path

UNKNOWN = "unknown"
_FILE = re.compile(r"^(?:licen[cs]e|copying)(?:[.-].*)?$", re.IGNORECASE)
_READ = 4000
_TEXTS = (
    ("Apache-2.0", re.compile(r"apache license.{0,40}version 2\.0|apache[- ]?2(?:\.0)?\b")),
    ("AGPL-3.0", re.compile(r"affero general public|agpl")),
    ("LGPL", re.compile(r"lesser general public|lgpl")),
    ("GPL-3.0", re.compile(r"gnu general public license.{0,40}version 3|gpl[- ]?v?3")),
    ("GPL-2.0", re.compile(r"gnu general public license.{0,40}version 2|gpl[- ]?v?2")),
    ("MPL-2.0", re.compile(r"mozilla public license|mpl[- ]?2")),
    ("CC-BY-SA-4.0", re.compile(r"attribution-sharealike 4\.0|cc[- ]by[- ]sa[- ]4")),
    ("CC-BY-4.0", re.compile(r"attribution 4\.0 international|cc[- ]by[- ]4")),
    ("CC0-1.0", re.compile(r"cc0")),
    ("Unlicense", re.compile(r"unlicense|released into the public domain")),
    ("MIT", re.compile(r"\bmit\b|permission is hereby granted, free of charge")),
    ("BSD-3-Clause", re.compile(r"\bb?sd[- ]3|neither the name of")),
    ("BSD-2-Clause", re.compile(r"\bbsd[- ]2|redistribution and use in source and binary forms")),
    ("ISC", re.compile(r"\bisc\b|permission to use, copy, modify, and/or distribute")),
    ("proprietary", re.compile(r"proprietary|all rights reserved")),
)
_NOTHING = re.compile(r"^(?:unknown|none|n/?a|unspecified|see .*|complete terms in .*|https?://\S+)$")


def licence_of(folder: Path, stated: str) -> str:
    """An SPDX-like identifier, the author's own words when they fit none, or `unknown`."""
    for file in sorted(folder.iterdir()):
        if _FILE.match(file.name) and file.is_file() and not file.is_symlink():
            named = _identify(_beginning(file))
            return named or f"see {file.name}"
    if not stated or _NOTHING.match(stated.lower()):
        return UNKNOWN
    return _identify(stated) or stated[:80]


def _beginning(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(_READ)


def _identify(text: str) -> str | None:
    flat = " ".join(text.lower().split())
    return next((name for name, rule in _TEXTS if rule.search(flat)), None)
