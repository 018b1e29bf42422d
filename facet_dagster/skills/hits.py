"""Regular expressions tried only where a literal that they begin with stands.

Finding a literal is a hundred times faster than trying an expression at every character, and most texts hold none.
Does not belong here: any expression.
"""

import re
from collections.abc import Callable, Iterator, Sequence


def find_hits(text: str, literals: Sequence[str], rule: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches that begin at one of the literals, from left to right, none inside the one before."""
    end = 0
    for at in sorted(at for literal in literals for at in _places(text, literal)):
        if at >= end and (match := rule.match(text, at)):
            end = max(match.end(), at + 1)
            yield match


def first_hit(text: str, literals: Sequence[str], rule: re.Pattern[str]) -> re.Match[str] | None:
    """The leftmost match that begins at one of the literals."""
    return next(find_hits(text, literals, rule), None)


def replace_hits(text: str, hits: Iterator[re.Match[str]], change: Callable[[re.Match[str]], str]) -> str:
    """The text with every hit changed. Hits may come from another text of the same length."""
    parts, done = [], 0
    for hit in hits:
        parts += [text[done : hit.start()], change(hit)]
        done = hit.end()
    return "".join((*parts, text[done:])) if parts else text


def _places(text: str, literal: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)
