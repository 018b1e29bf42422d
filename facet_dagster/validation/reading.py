"""What a grading run left in its folder, read back: the reward, and results per test where there are any.

Tests of ours write results.json. Of a foreign test.sh the report of pytest is read, which is asked for one, or a CTRF
file; else nothing but the reward is known. Nothing here runs anything, and no content may raise out of here.
"""

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from facet_dagster.records.validation import TestResult

MESSAGE = 500  # characters kept of what a test said
_CTRF = {"passed": "passed", "failed": "failed", "skipped": "skipped", "pending": "skipped"}
Outcome = Literal["passed", "failed", "error", "skipped"]


class Results(BaseModel):
    """results.json as the skeleton's grade.py writes it."""

    trouble: str | None
    limit: Literal["time"] | None
    tests: tuple[TestResult, ...]


class _Number(BaseModel):
    """A reward. Text, truth values and numbers outside 0 to 1 are none."""

    value: float = Field(strict=True, ge=0, le=1)


def read_results(data: bytes | None) -> Results | None:
    """results.json; None where there is none, or one of another make."""
    try:
        return Results.model_validate(json.loads(data or b""))
    except (ValueError, RecursionError, ValidationError):
        return None


def read_reward(as_json: bytes | None, as_text: bytes | None) -> float | str | None:
    """The reward; words where what was written is none; None where nothing was. JSON wins over text, as in Harbor.

    JSON may hold several numbers: the reward is the key of that name, or the only key.
    """
    if as_json is None and as_text is None:
        return None
    try:
        value = _named(json.loads(as_json)) if as_json is not None else float((as_text or b"").decode())
        return _Number(value=value).value  # type: ignore[arg-type]  # checked by the model
    except (ValueError, RecursionError, ValidationError):
        shown = (as_json if as_json is not None else as_text or b"")[:80].decode(errors="replace")
        return f"no reward between 0 and 1: {shown!r}"


def _named(value: object) -> object:
    if not isinstance(value, dict):
        return None
    return value["reward"] if "reward" in value else next(iter(value.values())) if len(value) == 1 else None


def read_junit(data: bytes | None) -> tuple[TestResult, ...] | None:
    """Results per test of a JUnit report; None where it is none. A test reported twice counts as the worse."""
    try:
        cases = list(ElementTree.fromstring(data or b"").iter("testcase"))
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    names = Counter(case.get("name", "") for case in cases)
    results: dict[str, TestResult] = {}
    for case in cases:
        name = case.get("name", "")
        several = names[name] > 1 and case.get("classname")
        result = _of_case(f"{case.get('classname')}::{name}" if several else name, case)
        earlier = results.get(result.name)
        if earlier is None or _badness(result) > _badness(earlier):
            results[result.name] = result
    return tuple(results.values())


def _of_case(name: str, case: ElementTree.Element) -> TestResult:
    found: Outcome = "passed"
    message = ""
    tags: tuple[tuple[str, Outcome], ...] = (("skipped", "skipped"), ("failure", "failed"), ("error", "error"))
    for tag, outcome in tags:
        node = case.find(tag)
        if node is not None:
            said = node.get("message", "").strip() or (node.text or "").strip()
            found, message = outcome, said[:MESSAGE]
    return TestResult(name=name, outcome=found, message=message)


def _badness(result: TestResult) -> int:
    return ("passed", "skipped", "failed", "error").index(result.outcome)


def read_ctrf(data: bytes | None) -> tuple[TestResult, ...] | None:
    """Results per test of a CTRF file; None where it is none."""
    try:
        tests = json.loads(data or b"")["results"]["tests"]
        return tuple(
            TestResult.model_validate(
                {
                    "name": str(test["name"]),
                    "outcome": _CTRF.get(test["status"], "error"),
                    "message": str(test.get("message") or test.get("trace") or "")[:MESSAGE],
                }
            )
            for test in tests
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
