"""G0, here-documents: the lines behind a command that are its input, not commands themselves."""

import re
from collections.abc import Sequence

# Neither a here-string (`<<<`) nor, where the mark never comes, a shift (`1<<4`).
_MARK = re.compile(r"(?<!<)<<(?!<)-?\s*[\\\"']?([\w.+-]+)")


def skip(command: str, lines: Sequence[str], index: int) -> tuple[list[str], int]:
    """The lines of a command's here-documents, which begin at `index`, and the index behind them."""
    inside: list[str] = []
    for mark in _MARK.findall(command):
        end = next((n for n in range(index, len(lines)) if lines[n].strip() == mark), None)
        if end is not None:
            inside += lines[index:end]
            index = end + 1
    return inside, index
