"""One grading run: a fresh container from an image, the tests copied in, the reward read back.

What a run means for a bundle is decided in validate.py; how pytest's report becomes a reward stands in
task_template/tests/grade.py, which exported tasks share.
"""

import json
import shlex
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from facet_dagster.ports import Container, Sandbox
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.container import Command, CommandResult, ContainerSpec, Limits
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.validation import GradeReport, TestResult
from facet_dagster.validation.kit import TESTS, contents_of_tests

LOGS = "/logs/verifier"
RESULT_BYTES = 2_000_000
OUTPUT = 20_000  # characters kept of what the run printed
GRACE_S = 30.0  # beyond the time for the tests, to start pytest and to write down that the time was over


class _Results(BaseModel):
    """results.json as the skeleton's grade.py writes it."""

    trouble: str | None
    limit: Literal["time"] | None
    tests: tuple[TestResult, ...]


class _Reward(BaseModel):
    """reward.json: flat numbers, of which one is the reward."""

    reward: float = Field(strict=True, ge=0, le=1)


async def grade(
    image: str, seed_id: str, verifier: Verifier, *, sandbox: Sandbox, limits: Limits, timeout_s: float
) -> GradeReport:
    """Grade the file system of an image, without network, out of reach of whatever ran in it before.

    `timeout_s` bounds the tests. Tests that cannot run to a verdict give a report without reward; raises
    InfrastructureError when the engine fails.
    """
    spec = ContainerSpec(image=image, seed=seed_id, purpose="grade", network=False, limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        prepared = await _place(container, verifier)
        if not prepared.ok:
            return _without_reward(prepared, "the tests could not be put into the container")
        script = f"{TESTS}/test.sh"
        env = {"FACET_GRADE_TIMEOUT": f"{timeout_s:g}"}
        run = await container.run(
            Command(script=script, user="root", workdir="/", timeout_s=timeout_s + GRACE_S, env=env)
        )
        if run.limit is not None:
            return _without_reward(run, f"the grading was cut short: {run.limit}")
        results = await container.read(f"{LOGS}/results.json", max_bytes=RESULT_BYTES)
        reward = await container.read(f"{LOGS}/reward.json", max_bytes=RESULT_BYTES)
    return _report(run, results, reward)


async def _place(container: Container, verifier: Verifier) -> CommandResult:
    """Clear what an earlier run or the image left in the graders' places, then copy the tests in."""
    files = contents_of_tests(verifier)
    folders = sorted({str(PurePosixPath(file.path).parent) for file in files})
    made = " ".join(shlex.quote(folder) for folder in folders)
    script = f"umask 022 && rm -rf {TESTS} {LOGS} && mkdir -p {made}"
    prepared = await container.run(Command(script=script, user="root", workdir="/"))
    if prepared.ok:
        await container.put(files, owner="root")
    return prepared


def _report(run: CommandResult, results: bytes | None, reward: bytes | None) -> GradeReport:
    if results is None:
        return _without_reward(run, f"the grading ended with exit code {run.exit_code} and wrote no results")
    try:
        read = _Results.model_validate(json.loads(results))
        given = _Reward.model_validate(json.loads(reward)) if reward is not None else None
    except (ValueError, ValidationError) as error:
        return _without_reward(run, f"the grading's results cannot be read: {type(error).__name__}")
    if given is None or read.trouble is not None:
        trouble = read.trouble or "no reward was written"
        return _without_reward(run, trouble, tests=read.tests, limit=read.limit)
    return GradeReport(
        reward=given.reward,
        tests=read.tests,
        executed=_executed(read.tests),
        seconds=run.seconds,
        output=run.output[-OUTPUT:],
    )


def _without_reward(
    run: CommandResult, trouble: str, *, tests: tuple[TestResult, ...] = (), limit: str | None = None
) -> GradeReport:
    return GradeReport(
        reward=None,
        tests=tests,
        executed=_executed(tests),
        seconds=run.seconds,
        output=run.output[-OUTPUT:],
        trouble=trouble,
        limit=limit or run.limit,
    )


def _executed(tests: tuple[TestResult, ...]) -> int:
    return sum(test.outcome in {"passed", "failed"} for test in tests)
