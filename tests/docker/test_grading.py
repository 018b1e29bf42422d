"""Grading and the gates on a real engine: rewards, trouble, limits, and an agent's leftovers that must not matter."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.environment.observe import difference, observe
from facet_dagster.records.authoring import StateDiff, Verifier
from facet_dagster.records.container import Command, ContainerSpec, FileEntry, Limits
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GradeReport, ValidationReport
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.grade import grade
from facet_dagster.validation.kit import contents_of_tests
from facet_dagster.validation.validate import validate

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mb=256, pids=64)
TESTS = """\
from pathlib import Path

from support import E0, run_as_agent


def test_r1_doubled():
    out = Path("/app/out.txt")
    assert out.exists(), "/app/out.txt is missing"
    assert out.read_text().strip() == "42"


def test_r2_program_runs_as_the_agent():
    done = run_as_agent(["bash", "/app/double.sh"], stdin=(E0 / "app/in.txt").read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["42", "agent"]
"""
SOLVE = """\
set -e
echo 'read n; echo $((n * 2)); id -un' > double.sh
echo 21 | bash double.sh | head -1 > out.txt
: > in.txt
"""
INPUT = FileEntry(path="/app/in.txt", content="21\n")


def verifier(tests: str = TESTS) -> Verifier:
    return Verifier(test_file=tests, e0_copies=(INPUT,), tests=("test_r1_doubled",))


@pytest.fixture
async def sandbox(
    engine: DockerClient, run_id: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[DockerSandbox]:
    yield DockerSandbox(engine, run_id=run_id)
    assert_nothing_left(engine, run_id)


@pytest.fixture
async def freeze(sandbox: DockerSandbox, base_image: str) -> AsyncIterator[Callable[[str], Awaitable[str]]]:
    """Runs a script as the agent in a fresh container and keeps what it left as an image."""
    images: list[str] = []

    async def left_by(script: str) -> str:
        async with sandbox.open(ContainerSpec(image=base_image, seed="g", purpose="test", limits=LIMITS)) as container:
            await container.put([INPUT], owner="agent")
            done = await container.run(Command(script=script))
            assert done.ok, done.output
            images.append(await container.freeze())
        return images[-1]

    yield left_by
    for image in images:
        await sandbox.discard(image)


async def graded(sandbox: DockerSandbox, image: str, tests: str = TESTS, timeout_s: float = 120) -> GradeReport:
    files = contents_of_tests(verifier(tests))
    return await grade(image, "g", files, sandbox=sandbox, limits=LIMITS, timeout_s=timeout_s)


async def validated(
    sandbox: DockerSandbox, image: str, script: str, *, repeats: int, solve_timeout_s: float = 20
) -> ValidationReport:
    candidate = Candidate(
        name="g",
        image=image,
        dockerfile="",
        context=(),
        instruction="",
        solution=(FileEntry(path="/solution/solve.sh", content=script),),
        tests=contents_of_tests(verifier()),
        limits=LIMITS,
        solve_timeout_s=solve_timeout_s,
        grade_timeout_s=120,
        diff=StateDiff(files=()),
    )
    return await validate(
        candidate,
        bundle="b",
        sandbox=sandbox,
        repeats=repeats,
        controls_max=0,
        observe=observe,
        difference=difference,
        gates=(Gate.BUILD, Gate.NOOP, Gate.ORACLE),
    )


async def test_a_sound_bundle_passes_and_leaves_nothing(sandbox: DockerSandbox, base_image: str) -> None:
    report = await validated(sandbox, base_image, SOLVE, repeats=2)
    assert report.verdict is True, report.gates[-1].evidence
    assert [r.reward for r in (*report.noop_runs, *report.oracle_runs)] == [0.0, 0.0, 1.0, 1.0]
    assert "/app/out.txt is missing" in report.noop_runs[0].tests[0].message


@pytest.mark.parametrize(
    ("script", "reason", "component"),
    [
        ("echo 41 > out.txt", Reason.ORACLE_FAILED, None),
        ("echo half >&2; exit 7", Reason.SOLUTION_FAILED, Component.SOLUTION),
        ("sleep 600", Reason.SOLUTION_LIMIT, Component.SOLUTION),
    ],
)
async def test_a_bad_solution_is_named(
    sandbox: DockerSandbox, base_image: str, script: str, reason: Reason, component: Component | None
) -> None:
    report = await validated(sandbox, base_image, script, repeats=1, solve_timeout_s=5)
    gate = report.failed_gate()
    assert report.verdict is False and gate is not None
    assert (gate.gate, gate.reason, gate.component) == (Gate.ORACLE, reason, component)


@pytest.mark.parametrize(
    ("tests", "limit"),
    [
        ("import nowhere\ndef test_r1_a(): pass\n", None),
        ("import time\ndef test_r1_a(): time.sleep(600)\n", "time"),
    ],
    ids=["cannot-be-collected", "hangs"],
)
async def test_tests_that_cannot_run_are_no_zero(
    sandbox: DockerSandbox, base_image: str, tests: str, limit: str | None
) -> None:
    report = await graded(sandbox, base_image, tests, timeout_s=5)
    assert (report.reward, report.executed, report.limit) == (None, 0, limit)
    assert report.trouble


async def test_leftovers_of_the_agent_do_not_reach_the_grader(
    sandbox: DockerSandbox, freeze: Callable[[str], Awaitable[str]]
) -> None:
    image = await freeze(
        "mkdir -p ~/.local/bin ~/bin; for d in ~/.local/bin ~/bin /app; do echo 'exit 0' > $d/python3; "
        "chmod +x $d/python3; done; for f in conftest sitecustomize pytest support json; do echo 'raise SystemExit(0)' "
        "> /app/$f.py; done; mkdir -p /tmp/tests /logs/verifier 2>/dev/null; echo 1 > /logs/verifier/reward.txt; "
        "(while :; do echo 1 > /logs/verifier/reward.txt; sleep 1; done) >/dev/null 2>&1 & true"
    )
    report = await graded(sandbox, image)
    assert report.reward == 0.0
    assert report.executed == 2


async def test_the_agent_can_neither_change_tests_nor_rewards(sandbox: DockerSandbox, base_image: str) -> None:
    tests = """\
from support import run_as_agent


def test_r1_read_only():
    script = '''
    for f in /tests/test_outputs.py /tests/grade.py /tests/test.sh /tests/e0/app/in.txt /tests/new /tests/e0/app/new \\
             /logs/verifier/reward.json; do (echo 1 > $f) 2>/dev/null && echo "wrote $f"; done
    ls /logs/verifier 2>/dev/null && echo listed
    exit 0
    '''
    done = run_as_agent(["bash", "-c", script])
    assert (done.returncode, done.stdout) == (0, "")
"""
    report = await graded(sandbox, base_image, tests)
    assert report.reward == 1.0, report.tests


FOREIGN = """\
#!/bin/bash
python3 -m pytest -q test_outputs.py /tests/test_outputs.py
if [ $? -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


@pytest.mark.parametrize(
    ("script", "reward", "outcomes"),
    [
        (FOREIGN.replace(" test_outputs.py", ""), 0.0, ["failed", "passed"]),
        (FOREIGN.replace(" test_outputs.py", " --junitxml=/logs/verifier/own.xml"), 0.0, ["failed", "passed"]),
        ('#!/bin/bash\necho \'{"reward": 0.5, "checks": 3}\' > /logs/verifier/reward.json\nexit 7\n', 0.5, []),
        ("#!/bin/bash\nexit 1\n", None, []),
    ],
    ids=["pytest", "own-report", "reward-only", "nothing"],
)
async def test_a_foreign_test_script_is_read_as_far_as_it_tells(
    sandbox: DockerSandbox, base_image: str, script: str, reward: float | None, outcomes: list[str]
) -> None:
    tests = "from pathlib import Path\ndef test_a(): assert Path('o').exists()\n"
    tests += "def test_b(): assert str(Path.cwd()) == '/app'\n"
    files = [FileEntry(path="/tests/test.sh", content=script), FileEntry(path="/tests/test_outputs.py", content=tests)]
    report = await grade(base_image, "g", files, sandbox=sandbox, limits=LIMITS, timeout_s=60, workdir="/app")
    assert (report.reward, [test.outcome for test in report.tests]) == (reward, outcomes)
    assert report.per_test is bool(outcomes)
