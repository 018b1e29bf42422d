"""One value of a text changed: the smallest difference that tests of the content must notice.

A number becomes a plausible other one, or a word gets another letter; in the middle of the file, the same each time.
Left alone: comments, prose apart from its numbers, and what may differ freely (moments, durations, notes, ids).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

SHOWN = 160  # characters of a line in words

# A number that stands for itself: no part of a date, a time, a version, an address, a path or a name.
_NUMBER = re.compile(r"(?<![\w.,:/+@#%\\-])-?\d+(?:\.\d+)?(?![\w:/@\\-]|[.,]\d)")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,}")
_FREE_KEY = re.compile(
    r"(^|[_\s-])(id|uuid|guid|time|timestamp|date|day|moment|created|updated|modified|generated|started|ended|finished"
    r"|at|on|by|version|duration|elapsed|seconds|ms|pid|seed|note|notes|comment|comments|remark|remarks|description"
    r"|message|summary|reason|explanation|details?|author|host|hostname)s?$",
    re.I,
)
_COMMENT = re.compile(r"^\s*(#|//|;|--|/\*|\*|<!--|%)")
_KEY_VALUE = re.compile(r"^(\s*(?:export\s+)?[\"']?([\w.\- ]+?)[\"']?\s*[:=]\s*)(\S.*)$")
PROSE = frozenset({".md", ".rst", ".adoc", ".html", ".htm", ".tex"})
_DATA_WORDS = 2  # a text whose lines mostly have no more is a list of data
_SENTENCE = 7  # words; nothing is told of the words of a sentence


@dataclass(frozen=True)
class Spoilt:
    """The text with one value changed, and what was changed in words."""

    text: str
    what: str


def change_value(path: str, text: str, before: str | None = None) -> Spoilt | None:
    """Change one value; None where there is none that must not differ.

    `before` is the text in e0: then only what differs from it is touched.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in {".json", ".geojson", ".ipynb"} or text.lstrip()[:1] in {"{", "["}:
        spoilt = _change_json(text, before)
        if spoilt is not None or suffix == ".json":
            return spoilt
    lines = text.splitlines(keepends=True)
    known = set(before.splitlines()) if before is not None else set()
    places = [n for n, line in enumerate(lines) if line.strip() and line.rstrip("\r\n") not in known]
    places = [n for n in places if not _COMMENT.match(lines[n])]
    changed = _how(suffix, lines)
    for number in _from_the_middle(places):
        line = changed(number, lines[number])
        if line is not None and line != lines[number]:
            what = f"line {number + 1}: {_shown(lines[number])} became {_shown(line)}"
            return Spoilt("".join([*lines[:number], line, *lines[number + 1 :]]), what)
    return None


def _how(suffix: str, lines: Sequence[str]) -> Callable[[int, str], str | None]:
    """The way in which a line of this file is changed; none for text whose lines are commands or schedules, of which
    another one may be as good."""
    filled = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    if suffix in {".jsonl", ".ndjson"}:
        return lambda _, line: _change_json_line(line)
    if suffix in {".csv", ".tsv", ".psv"}:
        return _Table(filled[0] if filled else "", suffix).changed
    if suffix in PROSE:
        return lambda _, line: _change_prose(line)
    if _most(filled, lambda line: _KEY_VALUE.match(line) is not None or line.lstrip().startswith("[")):
        return lambda _, line: _change_pair(line)
    if _most(filled, lambda line: len(line.split()) <= _DATA_WORDS):
        return lambda _, line: _change_number(line) or _change_word(line)
    return lambda _, line: _change_prose(line) if suffix == ".txt" else None


def _most(lines: Sequence[str], holds: Callable[[str], bool]) -> bool:
    return sum(map(holds, lines)) * 5 >= len(lines) * 3


def other_number(token: str) -> str | None:
    """A number that is off by a tenth, at least by one (or 0.1); None for what looks like a code (`007`)."""
    digits = token.lstrip("-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] != ".":
        return None
    if "." not in token:
        if len(digits) > 15:
            return None
        value = int(token)
        return str(value + max(1, abs(value) // 10))
    decimals = len(token.partition(".")[2])
    amount = float(token)
    return f"{amount + max(0.1, abs(amount) / 10):.{decimals}f}"


def other_word(word: str) -> str:
    """The word with another letter (or digit) in its middle."""
    middle = len(word) // 2
    letter = word[middle]
    if letter.isdigit():
        other = str((int(letter) + 1) % 10)
    elif letter in "fFzZ":  # stays a hexadecimal digit, stays a letter
        other = {"f": "e", "F": "E", "z": "a", "Z": "A"}[letter]
    else:
        other = chr(ord(letter) + 1) if letter.isalpha() and letter.isascii() else "x"
    return word[:middle] + other + word[middle + 1 :]


def _change_number(text: str, least_digits: int = 1) -> str | None:
    """The text with its last number changed: values stand behind their names."""
    for match in reversed(list(_NUMBER.finditer(text))):
        other = other_number(match[0]) if sum(map(str.isdigit, match[0])) >= least_digits else None
        if other is not None and other != match[0]:
            return text[: match.start()] + other + text[match.end() :]
    return None


def _change_word(text: str) -> str | None:
    words = list(_WORD.finditer(text))
    if not words or len(words) >= _SENTENCE:
        return None
    match = words[-1]
    return text[: match.start()] + other_word(match[0]) + text[match.end() :]


def _change_pair(line: str) -> str | None:
    """The value behind a key."""
    pair = _KEY_VALUE.match(line)
    if pair is None or _FREE_KEY.search(pair[2]):
        return None
    value = _change_number(pair[3]) or _change_word(pair[3])
    return None if value is None else f"{pair[1]}{value}{line[pair.end() :]}"


def _change_prose(line: str) -> str | None:
    """Numbers of two digits or more, without years: what prose counts and measures."""
    if re.fullmatch(r".*\b(19|20)\d\d\b.*", line.strip()):
        return None
    return _change_number(line, least_digits=2)


class _Table:
    """Lines of a table; the first line names the columns."""

    def __init__(self, header: str, suffix: str) -> None:
        self._mark = "\t" if suffix == ".tsv" else max(",;\t|", key=header.count)
        self._names = [name.strip().strip('"') for name in header.rstrip("\r\n").split(self._mark)]
        self._has_header = not any(char.isdigit() for char in header) or header.isidentifier()

    def changed(self, number: int, line: str) -> str | None:
        """One cell of a line changed, the last that may be."""
        if number == 0 and self._has_header:
            return None
        body = line.rstrip("\r\n")
        cells = body.split(self._mark)
        quoted = '"' in body  # then only the last cell can be told for sure
        if (quoted and '"' in cells[-1]) or (not quoted and len(cells) != len(self._names)):
            return None
        for change in (_change_number, _change_word):
            for back in range(1, 2 if quoted else len(cells) + 1):
                index = len(cells) - back
                if _FREE_KEY.search(self._names[-back]):
                    continue
                other = change(cells[index])
                if other is not None:
                    return self._mark.join([*cells[:index], other, *cells[index + 1 :]]) + line[len(body) :]
        return None


Key = tuple[str | int, ...]


def _change_json(text: str, before: str | None) -> Spoilt | None:
    try:
        value = json.loads(text)
        known = dict(_leaves(json.loads(before))) if before is not None else {}
        leaves = [(key, leaf) for key, leaf in _leaves(value) if known.get(key, ...) != leaf]
    except (ValueError, RecursionError):
        return None
    for kinds in ((int, float), (str,), (bool,)):
        usable = [(key, leaf) for key, leaf in leaves if type(leaf) in kinds and not _free(key)]
        for key, leaf in _from_the_middle(usable):
            other = _other_leaf(leaf)
            if other is not None and other != leaf:
                _set(value, key, other)
                what = f"{_dotted(key)}: {_shown(json.dumps(leaf))} became {_shown(json.dumps(other))}"
                return Spoilt(_as_written(value, text), what)
    return None


def _change_json_line(line: str) -> str | None:
    spoilt = _change_json(line.strip(), None)
    return f"{spoilt.text.strip()}\n" if spoilt else None


def _leaves(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*key, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*key, index))
    else:
        yield key, value


def _free(key: Key) -> bool:
    names = [part for part in key if isinstance(part, str)]
    return any(_FREE_KEY.search(name) for name in names[-1:])


def _other_leaf(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf + max(1, abs(leaf) // 10)
    if isinstance(leaf, float):
        other = other_number(repr(leaf))
        return float(other) if other else None
    return _change_number(leaf) or _change_word(leaf)


def _set(value: Any, key: Key, other: Any) -> None:
    for part in key[:-1]:
        value = value[part]
    if key:
        value[key[-1]] = other


def _as_written(value: Any, text: str) -> str:
    """JSON in the same layout, as far as it is one of the usual ones."""
    original = json.loads(text)
    end = "\n" if text.endswith("\n") else ""
    for indent in (2, 4, None, 1):
        for separators in (None, (",", ":")):
            for ascii_only in (True, False):
                style: dict[str, Any] = {"indent": indent, "separators": separators, "ensure_ascii": ascii_only}
                if json.dumps(original, **style) + end == text:
                    return json.dumps(value, **style) + end
    return json.dumps(value, indent=2, ensure_ascii=False) + end


def _dotted(key: Key) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".") or "the value"


def _from_the_middle(items: Sequence[Any]) -> Iterable[Any]:
    """All of them, those in the middle first."""
    middle = len(items) // 2
    order = sorted(range(len(items)), key=lambda index: (abs(index - middle), index))
    return [items[index] for index in order]


def _shown(line: str) -> str:
    bare = line.rstrip("\r\n")
    return f"`{bare if len(bare) <= SHOWN else bare[: SHOWN - 1] + '…'}`"
