"""What the author of a repair is shown."""

import json
from collections.abc import Callable

import pytest

from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.validation import Diagnosis
from facet_dagster.repair.feedback import feedback_for

DIAGNOSIS = Diagnosis(
    component=Component.VERIFIER,
    reason=Reason.ORACLE_FAILED,
    evidence="run 1 after the solution\nmore",
    advice="Accept 12.5.\nThen more.",
    decided_by="model",
)


@pytest.mark.parametrize(
    ("component", "keys"),
    [
        (Component.ENVIRONMENT, {"manifest", "materials"}),
        (Component.INSTRUCTION, {"text", "clauses"}),
        (Component.SOLUTION, {"script", "workflow"}),
        (Component.VERIFIER, {"test_file"}),
    ],
)
def test_the_previous_version_is_what_its_author_wrote(
    bodies: dict[Component, Record], component: Component, keys: set[str]
) -> None:
    feedback = feedback_for(DIAGNOSIS, bodies[component], [])
    assert set(json.loads(feedback.previous)) == keys
    assert "schema_version" not in feedback.previous
    assert feedback.diagnosis == DIAGNOSIS


def test_earlier_rounds_are_one_line_each_with_their_end(
    bodies: dict[Component, Record], repaired: Callable[..., ComponentVersion]
) -> None:
    refused = Rejected(component=Component.VERIFIER, reason=Reason.TEST_WEAKENED, evidence="3 checks before, 2 after")
    history = [
        repaired(bodies[Component.VERIFIER], None, round=0),
        repaired(bodies[Component.VERIFIER], DIAGNOSIS, round=1),
        repaired(refused, DIAGNOSIS, round=2),
    ]
    first = "verifier rewritten for oracle_failed: run 1 after the solution | advice: Accept 12.5."
    assert feedback_for(DIAGNOSIS, bodies[Component.VERIFIER], history).earlier == (
        f"round 1: {first}",
        f"round 2: {first} | not usable, test_weakened: 3 checks before, 2 after",
    )
