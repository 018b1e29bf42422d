"""Bytes of a SKILL.md to clean text: UTF-8 only, one kind of line end, nothing invisible left.

What was removed is noted, because invisible characters are also how hidden orders are smuggled in.
Does not belong here: what the text means.
"""

import re
from dataclasses import dataclass

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal, excerpt

HIDDEN_TEXT = 12
"""Unicode tag characters in a row beyond which they are hidden text and not a flag emoji (those need at most 7)."""

_INVISIBLE = {
    "NUL and control": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"),
    "zero-width": re.compile(r"[\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2064\ufeff]"),
    "bidirectional control": re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"),
    "Unicode tag": re.compile(r"[\U000e0000-\U000e007f]"),
    "hidden variation selector": re.compile(r"[\U000e0100-\U000e01ef]"),
    "non-character": re.compile(r"[\ufdd0-\ufdef\ufffe\uffff]"),
}
_TAG_RUN = re.compile(f"[\U000e0000-\U000e007f]{{{HIDDEN_TEXT + 1},}}")
_LINE_END = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_LINE_ENDS = "\r\x85\u2028\u2029"
_PRINTABLE = ("\u034f".encode(), b"\xf3\xa0")  # by Python's book, and invisible: a joiner, variation selectors
_SPACES = "\n\t\xa0\u3000"  # what is not printable by Python's book, and plainly visible as white space


@dataclass(frozen=True, slots=True)
class Decoded:
    """Clean text and what was done to get it."""

    text: str
    notes: tuple[str, ...]


def decode(data: bytes) -> Decoded | Refusal:
    """Decode without guessing: what is not UTF-8 is refused, as is text hidden in Unicode tag characters."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Refusal(SkillFault.UNREADABLE, f"not UTF-8: {error.reason} at byte {error.start}")
    notes = []
    if text.startswith("\ufeff"):
        text = text[1:]
        notes.append("byte order mark removed")
    if "\r" in text:
        notes.append("line ends normalised")
    if any(end in text for end in _LINE_ENDS):
        text = _LINE_END.sub("\n", text)
    if not _plainly_visible(text, data):
        clean = _without_invisible(text)
        if isinstance(clean, Refusal):
            return clean
        text, removed = clean
        notes += removed
    if damaged := text.count("\ufffd"):
        notes.append(f"{damaged} replacement characters: the text was damaged before it came here")
    return Decoded(text, tuple(notes))


def _plainly_visible(text: str, data: bytes) -> bool:
    """Whether there is surely nothing to remove: a quick look that nearly all texts pass."""
    for space in _SPACES:
        text = text.replace(space, "")
    return text.isprintable() and not any(char in data for char in _PRINTABLE)


def _without_invisible(text: str) -> tuple[str, list[str]] | Refusal:
    notes = []
    if hidden := _TAG_RUN.search(text):
        shown = "".join(chr(ord(char) - 0xE0000) for char in hidden.group() if 0x20 <= ord(char) - 0xE0000 < 0x7F)
        return Refusal(SkillFault.UNSAFE, f"text hidden in Unicode tag characters: {excerpt(shown)}")
    for kind, pattern in _INVISIBLE.items():
        text, count = pattern.subn("", text)
        if count:
            notes.append(f"{count} {kind} character{'s' if count > 1 else ''} removed")
    return text, notes
