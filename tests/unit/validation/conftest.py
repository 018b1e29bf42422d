"""A bundle small enough to read, and a sandbox whose solution and grading runs follow a script."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from facet_dagster.records.authoring import Execution, Solution, StateDiff, Verifier
from facet_dagster.records.container import Command, CommandResult, FileEntry
from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedState, ProbeResult
from facet_dagster.testing.examples import an_environment
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox

IMAGE = "facet-env:1"
TESTS = "def test_r1_total():\n    assert False\n"
Step = dict[str, Any] | CommandResult | Exception


def graded(
    reward: float | None, *tests: tuple[str, str, str], trouble: str | None = None, limit: str | None = None
) -> Step:
    """What one grading run leaves behind."""
    entries = [{"name": name, "outcome": outcome, "message": message} for name, outcome, message in tests]
    return {"results": {"trouble": trouble, "limit": limit, "tests": entries}, "reward": reward}


def result(exit_code: int = 0, output: str = "", limit: str | None = None) -> CommandResult:
    return CommandResult(exit_code=exit_code, output=output, seconds=0.1, limit=limit)


def scripted(*, solves: Sequence[Step] = (), grades: Sequence[Step] = ()) -> FakeSandbox:
    """A sandbox in which solve.sh and test.sh do what the scripts say, one entry per run."""
    solving, grading = iter(solves), iter(grades)

    def answer(container: FakeContainer, command: Command) -> CommandResult:
        if command.script == "/tests/test.sh":
            return _take(container, next(grading))
        if "solve.sh" in command.script:
            return _take(container, next(solving, result()))
        return result()

    return FakeSandbox(answer, {IMAGE: {}})


def _take(container: FakeContainer, step: Step) -> CommandResult:
    if isinstance(step, Exception):
        raise step
    if isinstance(step, CommandResult):
        return step
    container.files["/logs/verifier/results.json"] = json.dumps(step["results"]).encode()
    if step["reward"] is None:
        return result(3, "pytest said this")
    container.files["/logs/verifier/reward.json"] = json.dumps({"reward": step["reward"], "tests_total": 1}).encode()
    return result(0, "pytest said this")


@pytest.fixture
def environment() -> Environment:
    manifest = Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[])
    materials = Materials(
        apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
    )
    return an_environment(
        manifest=manifest,
        materials=materials,
        dockerfile="FROM base",
        image=IMAGE,
        probes=(ProbeResult(id="P1", description="input is there", ok=True, output=""),),
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
    )


@pytest.fixture
def solution() -> Solution:
    ran = Execution(exit_code=0, output="", seconds=0.1, limit=None, diff=StateDiff(files=()))
    return Solution(script="echo 3 > /app/total", workflow="adds up", execution=ran)


@pytest.fixture
def verifier() -> Verifier:
    copies = (FileEntry.of("/app/data/in.bin", b"\xff\x00", 0o600),)
    return Verifier(test_file=TESTS, e0_copies=copies, tests=("test_r1_total",))


@pytest.fixture
def tools() -> dict[str, Any]:
    """The helpers of this file, for tests."""
    return {"graded": graded, "result": result, "sandbox": scripted}
