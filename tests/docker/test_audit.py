"""The audit on a real engine: one task of each outcome (all hand-made tasks: tests/audit)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from facet_dagster.audit.run import AuditTerms
from facet_dagster.records.audit import AuditReport

pytestmark = pytest.mark.docker

TASKS = Path(__file__).parents[1] / "fixtures" / "tasks"
SOME = ["good-csv-totals", "no-solution", "noop-fixture-errors", "dockerfile-does-not-build", "form-toml-broken"]


def test_each_outcome(audited: Callable[..., AuditReport]) -> None:
    report = audited(TASKS, SOME, AuditTerms(repeats=2, controls=4, in_flight=4))
    found = {Path(task.path).name: task for task in report.tasks}
    assert sorted(found) == sorted(SOME)
    for name, task in found.items():
        expected = json.loads((TASKS / name / "expected.json").read_text())
        stopped = next((gate.gate.value for gate in task.gates if gate.passed is not True), None)
        component = task.component.value if task.component else None
        verdict = {"accepted": task.accepted, "gate": stopped, "component": component}
        assert verdict == expected, task.model_dump_json(indent=1)
