"""The first gates: order, early stop, three-valued verdicts, and who is named."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facet_dagster.environment.observe import difference
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, ValidationReport
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.validate import GATES_VERSION, validate

GATES = (Gate.BUILD, Gate.NOOP, Gate.ORACLE)
FAILED = ("test_r1_total", "failed", "AssertionError: total is 2\nassert 2 == 3")
PASSED = ("test_r1_total", "passed", "")


@pytest.fixture
def run(candidate: Candidate, tools: dict[str, Any]) -> Callable[..., Any]:
    async def validated(
        *, grades: Any = (), solves: Any = (), probes: Any = (), repeats: int = 2, gates: Any = GATES, **changed: Any
    ) -> tuple[ValidationReport, Any]:
        sandbox = tools["sandbox"](grades=grades, solves=solves, probes=probes)
        report = await validate(
            replace(candidate, **changed),
            bundle="b" * 64,
            sandbox=sandbox,
            repeats=repeats,
            controls_max=8,
            observe=nothing_to_observe,
            difference=difference,
            gates=gates,
        )
        assert set(sandbox.images) == {"facet-env:1"}  # whatever was frozen is gone again
        return report, sandbox

    return validated


async def nothing_to_observe(container: Any) -> Any:
    raise AssertionError("the task tells its own e0 and difference")


def verdict(report: ValidationReport) -> tuple[Any, ...]:
    gate = report.failed_gate()
    assert gate is not None
    return report.verdict, gate.gate, gate.passed, gate.reason, gate.component


async def test_a_good_bundle_passes_all_gates(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero, one = tools["graded"](0.0, FAILED), tools["graded"](1.0, PASSED)
    report, sandbox = await run(grades=[zero, zero, one, one], solves=[tools["result"](output="done")] * 2)
    assert report.verdict is True
    assert report.failed_gate() is None
    assert [g.gate for g in report.gates] == list(GATES)
    assert report.gates_version == GATES_VERSION
    assert (len(report.noop_runs), len(report.oracle_runs), report.oracle_outputs) == (2, 2, ("done", "done"))
    assert report.bundle == "b" * 64
    assert [c.spec.image for c in sandbox.opened if c.spec.purpose == "grade"][2:] == sandbox.frozen
    assert not any(c.spec.network for c in sandbox.opened)
    solving = [c for o in sandbox.opened for c in o.commands if "bash /solution/solve.sh" in c.script]
    assert {(c.user, c.timeout_s) for c in solving} == {("agent", 50.0)}


async def test_a_probe_that_fails_stops_at_the_build(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, sandbox = await run(probes=[tools["result"](1, "no such file")])
    assert verdict(report) == (False, Gate.BUILD, False, Reason.PROBE_FAILED, Component.ENVIRONMENT)
    assert "P1 input is there: no such file" in report.gates[0].evidence
    assert len(sandbox.opened) == 1


async def test_tests_that_pass_on_e0_name_the_verifier(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, sandbox = await run(grades=[tools["graded"](1.0, PASSED)])
    assert verdict(report) == (False, Gate.NOOP, False, Reason.NOOP_PASSED, Component.VERIFIER)
    assert [c.spec.purpose for c in sandbox.opened] == ["probe", "grade"]  # no repeat, no oracle


@pytest.mark.parametrize(
    ("trouble", "limit", "reason"),
    [
        ("the tests could not be collected", None, Reason.NOTHING_EXECUTED),
        ("the tests did not end", "time", Reason.VERIFIER_LIMIT),
    ],
)
async def test_no_reward_on_e0_is_not_a_pass(
    run: Callable[..., Any], tools: dict[str, Any], trouble: str, limit: str | None, reason: Reason
) -> None:
    step = tools["graded"](None, ("test_outputs", "error", "No module named 'x'"), trouble=trouble, limit=limit)
    report, _ = await run(grades=[step])
    assert verdict(report) == (False, Gate.NOOP, False, reason, Component.VERIFIER)
    assert trouble in report.gates[-1].evidence
    assert ("(time, after 0.1 s)" in report.gates[-1].evidence) is (limit is not None)
    assert "No module named 'x'" in report.gates[-1].evidence


async def test_errors_on_e0_are_not_a_pass(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    step = tools["graded"](0.0, FAILED, ("test_r1_b", "error", "failed on setup with OSError"))
    report, _ = await run(grades=[step])
    assert verdict(report) == (False, Gate.NOOP, False, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    assert "failed on setup" in report.gates[-1].evidence


async def test_a_run_without_an_executed_test_is_not_a_pass(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(grades=[tools["graded"](0.0, ("test_r1_total", "skipped", ""))])
    assert verdict(report) == (False, Gate.NOOP, False, Reason.NOTHING_EXECUTED, Component.VERIFIER)


async def test_part_of_the_reward_for_nothing_is_not_a_pass(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(grades=[tools["graded"](0.5, FAILED, PASSED)])
    assert verdict(report) == (False, Gate.NOOP, False, Reason.NOOP_PASSED, Component.VERIFIER)
    assert "reward 0.5" in report.gates[-1].evidence


async def test_without_a_solution_there_is_no_verdict(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(grades=[tools["graded"](0.0, FAILED)] * 2, solution=())
    assert report.verdict is None
    assert [(gate.gate, gate.why) for gate in report.skipped] == [(Gate.ORACLE, "the task has no solution")]
    assert report.failed_gate() is None


@pytest.mark.parametrize(
    ("exit_code", "limit", "reason"),
    [(2, None, Reason.SOLUTION_FAILED), (-1, "time", Reason.SOLUTION_LIMIT)],
)
async def test_a_solution_that_does_not_run_through(
    run: Callable[..., Any], tools: dict[str, Any], exit_code: int, limit: str | None, reason: Reason
) -> None:
    solves = [tools["result"](exit_code, "awk: error", limit)]
    report, sandbox = await run(grades=[tools["graded"](0.0, FAILED)] * 2, solves=solves)
    assert verdict(report) == (False, Gate.ORACLE, False, reason, Component.SOLUTION)
    assert "awk: error" in report.gates[-1].evidence
    assert ("cut short: time, after 0.1 s" in report.gates[-1].evidence) is (limit is not None)
    assert sandbox.frozen == []
    assert report.oracle_runs == ()


async def test_tests_that_fail_after_the_solution_blame_nobody(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero = tools["graded"](0.0, FAILED)
    report, _ = await run(grades=[zero, zero, zero])
    assert verdict(report) == (False, Gate.ORACLE, False, Reason.ORACLE_FAILED, None)
    assert "test_r1_total (failed)" in report.gates[-1].evidence
    assert "total is 2" in report.gates[-1].evidence
    assert len(report.oracle_runs) == 1


async def test_runs_that_disagree_are_unstable(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero, one = tools["graded"](0.0, FAILED), tools["graded"](1.0, PASSED)
    report, _ = await run(grades=[zero, zero, one, zero], solves=[tools["result"](output=o) for o in "ab"])
    assert verdict(report) == (False, Gate.ORACLE, False, Reason.UNSTABLE, None)
    assert "test_r1_total: passed, then failed" in report.gates[-1].evidence
    assert report.oracle_outputs == ("a", "b")


@pytest.mark.parametrize("good", [0, 1, 2, 3])
async def test_infrastructure_trouble_is_never_a_verdict(
    run: Callable[..., Any], tools: dict[str, Any], good: int
) -> None:
    zero, one = tools["graded"](0.0, FAILED), tools["graded"](1.0, PASSED)
    steps = [*[zero, zero, one, one][:good], InfrastructureError("the daemon is gone")]
    report, _ = await run(grades=steps)
    assert report.verdict is None
    gate = report.failed_gate()
    assert gate is not None and (gate.passed, gate.reason, gate.component) == (None, None, None)
    assert "the daemon is gone" in gate.evidence
    assert gate.gate is (Gate.NOOP if good < 2 else Gate.ORACLE)


async def test_evidence_is_bounded(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    many = [(f"test_r1_{n}", "failed", "AssertionError: " + "x" * 480) for n in range(40)]
    zero = tools["graded"](0.0, FAILED)
    report, _ = await run(grades=[zero, tools["graded"](0.0, *many), tools["graded"](0.0, *many)])
    assert len(report.gates[-1].evidence) <= 3_000
