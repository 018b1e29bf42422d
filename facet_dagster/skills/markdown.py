"""A body seen as prose, fenced code blocks and inline code, which the rules look at separately.

No Markdown library: only fences and backticks matter here, and bodies are often malformed. Does not
belong here: any judgement.
"""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(?:[-*>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})\s*([\w+#.-]*)")
_INLINE = re.compile(r"`([^`\n]{1,200})`")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One fenced block; `language` is the lower-case info word, empty when there is none."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Body:
    """The parts of a body.

    `outside` is the text outside fences, `prose` is the same without inline code, and `closed` is False when the
    last fence is never closed.
    """

    text: str
    outside: str
    prose: str
    blocks: tuple[CodeBlock, ...]
    inline: tuple[str, ...]
    closed: bool


def view(text: str) -> Body:
    """Split a body; an unclosed fence runs to the end."""
    prose: list[str] = []
    blocks: list[CodeBlock] = []
    fence, language, lines = "", "", list[str]()
    for line in text.split("\n"):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if not fence and mark:
            fence, language, lines = mark.group(1), mark.group(2).lower(), []
        elif fence and mark and mark.group(1).startswith(fence) and not mark.group(2):
            blocks.append(CodeBlock(language, "\n".join(lines)))
            fence = ""
        else:
            (lines if fence else prose).append(line)
    if fence:
        blocks.append(CodeBlock(language, "\n".join(lines)))
    outside = "\n".join(prose)
    inline = tuple(_INLINE.findall(outside))
    return Body(text, outside, _INLINE.sub(" ", outside), tuple(blocks), inline, not fence)
