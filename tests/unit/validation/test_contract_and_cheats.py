"""G6 as a table, G5 over a fake engine, and the page that lists what they run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.environment.observe import difference
from facet_dagster.records.container import Command, CommandResult
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.scenario import Requirement
from facet_dagster.records.validation import ControlKind, Gate, GateResult, SkippedGate, ValidationReport
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.validation.candidate import Candidate, Contract
from facet_dagster.validation.examination import Examination
from facet_dagster.validation.gates.contract import contract
from facet_dagster.validation.tampering import all_cheats, named_paths
from facet_dagster.validation.validate import CHECKS, validate

PAGE = Path(__file__).parents[3] / "docs" / "gates.md"
TWO = tuple(Requirement(id=f"R{n}", text=f"demand {n}", observable="") for n in (1, 2))


async def judged(candidate: Candidate, **parts: Any) -> tuple[GateResult | SkippedGate, Examination]:
    whole = {
        "requirements": TWO,
        "clauses": {"R1": "Write the  total", "R2": "and the\nrest"},
        "tests": {"test_r1_a": ("R1",), "test_r1_r2_b": ("R1", "R2")},
    }
    promised = Contract(**{**whole, **parts})
    task = replace(candidate, contract=promised, instruction="Write\nthe total, and the rest.")
    exam = Examination(task, None, 1, 1, None, None)  # type: ignore[arg-type]
    return await contract(exam), exam


async def test_a_whole_contract_is_a_table(candidate: Candidate) -> None:
    result, exam = await judged(candidate)
    assert isinstance(result, GateResult) and result.passed is True
    assert [(row.requirement, row.tests) for row in exam.contract] == [
        ("R1", ("test_r1_a", "test_r1_r2_b")),
        ("R2", ("test_r1_r2_b",)),
    ]


@pytest.mark.parametrize(
    ("parts", "component", "said"),
    [
        ({"clauses": {"R1": "Write the total"}}, Component.INSTRUCTION, "R2 is not stated"),
        (
            {"clauses": {"R1": "Write the total", "R2": "and more"}},
            Component.INSTRUCTION,
            "R2: its clause does not occur",
        ),
        ({"tests": {"test_r1_a": ("R1",)}}, Component.VERIFIER, "R2 has no test: demand 2"),
        ({"tests": {"test_r1_r2_a": ("R1", "R2"), "test_x": ()}}, Component.VERIFIER, "test_x names no requirement"),
        ({"tests": {"test_r1_r2_r7_a": ("R1", "R2", "R7")}}, Component.VERIFIER, "names R7, which is no requirement"),
    ],
)
async def test_what_breaks_it_is_named(candidate: Candidate, parts: Any, component: Component, said: str) -> None:
    result, _ = await judged(candidate, **parts)
    assert isinstance(result, GateResult)
    assert (result.passed, result.reason, result.component) == (False, Reason.CONTRACT_BROKEN, component)
    assert said in result.evidence


async def test_without_requirements_there_is_nothing_to_compare(candidate: Candidate) -> None:
    exam = Examination(replace(candidate, contract=None), None, 1, 1, None, None)  # type: ignore[arg-type]
    assert isinstance(await contract(exam), SkippedGate)


# ------------------------------------------------------------------ cheats


@pytest.fixture
def cheated(candidate: Candidate, tools: dict[str, Any]) -> Callable[..., Any]:
    async def run(steps: list[Any], **changed: Any) -> tuple[ValidationReport, FakeSandbox]:
        grades = iter(steps)

        def answer(container: FakeContainer, command: Command) -> CommandResult:
            if "test.sh" in command.script and container.spec.purpose == "grade":
                return tools["take"](container, next(grades)) if "exec" in command.script else tools["result"]()
            return tools["result"]()  # type: ignore[no-any-return]

        sandbox = FakeSandbox(answer, {"facet-env:1": {}})
        report = await validate(
            replace(candidate, **changed),
            bundle="b",
            sandbox=sandbox,
            repeats=1,
            controls_max=0,
            observe=None,  # type: ignore[arg-type]
            difference=difference,
            gates=(Gate.TAMPERING,),
        )
        assert set(sandbox.images) == {"facet-env:1"}
        return report, sandbox

    return run


async def test_cheats_run_as_the_agent_and_get_nothing(cheated: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero = tools["graded"](0.0, ("test_r1_total", "failed", "no"))
    report, sandbox = await cheated([zero] * 4, user="solver", workdir="/work")
    assert report.gates[0].passed is True
    assert [result.name for result in report.tampering] == [cheats.name for cheats in all_cheats()]
    assert len(sandbox.opened) == 8
    ran = [command for c in sandbox.opened for command in c.commands if "CHEAT_OUTPUTS" in command.env]
    assert {(command.user, command.workdir) for command in ran} == {("solver", "/work")}
    assert "/app/total" in ran[0].env["CHEAT_OUTPUTS"].splitlines()
    assert "/tests/test_outputs.py" in ran[0].env["CHEAT_TESTS"].splitlines()
    assert not any(c.spec.network for c in sandbox.opened)


async def test_where_the_agent_is_root_the_cheats_are_not(cheated: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero = tools["graded"](0.0, ("test_r1_total", "failed", "no"))
    report, sandbox = await cheated([zero] * 4, user="root", workdir="/my work")
    ran = [command for c in sandbox.opened for command in c.commands]
    cheats = [command for command in ran if "CHEAT_OUTPUTS" in command.env]
    assert len(cheats) == 4 and not any(command.user == "root" for command in cheats)
    assert {command.env["HOME"] for command in cheats} == {"/var/tmp/facet-agent"}
    owned = [command.script for command in ran if command.script.count("chown")]
    assert len(owned) == 4 and all(script.endswith("'/my work'") for script in owned)
    assert "agent is root" in report.gates[0].evidence


async def test_the_root_folder_is_nobodys(cheated: Callable[..., Any], tools: dict[str, Any]) -> None:
    zero = tools["graded"](0.0, ("test_r1_total", "failed", "no"))
    _, sandbox = await cheated([zero] * 4, user="0", workdir="/")
    owned = [command.script for c in sandbox.opened for command in c.commands if "chown" in command.script]
    assert owned and all(script.strip().endswith("/var/tmp/facet-agent") for script in owned)


@pytest.mark.parametrize(
    ("odd", "passed"),
    [
        ([(1.0, None)], False),
        ([(None, None), (None, None)], False),
        ([(None, None), (0.0, None)], True),  # it stopped at the first test, which was an error
        ([(None, "time"), (1.0, None)], False),
        ([(None, "time"), (None, "time"), (0.0, None)], True),  # the last is that of the untouched state
        ([(None, "time"), (None, "time"), (None, "time")], None),
    ],
)
async def test_a_reward_or_no_verdict_is_a_finding(
    cheated: Callable[..., Any], tools: dict[str, Any], odd: list[tuple[Any, Any]], passed: bool | None
) -> None:
    zero = tools["graded"](0.0, ("test_r1_total", "failed", "no"))
    steps = [
        tools["graded"](reward, trouble="broken" if reward is None else None, limit=limit) for reward, limit in odd
    ]
    report, sandbox = await cheated([zero, *steps, zero, zero])
    gate = report.gates[0]
    assert gate.passed is passed
    assert len(sandbox.opened) == 7 + len(odd)
    assert (passed is None) is ("outputs" in gate.evidence and "untouched" in gate.evidence)
    if passed is False:
        assert (gate.reason, gate.component, gate.runs) == (Reason.TAMPERED, Component.VERIFIER, 4)
        assert "programs that tests run" in gate.evidence  # the cheats of the second run
        assert "reward files:" not in gate.evidence


def test_paths_of_an_instruction() -> None:
    text = "Write `/app/out/a.csv` and /app/run.sh. See /app/out, https://x.org/y/z and /etc/hosts/; n/a."
    assert named_paths(text) == ["/app/out/a.csv", "/app/run.sh"]


# ------------------------------------------------------------------ the page


def test_the_page_lists_gates_controls_and_cheats() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for gate in CHECKS:
        number, _, name = gate.value.partition("-")
        assert f"| {number} {name.replace('noop', 'no-op')} |" in page
    for kind in ControlKind:
        assert f"| {kind.value} |" in page
    listed = [f"| {c.name} | {cheat.name} | {cheat.what} |" for c in all_cheats() for cheat in c.cheats]
    table = page.partition("| script | cheat | what it does |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == listed
    assert len(all_cheats()) <= 4 and len(listed) >= 14
