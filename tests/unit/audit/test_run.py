"""An audit over fakes: each task its own verdict, whatever happens to the others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from facet_dagster.audit.load import Fault, Found, Loaded
from facet_dagster.audit.run import AuditTerms, Bench, audit
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.container import (
    BuildFault,
    BuildRequest,
    BuildResult,
    Command,
    CommandResult,
    FileEntry,
    Limits,
)
from facet_dagster.records.outcome import Component
from facet_dagster.records.validation import Gate, GateResult, SkippedGate
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox, always_builds
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.examination import Examination
from facet_dagster.validation.validate import CHECKS

TESTS = "def test_x():\n    assert open('/app/x').read() == '1'\n"
OK = CommandResult(exit_code=0, output="", seconds=0.0)


class Seen:
    """A watcher that takes notes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def started(self, name: str) -> None:
        self.lines.append(f"{name} started")

    def gate(self, name: str, result: GateResult) -> None:
        self.lines.append(f"{name} {result.gate.value} {result.passed}")

    def finished(self, task: AuditedTask) -> None:
        self.lines.append(f"{task.name} {task.accepted}")


def a_task(name: str, *, solution: bool = True) -> Loaded:
    candidate = Candidate(
        name=name,
        image="",
        dockerfile="FROM facet-base\n",
        context=(),
        instruction="Write 1 to /app/x.\n",
        solution=(FileEntry(path="/solution/solve.sh", content="echo 1 > x\n", mode=0o755),) if solution else (),
        tests=(
            FileEntry(path="/tests/test.sh", content="pytest\n", mode=0o755),
            FileEntry(path="/tests/test_x.py", content=TESTS),
        ),
        limits=Limits(cpus=64),
        solve_timeout_s=10,
        grade_timeout_s=10,
    )
    return Loaded(name, Path(name), candidate)


def engine(container: FakeContainer, command: Command) -> CommandResult:
    """A container in which nothing can be done but solve.sh and test.sh."""
    if container.spec.seed == "lost":
        raise InfrastructureError("the daemon is gone")
    if "solve.sh" in command.script:
        container.files["/app/x"] = b"1"
    if "/tests/test.sh" in command.script and "exec" in command.script:
        reward = b"1" if container.files.get("/app/x") == b"1" else b"0"
        container.files["/logs/verifier/reward.txt"] = reward
    return OK


def given(task: Loaded) -> Found:
    return Found(task.name, task.path, lambda: task)


async def audited(
    *tasks: Loaded, build: Callable[[BuildRequest], BuildResult] = always_builds
) -> tuple[AuditReport, Seen, FakeSandbox]:
    sandbox, seen = FakeSandbox(engine), Seen()
    bench = Bench(FakeImageBuilder(sandbox, build), sandbox)
    report = await audit(
        "tasks", [given(task) for task in tasks], bench, AuditTerms(repeats=1, controls=0, cpus_max=2), seen
    )
    assert not sandbox.running and not sandbox.images, "something was left behind"
    return report, seen, sandbox


async def test_trouble_of_one_task_is_no_verdict_and_stops_no_other() -> None:
    report, seen, _ = await audited(a_task("lost"), a_task("bare", solution=False))
    assert [task.name for task in report.tasks] == ["lost", "bare"]
    assert [task.accepted for task in report.tasks] == [None, None]
    assert "the daemon is gone" in report.tasks[0].reason and report.tasks[0].component is None
    assert "no solution" in report.tasks[1].reason
    assert {"lost None", "bare None"} <= set(seen.lines)


@pytest.mark.parametrize("bug", [RuntimeError("a loop"), RecursionError(), KeyError("x"), MemoryError()])
async def test_a_bug_that_one_task_brings_to_light_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, bug: Exception
) -> None:
    static = CHECKS[Gate.STATIC]

    async def breaks(exam: Examination) -> GateResult | SkippedGate:
        if exam.candidate.name == "odd":
            raise bug
        return await static(exam)

    monkeypatch.setitem(CHECKS, Gate.STATIC, breaks)
    report, seen, _ = await audited(a_task("odd"), a_task("a"))
    assert [task.accepted for task in report.tasks] == [None, True]
    assert type(bug).__name__ in report.tasks[0].reason
    assert "odd None" in seen.lines


async def test_a_task_that_cannot_be_read_for_an_unknown_reason_stops_no_other() -> None:
    def breaks() -> Loaded:
        raise RuntimeError("a loop")

    sandbox = FakeSandbox(engine)
    tasks = [Found("odd", Path("odd"), breaks), given(a_task("a"))]
    bench = Bench(FakeImageBuilder(sandbox), sandbox)
    report = await audit("tasks", tasks, bench, AuditTerms(repeats=1, controls=0), Seen())
    assert [(task.name, task.accepted) for task in report.tasks] == [("odd", None), ("a", True)]


async def test_an_image_that_cannot_be_removed_takes_no_verdict_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise InfrastructureError("the daemon is gone")

    monkeypatch.setattr(FakeImageBuilder, "remove", fails)
    sandbox = FakeSandbox(engine)
    bench = Bench(FakeImageBuilder(sandbox), sandbox)
    report = await audit("tasks", [given(a_task("a"))], bench, AuditTerms(repeats=1, controls=0), Seen())
    assert report.tasks[0].accepted is True


async def test_an_accepted_task_says_what_was_not_run() -> None:
    report, _, _ = await audited(a_task("a"))
    (task,) = report.tasks
    assert task.accepted is True, task.reason
    assert task.reason == "every gate passed but G4-controls, which was not run: no controls are asked for"
    assert Gate.ALTERNATIVE not in {gate.gate for gate in task.skipped}, "an audit has no model"


async def test_an_accepted_task_says_that_every_gate_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def passes(_: object) -> GateResult:
        return GateResult(gate=Gate.CONTROLS, passed=True, runs=1, evidence="1 of 1 refused")

    monkeypatch.setitem(CHECKS, Gate.CONTROLS, passes)
    report, _, _ = await audited(a_task("a"))
    assert (report.tasks[0].accepted, report.tasks[0].reason) == (True, "every gate passed")


async def who_solves_where(task: Loaded, user: str, workdir: str) -> tuple[str, str]:
    def build(request: BuildRequest) -> BuildResult:
        return always_builds(request).model_copy(update={"user": user, "workdir": workdir})

    _, _, sandbox = await audited(task, build=build)
    commands = [command for container in sandbox.opened for command in container.commands]
    (solved,) = {(command.user, command.workdir) for command in commands if "solve.sh" in command.script}
    return solved


@pytest.mark.parametrize(
    ("image", "wanted"),
    [(("worker:staff", "/srv"), ("worker", "/srv")), (("1000", ""), ("1000", "/")), (("", ""), ("root", "/"))],
)
async def test_who_solves_and_where_is_what_the_built_image_says(
    image: tuple[str, str], wanted: tuple[str, str]
) -> None:
    assert await who_solves_where(a_task("a"), *image) == wanted


async def test_what_a_task_declares_of_user_and_place_wins_over_its_image() -> None:
    assert await who_solves_where(replace(a_task("a"), user="me", workdir="/w"), "worker", "/srv") == ("me", "/w")


async def test_trouble_of_the_build_is_no_verdict() -> None:
    def gone(request: BuildRequest) -> BuildResult:
        raise InfrastructureError("no space left")

    report, _, _ = await audited(a_task("a"), build=gone)
    assert report.tasks[0].accepted is None and "no space left" in report.tasks[0].reason


async def test_an_image_that_does_not_build_is_the_environments_fault() -> None:
    def broken(request: BuildRequest) -> BuildResult:
        return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log="Step 1\nmake: no rule\n", seconds=1)

    report, seen, sandbox = await audited(a_task("a"), build=broken)
    (task,) = report.tasks
    assert (task.accepted, task.component) == (False, Component.ENVIRONMENT)
    assert "make: no rule" in task.reason and not sandbox.opened
    assert "a G1-build False" in seen.lines


@pytest.mark.parametrize(
    "said",
    [
        "Temporary failure resolving 'mirror.example.org'",
        "curl: (6) Could not resolve host: x",
        "[Errno 101] Network is unreachable",
    ],
)
async def test_a_build_without_network_is_no_verdict(said: str) -> None:
    def offline(request: BuildRequest) -> BuildResult:
        return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log=f"{said}\nnon-zero code: 100", seconds=1)

    report, _, _ = await audited(a_task("a"), build=offline)
    assert report.tasks[0].accepted is None and report.tasks[0].component is None
    assert "network" in report.tasks[0].reason


async def test_faults_of_form_are_findings_of_the_static_gate_and_nothing_is_run() -> None:
    faults = (Fault(Component.VERIFIER, "tests/test.sh is missing"), Fault(Component.TASK, "no name"))
    report, _, sandbox = await audited(replace(a_task("a"), faults=faults, obstacles=("too large",)))
    (task,) = report.tasks
    assert (task.accepted, task.component) == (False, Component.VERIFIER)
    assert task.gates[0].gate is Gate.STATIC and task.gates[0].evidence.count("\n") == 1
    assert not sandbox.opened


async def test_what_is_not_supported_has_no_verdict() -> None:
    report, _, sandbox = await audited(replace(a_task("a"), obstacles=("GPUs are not supported",)))
    assert (report.tasks[0].accepted, report.tasks[0].reason) == (None, "GPUs are not supported")
    assert not sandbox.opened and not report.tasks[0].gates


async def test_nobody_gets_more_processors_than_there_are() -> None:
    _, _, sandbox = await audited(a_task("a"))
    assert sandbox.opened and {container.spec.limits.cpus for container in sandbox.opened} == {2}


async def test_container_starts_are_counted() -> None:
    report, _, sandbox = await audited(a_task("a"))
    assert report.tasks[0].container_starts == len(sandbox.opened) > 0
    assert report.summary().container_starts == len(sandbox.opened)
