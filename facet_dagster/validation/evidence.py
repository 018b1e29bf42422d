"""Grading runs in words: what a gate says of them, for people and for the authors of repairs."""

from collections import Counter

from facet_dagster.records.validation import GradeReport, TestResult

LIMIT = 3_000  # characters of evidence
MESSAGE_LINES = 4
OUTPUT_TAIL = 1_500
OUTPUT = 2_000  # characters of output kept of a run of which there are many


def counts(report: GradeReport) -> str:
    """`7 tests: 5 passed, 2 failed`."""
    found = Counter(test.outcome for test in report.tests)
    parts = ", ".join(f"{number} {outcome}" for outcome, number in found.most_common())
    return f"{len(report.tests)} tests: {parts or 'none'}"


def not_passed(report: GradeReport) -> str:
    """Each test that did not pass, with the first lines of what it said."""
    return "\n".join(_entry(test) for test in report.tests if test.outcome != "passed")


def no_verdict(report: GradeReport) -> str:
    """Why a run gave no reward: the trouble, the tests concerned, the end of the output."""
    trouble = report.trouble or "no reward"
    if report.limit is not None:
        trouble += f" ({at_limit(report.limit, report.seconds)})"
    parts = [trouble, not_passed(report), report.output.strip()[-OUTPUT_TAIL:]]
    return "\n".join(part for part in parts if part)


def short(report: GradeReport) -> GradeReport:
    """The report with the end of what was printed: of the many runs of controls and cheats no more is kept."""
    return report.model_copy(update={"output": report.output[-OUTPUT:]})


def at_limit(limit: str, seconds: float) -> str:
    """`time, after 60.0 s`."""
    return f"{limit}, after {seconds:.1f} s"


def disagreement(first: GradeReport, other: GradeReport) -> str:
    """The tests whose outcome differs between two runs of the same thing."""
    one, two = dict(first.outcomes()), dict(other.outcomes())
    names = sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
    lines = [f"- {name}: {one.get(name, 'absent')}, then {two.get(name, 'absent')}" for name in names]
    return "\n".join([*lines, not_passed(other)])


def cut(text: str) -> str:
    """At most LIMIT characters."""
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


def _entry(test: TestResult) -> str:
    lines = [line for line in test.message.splitlines() if line.strip()][:MESSAGE_LINES]
    said = "\n".join(f"    {line}" for line in lines)
    return f"- {test.name} ({test.outcome})" + (f"\n{said}" if said else "")
