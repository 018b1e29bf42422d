"""Who is named: by the table, by the model with evidence, or by the table after all."""

from collections.abc import Callable
from typing import Any

import pytest

from facet_dagster.prompts.ask import Asker
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.call import Role
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.validation import Diagnosis, Gate, GateResult, GradeReport, TestResult, ValidationReport
from facet_dagster.repair.route import route
from facet_dagster.testing.scripted_model import ScriptedModel

ASSERTION = "AssertionError: total must be 12.50\nassert '12.5' == '12.50'"


def oracle(
    *messages: str, reason: Reason = Reason.ORACLE_FAILED, outputs: tuple[str, ...] = ("x",)
) -> ValidationReport:
    """A report whose last oracle run failed with these messages."""
    names = ("test_r1_total", "test_r2_rejects")
    tests = tuple(TestResult(name=n, outcome="failed", message=m) for n, m in zip(names, messages, strict=False))
    run = GradeReport(reward=0.0, tests=tests, executed=len(tests), seconds=1.0, output="")
    evidence = "run 1 after the solution\n" + "\n".join(messages)
    gate = GateResult(gate=Gate.ORACLE, passed=False, runs=1, evidence=evidence, reason=reason)
    return ValidationReport(
        bundle="b", verdict=False, gates=(gate,), noop_runs=(), oracle_runs=(run,), oracle_outputs=outputs
    )


def noop(reason: Reason = Reason.NOOP_PASSED) -> ValidationReport:
    gate = GateResult(
        gate=Gate.NOOP, passed=False, runs=1, evidence="every test passes", reason=reason, component=Component.VERIFIER
    )
    return ValidationReport(bundle="b", verdict=False, gates=(gate,), noop_runs=(), oracle_runs=())


def gated(gate: Gate, reason: Reason, component: Component) -> ValidationReport:
    """A report in which another gate failed and named a component."""
    result = GateResult(
        gate=gate, passed=False, runs=1, evidence="what the gate saw", reason=reason, component=component
    )
    return ValidationReport(bundle="b", verdict=False, gates=(result,), noop_runs=(), oracle_runs=())


def rejected(component: Component, reason: Reason) -> Rejected:
    return Rejected(component=component, reason=reason, evidence="what shows it")


async def ask(failure: Any, bodies: dict[Component, Record], *answers: Any, history: Any = ()) -> tuple[Any, Any]:
    model = ScriptedModel({"repair.diagnose": answers})
    diagnosis = await route("s1", failure, bodies, history, asker=Asker(model), round=2)
    return diagnosis, model.requests


def finding(evidence: str, component: str = "verifier") -> dict[str, str]:
    return {"component": component, "evidence": evidence, "advice": "Accept the number, whatever its spelling."}


@pytest.mark.parametrize(
    ("failure", "component"),
    [
        (rejected(Component.ENVIRONMENT, Reason.BUILD_FAILED), Component.ENVIRONMENT),
        (rejected(Component.ENVIRONMENT, Reason.PROBE_FAILED), Component.ENVIRONMENT),
        (rejected(Component.ENVIRONMENT, Reason.INFEASIBLE), Component.SCENARIO),
        (rejected(Component.SCENARIO, Reason.INCONSISTENT), Component.SCENARIO),
        (rejected(Component.SOLUTION, Reason.SOLUTION_LIMIT), Component.SOLUTION),
        (rejected(Component.SOLUTION, Reason.SOLUTION_CHANGES_NOTHING), Component.SOLUTION),
        (rejected(Component.SOLUTION, Reason.UNSTABLE), Component.SOLUTION),
        (rejected(Component.INSTRUCTION, Reason.ANSWER_UNUSABLE), Component.INSTRUCTION),
        (rejected(Component.VERIFIER, Reason.IDENTICAL_PATCH), Component.VERIFIER),
        (gated(Gate.STATIC, Reason.STATIC_FAULT, Component.ENVIRONMENT), Component.ENVIRONMENT),
        (gated(Gate.STATIC, Reason.STATIC_FAULT, Component.INSTRUCTION), Component.INSTRUCTION),
        (gated(Gate.CONTROLS, Reason.CONTROL_SURVIVED, Component.VERIFIER), Component.VERIFIER),
        (gated(Gate.TAMPERING, Reason.TAMPERED, Component.VERIFIER), Component.VERIFIER),
        (gated(Gate.CONTRACT, Reason.CONTRACT_BROKEN, Component.VERIFIER), Component.VERIFIER),
        (gated(Gate.CONTRACT, Reason.HIDDEN_NAME, Component.VERIFIER), Component.VERIFIER),
        (gated(Gate.CONTRACT, Reason.CONTRACT_BROKEN, Component.INSTRUCTION), Component.INSTRUCTION),
        (noop(), Component.VERIFIER),
        (noop(Reason.NOTHING_EXECUTED), Component.VERIFIER),
        (noop(Reason.VERIFIER_LIMIT), Component.VERIFIER),
        (oracle(ASSERTION, reason=Reason.UNSTABLE, outputs=("a", "a")), Component.VERIFIER),
        (oracle(ASSERTION, reason=Reason.UNSTABLE, outputs=("a", "b")), Component.SOLUTION),
        (oracle("FileNotFoundError: [Errno 2] No such file", "KeyError: 'total'"), Component.VERIFIER),
        (oracle("subprocess.TimeoutExpired: Command '['x']' timed out"), Component.VERIFIER),
    ],
)
async def test_the_table_decides_without_a_model(
    failure: Any, component: Component, bodies: dict[Component, Record]
) -> None:
    diagnosis, requests = await ask(failure, bodies)
    assert (diagnosis.component, diagnosis.decided_by) == (component, "table")
    assert diagnosis.evidence
    assert requests == []


@pytest.mark.parametrize(
    "failure",
    [
        oracle(ASSERTION),
        oracle("assert 3 == 4\n +  where 3 = len([])"),
        oracle("Failed: DID NOT RAISE <class 'OSError'>"),
        oracle("KeyError: 'total'", ASSERTION),
        rejected(Component.SOLUTION, Reason.INFEASIBLE),
    ],
    ids=["assertion", "bare-assert", "pytest-fail", "mixed", "infeasible"],
)
async def test_what_needs_judgement_goes_to_the_judge(failure: Any, bodies: dict[Component, Record]) -> None:
    diagnosis, requests = await ask(failure, bodies, finding('assert total() == "12.50", "total must be 12.50"'))
    assert (diagnosis.component, diagnosis.decided_by) == (Component.VERIFIER, "model")
    assert 'Shown by: assert total() == "12.50"' in diagnosis.evidence
    assert diagnosis.advice.startswith("Accept the number")
    assert len(requests) == 1
    assert requests[0].role is Role.JUDGE
    assert requests[0].call.label() == "repair.diagnose/s1/r2/a0/t0"


async def test_the_judge_sees_the_bundle_and_the_failing_tests_only(
    bodies: dict[Component, Record], repaired: Callable[..., ComponentVersion]
) -> None:
    earlier = Diagnosis(
        component=Component.SOLUTION, reason=Reason.ORACLE_FAILED, evidence="one cent off", decided_by="model"
    )
    history = [repaired(bodies[Component.SOLUTION], earlier)]
    _, requests = await ask(oracle(ASSERTION), bodies, finding("total must be 12.50"), history=history)
    prompt = requests[0].messages[0].content
    for shown in (
        "R2: rejected lines are listed",
        "/app/ledger.csv",
        "with two decimals",
        "awk -f sum.awk",
        "added /app/total.txt",
        "def total():",
        "def test_r1_total",
        "total must be 12.50",
        "round 1: solution rewritten for oracle_failed: one cent off",
    ):
        assert shown in prompt
    assert "def test_r2_rejects" not in prompt


async def test_evidence_may_differ_in_white_space_and_quotation_marks(bodies: dict[Component, Record]) -> None:
    quote = '"Write the total of   /app/ledger.csv\n to /app/total.txt"'
    diagnosis, requests = await ask(oracle(ASSERTION), bodies, finding(quote, "instruction"))
    assert (diagnosis.component, diagnosis.decided_by) == (Component.INSTRUCTION, "model")
    assert len(requests) == 1


async def test_invented_evidence_is_sent_back_once(bodies: dict[Component, Record]) -> None:
    answers = (finding("the total must be given in euros"), finding("awk -f sum.awk ledger.csv", "solution"))
    diagnosis, requests = await ask(oracle(ASSERTION), bodies, *answers)
    assert diagnosis.component is Component.SOLUTION
    assert "does not occur" in requests[1].messages[-1].content


@pytest.mark.parametrize(
    "answer",
    [finding("never shown to anybody"), finding("awk"), finding("total must be 12.50", "scenario"), "no idea"],
    ids=["invented", "too-short", "no-such-choice", "prose"],
)
async def test_without_usable_answer_the_table_says_verifier(bodies: dict[Component, Record], answer: Any) -> None:
    diagnosis, requests = await ask(oracle(ASSERTION), bodies, answer, answer)
    assert (diagnosis.component, diagnosis.decided_by) == (Component.VERIFIER, "table")
    assert len(requests) == 2


async def test_only_components_that_exist_can_be_blamed(bodies: dict[Component, Record]) -> None:
    del bodies[Component.VERIFIER]
    failure = rejected(Component.SOLUTION, Reason.INFEASIBLE)
    answers = (finding("awk -f sum.awk ledger.csv"), finding("what shows it", "environment"))
    diagnosis, requests = await ask(failure, bodies, *answers)
    assert diagnosis.component is Component.ENVIRONMENT
    assert "choose among environment, instruction, solution" in requests[1].messages[-1].content


@pytest.mark.parametrize(
    ("body", "reason", "asked"),
    [("verifier", Reason.NOOP_PASSED, 1), ("refused", Reason.NOOP_PASSED, 0), ("verifier", Reason.VERIFIER_LIMIT, 0)],
    ids=["same-again", "patch-was-refused", "other-reason"],
)
async def test_the_same_rejection_after_a_repair_goes_to_the_judge(
    bodies: dict[Component, Record],
    repaired: Callable[..., ComponentVersion],
    body: str,
    reason: Reason,
    asked: int,
) -> None:
    earlier = Diagnosis(component=Component.VERIFIER, reason=reason, evidence="every test passes", decided_by="table")
    refused = rejected(Component.VERIFIER, Reason.IDENTICAL_PATCH)
    history = [repaired(refused if body == "refused" else bodies[Component.VERIFIER], earlier)]
    answer = finding("/app/ledger.csv (file, 90 B", "environment")
    diagnosis, requests = await ask(noop(), bodies, answer, history=history)
    assert len(requests) == asked
    assert diagnosis.component is (Component.ENVIRONMENT if asked else Component.VERIFIER)


async def test_an_open_gate_is_nothing_to_diagnose(bodies: dict[Component, Record]) -> None:
    gate = GateResult(gate=Gate.NOOP, passed=None, runs=0, evidence="infrastructure: gone")
    report = ValidationReport(bundle="b", verdict=None, gates=(gate,), noop_runs=(), oracle_runs=())
    with pytest.raises(ValueError, match="nothing to diagnose"):
        await ask(report, bodies)
