"""Hand-made tasks of every kind of fault, and good ones that a careless gate would refuse: each gets its verdict.

The expected verdict lies in each task's expected.json. FACET_AUDIT_REPEATS sets the number of audits; all must agree.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facet_dagster.audit.run import AuditTerms
from facet_dagster.records.audit import AuditReport

pytestmark = pytest.mark.audit

TASKS = Path(__file__).parents[1] / "fixtures" / "tasks"
NAMES = sorted(place.parent.name for place in TASKS.glob("*/expected.json"))
TERMS = AuditTerms(repeats=2, controls=8, in_flight=4)
STARTS = 25  # container starts that the full gate may cost with these terms
Verdict = dict[str, object]


@pytest.fixture(scope="session")
def reports(audited: Callable[..., AuditReport]) -> list[dict[str, Verdict]]:
    """One table of verdicts per audit of the whole folder."""
    return [verdicts(audited(TASKS, (), TERMS)) for _ in range(int(os.environ.get("FACET_AUDIT_REPEATS") or 1))]


def verdicts(report: AuditReport) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for task in report.tasks:
        stopped = next((gate.gate.value for gate in task.gates if gate.passed is not True), None)
        component = task.component.value if task.component else None
        verdict = {"accepted": task.accepted, "gate": stopped, "component": component}
        found[Path(task.path).name] = {
            **verdict,
            "starts": task.container_starts,
            "said": task.model_dump_json(indent=1),
        }
    return found


def test_every_task_is_reported(reports: list[dict[str, Verdict]]) -> None:
    assert sorted(reports[0]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_verdict(reports: list[dict[str, Verdict]], name: str) -> None:
    expected = json.loads((TASKS / name / "expected.json").read_text())
    for verdict in (report[name] for report in reports):
        assert {key: verdict[key] for key in expected} == expected, verdict["said"]


def test_there_are_good_tasks_of_many_kinds_and_none_costs_too_many_starts(reports: list[dict[str, Verdict]]) -> None:
    accepted = {name: verdict["starts"] for name, verdict in reports[0].items() if verdict["accepted"]}
    assert len(accepted) >= 6
    assert {name: starts for name, starts in accepted.items() if int(str(starts)) > STARTS} == {}
