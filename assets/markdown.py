"""Markdown that survives foreign text: fences longer than any inside, tables without stray bars, bounded length."""

import re
from collections.abc import Iterable, Sequence

import dagster as dg

LIMIT = 20_000  # characters of one text on a page: more makes the event log and the browser slow


def fenced(text: str, language: str = "", limit: int = LIMIT) -> str:
    """Text as a code block, whatever it holds; cut in the middle beyond `limit` characters."""
    shown = cut(text.replace("\x00", "\N{SYMBOL FOR NULL}"), limit)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def cut(text: str, limit: int = LIMIT) -> str:
    """Head and tail of a text that is too long, with what was left out said in between."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> dg.MarkdownMetadataValue:
    """A markdown table; cells become one line each."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return dg.MetadataValue.md(cut("\n".join(lines)))


def _cell(value: object) -> str:
    text = " ".join(str("" if value is None else value).split())
    text = text if len(text) <= 300 else text[:299] + "…"
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")
