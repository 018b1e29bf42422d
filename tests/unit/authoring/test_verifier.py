"""The verifier is written with a look at the final state and gets the originals of what the task edits."""

from typing import Any

import pytest

from facet_dagster.authoring.originals import copy_originals, describe
from facet_dagster.authoring.verifier import with_e0_copies, write_verifier
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.authoring import FileChange, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.container import Command, CommandResult, ContainerSpec, Limits
from facet_dagster.records.environment import Environment, ObservedFile, ObservedState
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.testing.scripted_model import ScriptedModel

TESTS = """
from support import E0


def test_r1_merged():
    assert (E0 / "app/in/a.csv").is_file()


def test_r2_lines():
    assert True
"""
IMAGE = {"facet-env:1": {"/app/in/a.csv": b"id\n\n7\n", "/app/in/b.csv": b"id\n8\n"}}


def state(*files: ObservedFile) -> ObservedState:
    return ObservedState(files=files, packages=(), tools={}, users=(), listening=())


def solving(container: FakeContainer, command: Command) -> CommandResult:
    """solve.sh edits a.csv in place."""
    if "solve.sh" in command.script:
        container.files |= {"/app/in/a.csv": b"id\n7\n", "/app/merged.csv": b"id\n7\n8\n"}
    return CommandResult(exit_code=0, output=f"ran {command.script}", seconds=0.0)


@pytest.fixture
def sandbox() -> FakeSandbox:
    return FakeSandbox(solving, IMAGE)


@pytest.fixture
def bundle(
    scenario: Scenario, environment: Environment, instruction: Instruction, solution: Solution
) -> tuple[Any, ...]:
    return scenario, environment, instruction, solution


async def write(model: ScriptedModel, sandbox: FakeSandbox, bundle: tuple[Any, ...]) -> Verifier | Rejected:
    return await write_verifier(
        "orders", *bundle, asker=Asker(model), sandbox=sandbox, limits=Limits(), solve_timeout_s=90
    )


async def test_a_verifier_gets_the_originals(sandbox: FakeSandbox, bundle: tuple[Any, ...]) -> None:
    model = ScriptedModel({"authoring.verifier": [{"look": ["cat /app/merged.csv"]}, {"test_file": TESTS}]})
    verifier = await write(model, sandbox, bundle)
    assert isinstance(verifier, Verifier)
    assert verifier.tests == ("test_r1_merged", "test_r2_lines")
    assert [(copy.path, copy.content) for copy in verifier.e0_copies] == [
        ("/app/in/a.csv", "id\n\n7\n"),
        ("/app/in/b.csv", "id\n8\n"),
    ]
    container = sandbox.opened[0]
    assert container.files["/tests/e0/app/in/a.csv"] == b"id\n\n7\n"
    assert container.files["/app/merged.csv"] == b"id\n7\n8\n"
    look = next(c for c in container.commands if c.script == "cat /app/merged.csv")
    assert look.user == "root"
    assert sandbox.running == []


async def test_the_author_sees_what_the_tests_must_rest_on(sandbox: FakeSandbox, bundle: tuple[Any, ...]) -> None:
    model = ScriptedModel({"authoring.verifier": [{"test_file": TESTS}]})
    await write(model, sandbox, bundle)
    prompt = model.requests[0].messages[0].content
    for shown in ("R2: empty lines are gone", "R1: into /app/merged.csv", "added /app/merged.csv", "merge", "E0"):
        assert shown in prompt


async def test_a_file_that_breaks_the_rules_is_corrected_once(sandbox: FakeSandbox, bundle: tuple[Any, ...]) -> None:
    bad = TESTS.replace("test_r2_lines", "test_lines")
    model = ScriptedModel({"authoring.verifier": [{"test_file": bad}, {"test_file": bad}]})
    rejected = await write(model, sandbox, bundle)
    assert isinstance(rejected, Rejected)
    assert (rejected.component, rejected.reason) == (Component.VERIFIER, Reason.ANSWER_UNUSABLE)
    assert "no test cites R2" in model.requests[1].messages[-1].content


async def test_a_solution_that_fails_the_second_time_is_unstable(bundle: tuple[Any, ...]) -> None:
    def failing(_: FakeContainer, command: Command) -> CommandResult:
        return CommandResult(exit_code=int("solve.sh" in command.script), output="", seconds=0.0)

    model = ScriptedModel({})
    rejected = await write(model, FakeSandbox(failing, IMAGE), bundle)
    assert isinstance(rejected, Rejected)
    assert (rejected.component, rejected.reason) == (Component.SOLUTION, Reason.UNSTABLE)
    assert model.requests == []


async def test_the_same_tests_get_new_originals(
    sandbox: FakeSandbox, environment: Environment, solution: Solution
) -> None:
    verifier = await with_e0_copies("orders", TESTS, environment, solution, sandbox=sandbox, limits=Limits())
    assert verifier.test_file == TESTS
    assert [c.path for c in verifier.e0_copies] == ["/app/in/a.csv", "/app/in/b.csv"]


async def test_originals_stay_within_bounds() -> None:
    sizes = {"/app/a": 900_000, "/app/b": 900_000, "/app/c": 900_000, "/app/d": 900_000, "/app/e": 900_000}
    files = {path: b"x" * size for path, size in sizes.items()} | {"/app/huge": b"x" * 1_000_001, "/app/raw": b"\xff"}
    seen = [
        ObservedFile(path=path, type="file", size=len(data), mode="0644", owner="agent") for path, data in files.items()
    ]
    changes = tuple(FileChange(path=file.path, change="removed", before=file) for file in seen)
    sandbox = FakeSandbox(solving, {"i": files})
    async with sandbox.open(ContainerSpec(image="i", seed="s", purpose="p")) as container:
        copies = await copy_originals(container, state(*seen), StateDiff(files=changes))
    assert [copy.path for copy in copies] == ["/app/a", "/app/b", "/app/c", "/app/d", "/app/raw"]
    assert copies[-1].data() == b"\xff"
    assert describe(copies, state(*seen)).endswith("without git's own folders, /app/e, /app/huge")


async def test_originals_of_what_the_task_edits_come_first_and_git_folders_stay_out() -> None:
    files = {"/app/in": b"x" * 10, "/app/.git/HEAD": b"ref", "/etc/motd": b"hello", "/srv/conf": b"a=1"}
    seen = [
        ObservedFile(path=path, type="file", size=len(data), mode="0644", owner="agent") for path, data in files.items()
    ]
    edited = FileChange(path="/srv/conf", change="changed", before=seen[-1])
    sandbox = FakeSandbox(solving, {"i": files})
    async with sandbox.open(ContainerSpec(image="i", seed="s", purpose="p")) as container:
        copies = await copy_originals(container, state(*seen), StateDiff(files=(edited,)))
    assert [copy.path for copy in copies] == ["/app/in", "/srv/conf"]
    assert (
        describe(copies, state(*seen))
        == "the files that stood below /app, without git's own folders; beside them /srv/conf"
    )
