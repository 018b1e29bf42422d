"""A bundle small enough to read, and a sandbox whose solution and grading runs follow a script."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from facet_dagster.records.authoring import StateDiff, Verifier
from facet_dagster.records.container import Command, CommandResult, FileEntry, Limits
from facet_dagster.records.environment import ObservedState, Probe
from facet_dagster.records.scenario import Requirement
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.validation.candidate import Candidate, Contract
from facet_dagster.validation.kit import contents_of_tests

IMAGE = "facet-env:1"
TESTS = "from pathlib import Path\n\n\ndef test_r1_total():\n    assert Path('/app/total').read_text() == '3'\n"
Step = dict[str, Any] | CommandResult | Exception


def graded(
    reward: float | None, *tests: tuple[str, str, str], trouble: str | None = None, limit: str | None = None
) -> Step:
    """What one grading run leaves behind."""
    entries = [{"name": name, "outcome": outcome, "message": message} for name, outcome, message in tests]
    return {"results": {"trouble": trouble, "limit": limit, "tests": entries}, "reward": reward}


def result(exit_code: int = 0, output: str = "", limit: str | None = None) -> CommandResult:
    return CommandResult(exit_code=exit_code, output=output, seconds=0.1, limit=limit)


def scripted(*, solves: Sequence[Step] = (), grades: Sequence[Step] = (), probes: Sequence[Step] = ()) -> FakeSandbox:
    """A sandbox in which probes, solve.sh and test.sh do what the scripts say, one entry per run."""
    solving, grading, probing = iter(solves), iter(grades), iter(probes)

    def answer(container: FakeContainer, command: Command) -> CommandResult:
        if command.script.endswith("exec /tests/test.sh"):
            return _take(container, next(grading))
        if command.script.startswith("test -e"):
            return _take(container, next(probing, result()))
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
def verifier() -> Verifier:
    copies = (FileEntry.of("/app/data/in.bin", b"\xff\x00", 0o600),)
    return Verifier(test_file=TESTS, e0_copies=copies, tests=("test_r1_total",))


@pytest.fixture
def candidate(verifier: Verifier) -> Candidate:
    probe = Probe(id="P1", description="input is there", command=Command(script="test -e /app/data/in.bin"))
    requirement = Requirement(id="R1", text="the total is in /app/total", observable="/app/total")
    return Candidate(
        name="s1",
        image=IMAGE,
        dockerfile="ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY files/ /\n",
        context=(FileEntry(path="files/app/data/in.bin", content="12"),),
        instruction="Add up /app/data/in.bin and write the total to /app/total.",
        solution=(FileEntry(path="/solution/solve.sh", content="echo 3 > /app/total\n", mode=0o755),),
        tests=contents_of_tests(verifier),
        limits=Limits(),
        solve_timeout_s=50,
        grade_timeout_s=60,
        contract=Contract((requirement,), {"R1": "write the total to /app/total"}, verifier.requirement_table()),
        probes=(probe,),
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
        diff=StateDiff(files=()),
    )


@pytest.fixture
def tools() -> dict[str, Any]:
    """The helpers of this file, for tests."""
    return {"graded": graded, "result": result, "sandbox": scripted, "take": _take}
