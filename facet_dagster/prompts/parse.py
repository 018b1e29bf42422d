"""Reading a structured answer leniently: prose and fences around the JSON are forgiven, a cut-off is not.

A cut-off object is never completed: half a program that parses would be worse than no program.
"""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

A = TypeVar("A", bound=BaseModel)

_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are forgiven
_THINKING = re.compile(r"^\s*<think>.*?(?:</think>|\Z)", re.DOTALL)  # never closed: nothing was said yet


class Misfit(Exception):
    """The answer does not fit; the message tells its author what to change. Never leaves the ask."""


def find_object(text: str) -> dict[str, Any]:
    """The largest JSON object in `text`. Raises Misfit where there is none, or only a cut-off one."""
    text = _THINKING.sub("", text)
    best: tuple[int, dict[str, Any]] | None = None
    position = text.find("{")
    while position != -1:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except ValueError:
            position = text.find("{", position + 1)
            continue
        except RecursionError:
            break  # nobody means such nesting; trying every inner brace would take minutes
        if isinstance(value, dict) and (best is None or end - position > best[0]):
            best = (end - position, value)
        position = text.find("{", end)
    if best is None:
        raise Misfit(_why_not(text))
    return best[1]


def _why_not(text: str) -> str:
    """One line on why no object was found."""
    if not text.strip():
        return "the answer is empty"
    start = text.find("{")
    if start == -1:
        return "the answer holds no JSON object"
    try:
        _DECODER.raw_decode(text, start)
    except ValueError as error:
        return f"the JSON object is broken or cut off: {error}"
    except RecursionError:
        return "the JSON object is nested too deeply"
    return "the answer holds no JSON object"


def fit(value: dict[str, Any], kind: type[A]) -> A:
    """Validate against the record asked for. Raises Misfit listing at most ten problems."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = [f"{'.'.join(str(part) for part in e['loc']) or 'object'}: {e['msg']}" for e in error.errors()[:10]]
        raise Misfit("; ".join(problems)) from error
