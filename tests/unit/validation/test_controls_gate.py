"""G4 at work: controls are run, judged, and told so that it helps; what has no verdict is no pass."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from facet_dagster.environment.observe import difference
from facet_dagster.errors import InfrastructureError, NotObservable
from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.container import Command, CommandResult
from facet_dagster.records.environment import ObservedState, wait_for_services
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import ControlKind, Gate, ValidationReport
from facet_dagster.testing.examples import an_observed_file as seen
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.validate import validate

OK = CommandResult(exit_code=0, output="", seconds=0.1)


def spoil(container: FakeContainer, script: str) -> CommandResult:
    words = shlex.split(script)
    if script.startswith("cat /facet-control >"):
        container.files[words[-1]] = container.files["/facet-control"]
    elif script.startswith(": >"):
        container.files[words[-1]] = b""
    elif script.startswith("rm -f "):
        container.files.pop(words[-1])
    elif script.startswith("mv -T"):
        container.files[words[-1]] = container.files.pop(words[-2])
    return OK


@pytest.fixture
def run(candidate: Candidate, tools: dict[str, Any]) -> Callable[..., Any]:
    """A task that writes `n = 3` to /app/total, graded by a function of the tree."""

    async def validated(
        grader: Callable[[FakeContainer], Any],
        spoiling: Callable[[FakeContainer, str], CommandResult] = spoil,
        waiting: Callable[[FakeContainer], CommandResult] = lambda _: OK,
        watch: Any = None,
        **changes: Any,
    ) -> tuple[ValidationReport, Any]:
        def answer(container: FakeContainer, command: Command) -> CommandResult:
            if wait_for_services().script in command.script:
                return waiting(container)
            if "solve.sh" in command.script:
                container.files["/app/total"] = b"n = 3\n"
            elif command.script.endswith("exec /tests/test.sh"):
                step = grader(container)
                if isinstance(step, Exception):
                    raise step
                return tools["take"](container, step)  # type: ignore[no-any-return]
            elif container.spec.purpose == "control":
                return spoiling(container, command.script)
            return OK

        sandbox = FakeSandbox(answer, {"facet-env:1": {}})
        diff = StateDiff(files=(FileChange(path="/app/total", change="added", after=seen("/app/total")),))
        report = await validate(
            replace(candidate, **{"diff": diff, **changes}),
            bundle="b",
            sandbox=sandbox,
            repeats=1,
            controls_max=8,
            observe=watch or observed,
            difference=difference,
            gates=(Gate.ORACLE, Gate.CONTROLS),
        )
        assert set(sandbox.images) == {"facet-env:1"} and not sandbox.running
        return report, sandbox

    return validated


async def observed(container: Any, workdir: str) -> ObservedState:
    files = tuple(seen(path, sha256=str(data)) for path, data in container.files.items() if path.startswith("/app"))
    return ObservedState(files=files, packages=(), tools={}, users=(), listening=())


def strict(tools: dict[str, Any]) -> Callable[[FakeContainer], Any]:
    def grader(container: FakeContainer) -> Any:
        right = container.files.get("/app/total") == b"n = 3\n"
        return tools["graded"](float(right), ("test_r1_total", "passed" if right else "failed", ""))

    return grader


def exists(tools: dict[str, Any]) -> Callable[[FakeContainer], Any]:
    def grader(container: FakeContainer) -> Any:
        there = "/app/total" in container.files
        return tools["graded"](float(there), ("test_r1_total", "passed" if there else "failed", ""))

    return grader


async def test_tests_that_look_refuse_all(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, sandbox = await run(strict(tools))
    assert report.verdict is True
    assert [control.killed for control in report.controls] == [True] * 4
    assert report.kill_rate == 1.0
    assert "4 of 4" in report.gates[-1].evidence
    assert all(c.report and c.report.tests[0].outcome == "failed" for c in report.controls)
    assert len([c for c in sandbox.opened if c.spec.purpose == "control"]) == 4
    assert not any("/facet-control" in c.files for c in sandbox.opened)


async def test_survivors_are_told_in_words(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(exists(tools))
    gate = report.failed_gate()
    assert gate is not None
    assert (gate.gate, gate.reason, gate.component) == (Gate.CONTROLS, Reason.CONTROL_SURVIVED, Component.VERIFIER)
    assert (report.verdict, report.kill_rate) == (False, 0.5)
    assert "/app/total (one value changed): line 1: `n = 3` became `n = 4`; 1 tests: 1 passed" in gate.evidence
    assert "/app/total (emptied)" in gate.evidence and "deleted" not in gate.evidence


async def test_no_verdict_is_tried_once_more(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    calls: list[int] = []

    def grader(container: FakeContainer) -> Any:
        calls.append(1)
        return tools["graded"](None, trouble="odd") if len(calls) == 2 else strict(tools)(container)

    report, _ = await run(grader)
    assert report.verdict is True and len(calls) == 6


@pytest.mark.parametrize("slow_host", [False, True])
async def test_a_limit_is_a_refusal_only_where_the_host_is_not_slow(
    run: Callable[..., Any], tools: dict[str, Any], slow_host: bool
) -> None:
    hung: list[int] = []

    def grader(container: FakeContainer) -> Any:
        if container.files.get("/app/total") == b"":
            hung.append(1)
        if container.files.get("/app/total") == b"" or (slow_host and hung and container.spec.purpose == "grade"):
            return tools["graded"](None, trouble="it hangs", limit="time")
        return strict(tools)(container)

    report, _ = await run(grader)
    emptied = next(c for c in report.controls if c.kind is ControlKind.EMPTIED)
    assert (report.verdict, emptied.killed) == ((None, None) if slow_host else (True, True))
    assert ("it hangs (time, after 0.1 s)" in report.gates[-1].evidence) is slow_host


async def test_tests_that_break_on_a_spoilt_output_are_at_fault(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    def grader(container: FakeContainer) -> Any:
        if container.files.get("/app/total") == b"":
            return tools["graded"](None, ("test_r1_total", "error", "ValueError"), trouble="no test was executed")
        return strict(tools)(container)

    report, _ = await run(grader)
    gate = report.failed_gate()
    assert gate is not None and report.verdict is False
    assert (gate.gate, gate.reason, gate.component) == (Gate.CONTROLS, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    assert "/app/total emptied: no test was executed" in gate.evidence and "ValueError" in gate.evidence


async def test_without_a_verdict_at_the_first_failure_the_tests_run_to_their_end(
    run: Callable[..., Any], tools: dict[str, Any]
) -> None:
    def grader(container: FakeContainer) -> Any:
        stops = "FACET_GRADE_FIRST_FAILURE" in container.commands[-1].env
        if stops and container.files.get("/app/total") == b"":
            return tools["graded"](None, ("test_r1_a", "error", "ValueError"), trouble="no test was executed")
        return strict(tools)(container)

    report, _ = await run(grader)
    assert report.verdict is True and report.kill_rate == 1.0


@pytest.mark.parametrize(("times", "verdict"), [(1, True), (2, None)])
async def test_a_limit_while_spoiling_is_no_verdict(
    run: Callable[..., Any], tools: dict[str, Any], times: int, verdict: Any
) -> None:
    cut: list[int] = []

    def spoiling(container: FakeContainer, script: str) -> CommandResult:
        if script.startswith(": >") and len(cut) < times:
            cut.append(1)
            return tools["result"](-1, limit="time")  # type: ignore[no-any-return]
        return spoil(container, script)

    report, _ = await run(strict(tools), spoiling=spoiling)
    emptied = next(c for c in report.controls if c.kind is ControlKind.EMPTIED)
    assert (report.verdict, emptied.killed, emptied.note) == (verdict, verdict, "")
    assert (verdict is None) is ("while it was made" in report.gates[-1].evidence)


async def test_what_cannot_be_made_does_not_count(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    def spoiling(container: FakeContainer, script: str) -> CommandResult:
        return tools["result"](1) if script.startswith("mv") else spoil(container, script)  # type: ignore[no-any-return]

    report, _ = await run(strict(tools), spoiling=spoiling)
    assert report.verdict is True and [c.killed for c in report.controls] == [True, True, True, None]


async def test_what_is_undone_does_not_count(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    def grader(container: FakeContainer) -> Any:
        container.files["/app/total"] = b"n = 3\n"  # the tests build it anew
        return tools["graded"](1.0, ("test_r1_total", "passed", ""))

    report, _ = await run(grader, contract=None)
    assert (report.verdict, report.kill_rate) == (True, None)
    assert all(control.note for control in report.controls)
    assert [(gate.gate, "made the output anew" in gate.why) for gate in report.skipped] == [(Gate.CONTROLS, True)]
    report, _ = await run(grader)  # of ours: tests that are content with whatever is there
    gate = report.failed_gate()
    assert gate is not None and (gate.reason, gate.component) == (Reason.CONTROL_SURVIVED, Component.VERIFIER)
    assert "made the output anew" in gate.evidence


async def test_the_engine_failing_leaves_the_gate_open(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    def grader(container: FakeContainer) -> Any:
        if container.spec.purpose == "control":
            return InfrastructureError("the daemon is gone")
        return strict(tools)(container)

    report, _ = await run(grader)
    assert report.verdict is None
    assert (report.gates[-1].gate, report.gates[-1].passed) == (Gate.CONTROLS, None)


async def test_a_foreign_task_is_observed(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(strict(tools), e0=None, contract=None)
    assert report.verdict is True and report.kill_rate == 1.0


async def test_nothing_named_is_nothing_spoilt(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(strict(tools), instruction="Do it.", contract=None)
    assert report.verdict is True
    assert [re.sub(" that.*", "", gate.why) for gate in report.skipped] == ["the instruction names no output"]


async def test_of_ours_what_the_solution_made_is_spoilt_where_nothing_is_named(
    run: Callable[..., Any], tools: dict[str, Any], candidate: Candidate
) -> None:
    assert candidate.contract is not None
    unnamed = {"instruction": "Do it.", "contract": replace(candidate.contract, clauses={"R1": "Do it."})}
    report, _ = await run(strict(tools), **unnamed)
    assert report.verdict is True and report.kill_rate == 1.0
    report, _ = await run(exists(tools), **unnamed)
    assert report.verdict is True and report.kill_rate == 1.0  # how much of it matters is not known
    assert [c.note for c in report.controls if c.killed is None] == ["the instruction does not name it"] * 2
    report, _ = await run(lambda _: tools["graded"](1.0, ("test_r1_total", "passed", "")), **unnamed)
    assert report.verdict is False


async def test_a_service_that_the_host_is_too_slow_for_is_no_verdict(
    run: Callable[..., Any], tools: dict[str, Any]
) -> None:
    def waiting(container: FakeContainer) -> CommandResult:
        late = container.spec.purpose in {"control", "services"}
        return tools["result"](-1, limit="time") if late else OK  # type: ignore[no-any-return]

    report, _ = await run(strict(tools), waiting=waiting)
    assert report.verdict is None and "services" in report.gates[-1].evidence


@pytest.mark.parametrize(("said", "waits"), [("no services\n", 1), ("", 6)])
async def test_where_e0_starts_nothing_no_later_container_is_asked(
    run: Callable[..., Any], tools: dict[str, Any], said: str, waits: int
) -> None:
    asked = []

    def waiting(container: FakeContainer) -> CommandResult:
        asked.append(container.spec.purpose)
        return CommandResult(exit_code=0, output=said, seconds=0)

    report, _ = await run(strict(tools), waiting=waiting)
    assert report.verdict is True and len(asked) == waits, asked


async def test_a_service_that_the_solution_has_broken_is_for_the_tests(
    run: Callable[..., Any], tools: dict[str, Any]
) -> None:
    def waiting(container: FakeContainer) -> CommandResult:
        return OK if container.spec.image == "facet-env:1" else tools["result"](-1, limit="time")

    report, _ = await run(strict(tools), waiting=waiting)
    assert report.verdict is True and report.kill_rate == 1.0


@pytest.mark.parametrize("after", [False, True])
async def test_what_cannot_be_observed_leaves_out_the_controls_alone(
    run: Callable[..., Any], tools: dict[str, Any], after: bool
) -> None:
    async def watch(container: Any, workdir: str) -> ObservedState:
        if not after or "/app/total" in container.files:
            raise NotObservable("python3 is broken")
        return await observed(container, workdir)

    report, _ = await run(strict(tools), e0=None, diff=None, contract=None, watch=watch)
    assert report.verdict is True
    assert [(gate.gate, "python3 is broken" in gate.why) for gate in report.skipped] == [(Gate.CONTROLS, True)]
