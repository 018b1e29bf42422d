"""Where the front matter of a SKILL.md stands, and the body below it.

Finds the block even when it is late, fenced, behind a comment, without delimiters or never closed, and says so in
a note. Does not belong here: what the block holds (see front_values).
"""

import re
from dataclasses import dataclass

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.front_values import FrontValues, read_values
from facet_dagster.skills.refusal import Refusal, excerpt

LATE_LINES = 60
"""How far down a front matter is still looked for; further down, `---` is a ruler between paragraphs."""

_OPENING = re.compile(r"^-{3,}\s*$")
_CLOSING = re.compile(r"^(?:-{3,}|\.{3})\s*$")
_GLUED = re.compile(r"^---(?=[^-\s]|\s+\S)")
_KEY = re.compile(r"^[\"']?(?:name|description)[\"']?\s*:", re.IGNORECASE)
_BLOCK_LINE = re.compile(r"^(?:[\"']?[\w.-]+[\"']?\s*:|\s+\S|- |$)")
_FENCE = re.compile(r"^\s*```[\w-]*\s*$")
_LINK_TEXT = re.compile(r"^[\w./@ -]+\.md$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Front:
    """Values of the front matter, the body without it, and what was recovered."""

    values: FrontValues
    body: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    yaml: str
    body: str
    notes: tuple[str, ...] = ()


def read_front_matter(text: str) -> Front | Refusal:
    """Separate and read the front matter. Faults: no or unusable front matter, no name, no description."""
    if not text.strip():
        return Refusal(SkillFault.EMPTY_BODY, "the file is empty")
    if _LINK_TEXT.match(text.strip()):
        return Refusal(SkillFault.UNREADABLE, f"the file is the text of a symbolic link to {excerpt(text)}")
    block = _locate(text.split("\n"))
    if block is None:
        return Refusal(SkillFault.NO_FRONT_MATTER, f"the file begins with: {excerpt(text, 80)}")
    second = _second_block(block.body)
    if second is not None:
        inner = read_values(second.yaml)
        if isinstance(inner, FrontValues):
            # Aggregators put their own block above the author's, so the second one is the true one.
            notes = (*block.notes, "a second front matter stood below the first; the second is used", *inner.notes)
            return Front(inner, second.body, notes)
        block = _Block(block.yaml, second.body, (*block.notes, "a second, unusable front matter was left out"))
    values = read_values(block.yaml)
    if isinstance(values, Refusal):
        return values
    return Front(values, block.body, (*block.notes, *values.notes))


def _locate(lines: list[str]) -> _Block | None:
    start, notes = _skip_preamble(lines)
    if start >= len(lines):
        return None
    fenced = bool(_FENCE.match(lines[start]))
    first = start + 1 if fenced else start
    if fenced and first < len(lines) and _OPENING.match(lines[first]):
        body = _from_opening(lines, first)
        return _Block(body.yaml, _unfence(body.body), (*notes, "front matter stood in a code fence", *body.notes))
    if _OPENING.match(lines[start]):
        block = _from_opening(lines, start)
        return _Block(block.yaml, block.body, (*notes, *block.notes))
    if _KEY.match(lines[start]):
        return _without_delimiters(lines, start, (*notes, "front matter had no opening delimiter"))
    return _late(lines, start)


def _skip_preamble(lines: list[str]) -> tuple[int, tuple[str, ...]]:
    """Index of the first line that is neither blank nor part of an HTML comment."""
    index, notes = 0, list[str]()
    while index < len(lines):
        line = lines[index].strip()
        if line.startswith("<!--"):
            while index < len(lines) and "-->" not in lines[index]:
                index += 1
            index += 1
            notes.append("front matter stood after a comment")
        elif not line:
            index += 1
        else:
            break
    if index and not notes:
        notes.append("front matter stood after blank lines")
    return index, tuple(dict.fromkeys(notes))


def _from_opening(lines: list[str], start: int) -> _Block:
    for index in range(start + 1, len(lines)):
        if _CLOSING.match(lines[index]):
            return _Block("\n".join(lines[start + 1 : index]), "\n".join(lines[index + 1 :]))
        if _GLUED.match(lines[index]):
            rest = [lines[index][3:].lstrip(), *lines[index + 1 :]]
            note = "the body was glued to the closing delimiter of the front matter"
            return _Block("\n".join(lines[start + 1 : index]), "\n".join(rest), (note,))
    return _without_delimiters(lines, start + 1, ("front matter was never closed",))


def _without_delimiters(lines: list[str], start: int, notes: tuple[str, ...]) -> _Block:
    """The block ends at a delimiter or at the first line that cannot belong to a mapping."""
    end = start
    while end < len(lines) and _BLOCK_LINE.match(lines[end]):
        end += 1
    rest = end + 1 if end < len(lines) and _CLOSING.match(lines[end]) else end
    return _Block("\n".join(lines[start:end]), "\n".join(lines[rest:]), notes)


def _late(lines: list[str], start: int) -> _Block | None:
    for index in range(start, min(len(lines) - 1, start + LATE_LINES)):
        if _OPENING.match(lines[index]) and _KEY.match(lines[index + 1]):
            block = _from_opening(lines, index)
            before = "\n".join(line for line in lines[:index] if not _FENCE.match(line)).strip()
            body = f"{before}\n\n{_unfence(block.body) if _FENCE.match(lines[index - 1]) else block.body}"
            return _Block(block.yaml, body, ("front matter stood below other text", *block.notes))
    return None


def _second_block(body: str) -> _Block | None:
    text = body.lstrip("\n")
    if not _OPENING.match(text.partition("\n")[0]):
        return None
    lines = text.split("\n")
    block = _from_opening(lines, 0)
    keyed = any(_KEY.match(line) for line in block.yaml.split("\n"))
    return block if keyed and not block.notes else None


def _unfence(body: str) -> str:
    """Drop the fence that closed the one around the front matter: right below it, or at the very end."""
    lines = body.strip("\n").split("\n")
    if _FENCE.match(lines[0]) and lines[0].strip() == "```":
        return "\n".join(lines[1:])
    if lines[-1].strip() == "```" and sum(1 for line in lines if line.lstrip().startswith("```")) % 2:
        return "\n".join(lines[:-1])
    return body
