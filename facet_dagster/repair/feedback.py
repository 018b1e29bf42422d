"""What the author of a repair is shown: the diagnosis, what it rewrites, and what was tried before.

How it is worded for a model stands in prompts/views.py.
"""

from collections.abc import Sequence

from facet_dagster.prompts.views import as_json
from facet_dagster.records.authoring import Solution, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.environment import Environment
from facet_dagster.records.validation import Diagnosis, Feedback

LINE = 300  # characters of evidence per earlier round
# What was observed or derived, not written by the author.
_NOT_WRITTEN: dict[type[Record], tuple[str, ...]] = {
    Environment: ("dockerfile", "image", "build_seconds", "probes", "e0", "build_repairs"),
    Solution: ("execution",),
    Verifier: ("e0_copies", "tests"),
}


def feedback_for(diagnosis: Diagnosis, previous: Record, history: Sequence[ComponentVersion]) -> Feedback:
    """The feedback to one component's author. `previous` is the version to be rewritten, `history` all versions."""
    return Feedback(diagnosis=diagnosis, previous=as_answered(previous), earlier=earlier_rounds(history))


def as_answered(body: Record) -> str:
    """A component's body as JSON, reduced to what its author wrote."""
    return as_json(body, *_NOT_WRITTEN.get(type(body), ()))


def earlier_rounds(history: Sequence[ComponentVersion]) -> tuple[str, ...]:
    """One line per repair so far: component, reason, first line of evidence, and whether it could be used."""
    return tuple(_line(version) for version in history if version.diagnosis is not None)


def _line(version: ComponentVersion) -> str:
    diagnosis = version.diagnosis
    if diagnosis is None:
        raise ValueError("only a version that answers a diagnosis is a repair")
    line = f"round {version.round}: {version.component.value} rewritten for {diagnosis.reason.value}: "
    line += _first_line(diagnosis.evidence)
    if diagnosis.advice:
        line += f" | advice: {_first_line(diagnosis.advice)}"
    rejected = version.rejected
    if rejected is not None:
        line += f" | not usable, {rejected.reason.value}: {_first_line(rejected.evidence)}"
    return line


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:LINE]
