"""One grading run: a fresh container, the tests copied in, the reward read back.

What a run means for a task is decided by the gates; how pytest's report becomes a reward stands in
task_template/tests/grade.py, which exported tasks share; how a result is read in reading.py.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Container, Sandbox
from facet_dagster.records.container import Command, CommandResult, ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.validation import GradeReport, TestResult
from facet_dagster.validation.reading import Results, read_ctrf, read_junit, read_results, read_reward

TESTS = "/tests"
LOGS = "/logs/verifier"
TEST_SCRIPT = f"{TESTS}/test.sh"
JUNIT = f"{LOGS}/facet-junit.xml"
RESULT_BYTES = 2_000_000
OUTPUT = 20_000  # characters kept of what the run printed
# A reward of an earlier attempt, told from what test.sh writes by its spelling.
PLANTED = {"reward.json": b'{"reward": 1, "planted": 1}', "reward.txt": b"1.0000"}
GRACE_S = 30.0  # beyond the time for the tests, to start pytest and to write down that the time was over
# A report that a foreign test.sh asks for by itself; its own option wins over what it is asked for.
_OWN_JUNIT = re.compile(r"--junit-?xml[= ]\"?(/[\w./-]+)")


@dataclass(frozen=True)
class _Left:
    """What a run left in its folder: results of ours, or the reward with what else tells of single tests."""

    own: Results | None
    reward: float | str | None
    tests: tuple[TestResult, ...] | None


async def grade(
    image: str,
    name: str,
    tests: Sequence[FileEntry],
    *,
    sandbox: Sandbox,
    limits: Limits,
    timeout_s: float,
    workdir: str = "/",
) -> GradeReport:
    """Grade the file system of an image, without network, out of reach of whatever ran in it before.

    `tests` are absolute and below /tests; `timeout_s` bounds them. Tests that cannot run to a verdict give a report
    without reward; raises InfrastructureError when the engine fails.
    """
    spec = ContainerSpec(image=image, seed=name, purpose="grade", network=False, limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        return await grade_in(container, tests, timeout_s=timeout_s, workdir=workdir)


async def grade_in(
    container: Container,
    tests: Sequence[FileEntry],
    *,
    timeout_s: float,
    workdir: str = "/",
    planted: bool = False,
    one_is_enough: bool = False,
) -> GradeReport:
    """Grade a running container in which nothing but services runs.

    With `planted` a reward lies there before the tests run; it counts only where they leave it.
    `one_is_enough`: where only the reward counts, tests of ours may stop at the first that fails; those of others are
    not told, since they may give parts.
    """
    prepared = await _place(container, tests)
    if prepared.ok and planted:
        await container.put([FileEntry.of(f"{LOGS}/{name}", data) for name, data in PLANTED.items()], owner="root")
    if not prepared.ok:
        await _still_there(container)
        return _without_reward(prepared, "the tests could not be put into the container")
    # A folder that is gone must not keep the tests from saying so.
    script = f"cd {shlex.quote(workdir)} 2>/dev/null; exec {TEST_SCRIPT}"
    env = {"FACET_GRADE_TIMEOUT": f"{timeout_s:g}", "PYTEST_ADDOPTS": f"--junitxml={JUNIT}"}
    if one_is_enough:
        env["FACET_GRADE_FIRST_FAILURE"] = "1"
    run = await container.run(Command(script=script, user="root", workdir="/", timeout_s=timeout_s + GRACE_S, env=env))
    if run.limit is not None:
        return _without_reward(run, f"the grading was cut short: {run.limit}")
    return _report(run, await _left(container, tests, planted=planted))


async def _still_there(container: Container) -> None:
    """Raise InfrastructureError where nothing runs in the container any more: it was taken away, not cheated."""
    alive = await container.run(Command(script="true", user="root", workdir="/"))
    if not alive.ok:
        raise InfrastructureError("the container of a grading run is gone")


async def _place(container: Container, tests: Sequence[FileEntry]) -> CommandResult:
    """Clear what an earlier run or the image left in the graders' places, then copy the tests in, read-only."""
    folders = sorted({str(PurePosixPath(file.path).parent) for file in tests})
    made = " ".join(shlex.quote(folder) for folder in folders)
    # /logs itself may have been replaced by a link or a file.
    real = "if [ -L /logs ] || [ ! -d /logs ]; then rm -rf /logs; fi"
    script = f"umask 022; {real}; rm -rf {TESTS} {LOGS} && mkdir -p /logs {made} && mkdir -m 700 {LOGS}"
    prepared = await container.run(Command(script=script, user="root", workdir="/"))
    if prepared.ok:
        await container.put([_read_only(file) for file in tests], owner="root")
    return prepared


def _read_only(file: FileEntry) -> FileEntry:
    mode = 0o555 if file.mode & 0o111 or file.path.endswith(".sh") else 0o444
    return file.model_copy(update={"mode": mode})


async def _left(container: Container, tests: Sequence[FileEntry], *, planted: bool) -> _Left:
    async def read(path: str) -> bytes | None:
        return await container.read(path, max_bytes=RESULT_BYTES)

    own = read_results(await read(f"{LOGS}/results.json"))
    found_rewards = {name: await read(f"{LOGS}/{name}") for name in PLANTED}
    written = {name: data for name, data in found_rewards.items() if data not in (None, PLANTED[name])}
    if planted and written:  # what was planted does not stand in the way of what the tests say
        found_rewards = {name: written.get(name) for name in PLANTED}
    reward = read_reward(found_rewards["reward.json"], found_rewards["reward.txt"])
    if own is not None:
        return _Left(own, reward, own.tests)
    script = next((file.data().decode(errors="replace") for file in tests if file.path == TEST_SCRIPT), "")
    for path in dict.fromkeys((JUNIT, *_OWN_JUNIT.findall(script))):
        found = read_junit(await read(path))
        if found is not None:
            return _Left(None, reward, found)
    return _Left(None, reward, read_ctrf(await read(f"{LOGS}/ctrf.json")))


def _report(run: CommandResult, left: _Left) -> GradeReport:
    """Results of ours carry their own word on whether there is a verdict; of others the reward decides."""
    tests, known, own = left.tests or (), left.tests is not None, left.own
    trouble = own.trouble if own else None
    if not isinstance(left.reward, float):
        nothing = f"the grading ended with exit code {run.exit_code} and wrote no reward"
        trouble = trouble or left.reward or nothing
    if trouble is not None or not isinstance(left.reward, float):
        limit = own.limit if own else None
        return _without_reward(run, trouble or "no reward", tests=tests, limit=limit, per_test=known)
    return GradeReport(
        reward=left.reward,
        tests=tests,
        executed=_executed(tests),
        seconds=run.seconds,
        output=run.output[-OUTPUT:],
        per_test=known,
    )


def _without_reward(
    run: CommandResult,
    trouble: str,
    *,
    tests: tuple[TestResult, ...] = (),
    limit: str | None = None,
    per_test: bool = True,
) -> GradeReport:
    return GradeReport(
        reward=None,
        tests=tests,
        executed=_executed(tests),
        seconds=run.seconds,
        output=run.output[-OUTPUT:],
        trouble=trouble,
        limit=limit or run.limit,
        per_test=per_test,
    )


def _executed(tests: tuple[TestResult, ...]) -> int:
    return sum(test.outcome in {"passed", "failed"} for test in tests)
