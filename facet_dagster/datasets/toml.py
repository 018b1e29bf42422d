"""Writing TOML values safely: whatever stands in a string, the file can be read back.

Only what task.toml needs; reading is tomllib's business. Does not belong here: what is written.
"""

import math
import re
from collections.abc import Mapping, Sequence

_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(given: object) -> str:
    """One value as TOML: text, boolean, number, list, or a mapping (an inline table).

    Entries of mappings and lists that are None are left out, since TOML has no null. Raises TypeError for
    anything else.
    """
    match given:
        case bool():
            return "true" if given else "false"
        case str():
            return text(given)
        case int():
            return str(given)
        case float():
            return _number(given)
        case Mapping():
            pairs = [f"{key(str(k))} = {value(v)}" for k, v in given.items() if v is not None]
            return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
        case Sequence():
            return "[" + ", ".join(value(item) for item in given if item is not None) + "]"
    raise TypeError(f"TOML cannot hold a value of type {type(given).__name__}")


def text(given: str) -> str:
    """A basic string on one line."""
    return '"' + "".join(map(_character, given)) + '"'


def key(given: str) -> str:
    """A key, bare where that is allowed."""
    return given if _BARE.fullmatch(given) else text(given)


def _character(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # half a surrogate pair: no TOML file can hold it
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else character


def _number(given: float) -> str:
    if math.isfinite(given):
        return repr(given)
    return "nan" if math.isnan(given) else ("inf" if given > 0 else "-inf")
