"""Reading a grading run back: rewards, trouble, limits, and what is put into the container."""

from collections.abc import Callable
from typing import Any

import pytest

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.container import Command, CommandResult, ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.validation import GradeReport
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.grade import grade, grade_in
from facet_dagster.validation.kit import contents_of_tests


@pytest.fixture
def run(verifier: Verifier, tools: dict[str, Any]) -> Callable[..., Any]:
    async def graded_once(step: Any) -> tuple[GradeReport, Any]:
        sandbox = tools["sandbox"](grades=[step])
        tests = contents_of_tests(verifier)
        report = await grade("facet-env:1", "s1", tests, sandbox=sandbox, limits=Limits(cpus=0.5), timeout_s=20)
        return report, sandbox

    return graded_once


async def test_a_reward_comes_with_its_tests(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    step = tools["graded"](0.0, ("test_r1_a", "failed", "no"), ("test_r1_b", "passed", ""), ("test_r1_c", "error", "x"))
    report, sandbox = await run(step)
    assert (report.reward, report.executed, report.trouble, report.limit) == (0.0, 2, None, None)
    assert [t.outcome for t in report.tests] == ["failed", "passed", "error"]
    assert report.output == "pytest said this"
    spec = sandbox.opened[0].spec
    assert (spec.image, spec.network, spec.limits.cpus) == ("facet-env:1", False, 0.5)
    grading = sandbox.opened[0].commands[-1]
    assert (grading.user, grading.env["FACET_GRADE_TIMEOUT"]) == ("root", "20")
    assert grading.timeout_s > 20  # the tests' own limit speaks first


async def test_places_are_cleared_before_the_tests_come_in(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    _, sandbox = await run(tools["graded"](1.0, ("test_r1_a", "passed", "")))
    container = sandbox.opened[0]
    waiting, clearing, grading = container.commands
    assert waiting == wait_for_services()
    assert clearing.user == "root"
    assert "rm -rf /tests /logs/verifier" in clearing.script
    assert "/tests/e0/app/data" in clearing.script
    assert grading.script == "cd / 2>/dev/null; exec /tests/test.sh"
    assert container.files["/tests/e0/app/data/in.bin"] == b"\xff\x00"
    assert set(container.owners.values()) == {"root"}


async def test_trouble_is_no_zero(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(tools["graded"](None, ("test_outputs", "error", "boom"), trouble="could not be collected"))
    assert report.reward is None
    assert report.trouble == "could not be collected"
    assert report.tests[0].message == "boom"


async def test_time_over_inside_is_a_limit(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(tools["graded"](None, trouble="did not end", limit="time"))
    assert (report.reward, report.limit) == (None, "time")


async def test_a_cut_command_has_no_reward_whatever_was_written(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(tools["result"](-1, "…", "memory"))
    assert (report.reward, report.limit) == (None, "memory")
    assert report.trouble is not None and "memory" in report.trouble


async def test_nothing_written_is_trouble(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    report, _ = await run(tools["result"](127, "python3: not found"))
    assert report.reward is None
    assert report.trouble is not None and "127" in report.trouble


@pytest.mark.parametrize("reward", ["1", 7, True, [1]])
async def test_a_strange_reward_is_not_believed(run: Callable[..., Any], tools: dict[str, Any], reward: Any) -> None:
    step = tools["graded"](reward, ("test_r1_a", "passed", ""))
    report, _ = await run(step)
    assert report.reward is None
    assert report.trouble is not None


async def test_the_engine_failing_is_raised(run: Callable[..., Any]) -> None:
    with pytest.raises(InfrastructureError):
        await run(InfrastructureError("the daemon is gone"))


def test_the_tests_folder_is_read_only_and_holds_the_originals(verifier: Verifier) -> None:
    files = {file.path: file for file in contents_of_tests(verifier)}
    assert set(files) == {
        "/tests/test.sh",
        "/tests/grade.py",
        "/tests/support.py",
        "/tests/test_outputs.py",
        "/tests/e0/app/data/in.bin",
    }
    assert files["/tests/test.sh"].mode == 0o555
    assert {file.mode for path, file in files.items() if path != "/tests/test.sh"} == {0o444}
    assert files["/tests/e0/app/data/in.bin"].data() == b"\xff\x00"


FOREIGN = (FileEntry(path="/tests/test.sh", content="pytest --junitxml=/logs/verifier/own.xml /tests", mode=0o644),)
JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="test_x"/><testcase classname="b" name="test_x"><failure message="no"/></testcase>
<testcase classname="a" name="test_y"><error message="boom">trace</error></testcase>
</testsuite></testsuites>"""
CTRF = '{"results": {"tests": [{"name": "t", "status": "passed"}, {"name": "u", "status": "failed", "trace": "no"}]}}'


async def foreign(files: dict[str, str], exit_code: int = 0, *, planted: bool = False) -> GradeReport:
    """What is made of the files that a foreign test.sh left."""

    def answer(container: FakeContainer, command: Command) -> CommandResult:
        if "test.sh" in command.script:
            container.files |= {f"/logs/verifier/{name}": text.encode() for name, text in files.items()}
        return CommandResult(exit_code=exit_code if "test.sh" in command.script else 0, output="", seconds=0.1)

    sandbox = FakeSandbox(answer, {"image": {}})
    async with sandbox.open(ContainerSpec(image="image", seed="s1", purpose="grade")) as container:
        return await grade_in(container, FOREIGN, timeout_s=20, workdir="/a b", planted=planted)


@pytest.mark.parametrize(
    ("files", "reward"),
    [
        ({"reward.txt": "1\n"}, 1.0),
        ({"reward.txt": "0.25"}, 0.25),
        ({"reward.txt": "1", "reward.json": '{"reward": 0, "checks": 7}'}, 0.0),
        ({"reward.json": '{"score": 0.5}'}, 0.5),
        ({"reward.json": '{"a": 1, "b": 1}'}, None),
        ({"reward.json": "[1]"}, None),
        ({"reward.json": "[" * 100_000}, None),
        ({"reward.txt": "nan"}, None),
        ({"reward.txt": "yes"}, None),
        ({"reward.txt": "2"}, None),
        ({"results.json": '{"passed": 3}', "reward.txt": "1"}, 1.0),
        ({}, None),
    ],
)
async def test_rewards_of_others(files: dict[str, str], reward: float | None) -> None:
    report = await foreign(files, exit_code=3)
    assert (report.reward, report.per_test, report.tests) == (reward, False, ())
    assert (report.trouble is None) is (reward is not None)


@pytest.mark.parametrize(
    ("files", "reward"),
    [
        ({}, 1.0),  # what lay there was taken for a result
        ({"reward.txt": "0"}, 0.0),  # although the JSON that lies beside it would win
        ({"reward.json": '{"reward": 0}'}, 0.0),
        ({"reward.txt": "1"}, 1.0),
        ({"reward.txt": "nonsense"}, None),
    ],
)
async def test_a_planted_reward_counts_only_where_the_tests_leave_it(
    files: dict[str, str], reward: float | None
) -> None:
    assert (await foreign(files, planted=True)).reward == reward


@pytest.mark.parametrize("name", ["facet-junit.xml", "own.xml"])
async def test_the_report_of_pytest_tells_of_single_tests(name: str) -> None:
    report = await foreign({"reward.txt": "0", name: JUNIT})
    assert [(t.name, t.outcome, t.message) for t in report.tests] == [
        ("a::test_x", "passed", ""),
        ("b::test_x", "failed", "no"),
        ("test_y", "error", "boom"),
    ]
    assert (report.per_test, report.executed) == (True, 2)


async def test_ctrf_is_read_where_there_is_no_other_report() -> None:
    report = await foreign({"reward.txt": "0", "facet-junit.xml": "<broken", "ctrf.json": CTRF})
    assert [(t.name, t.outcome, t.message) for t in report.tests] == [("t", "passed", ""), ("u", "failed", "no")]


async def test_tests_are_read_only_and_start_in_the_tasks_folder() -> None:
    sandbox = FakeSandbox(lambda *_: CommandResult(exit_code=0, output="", seconds=0.1), {"image": {}})
    await grade("image", "s1", FOREIGN, sandbox=sandbox, limits=Limits(), timeout_s=20, workdir="/a b")
    container = sandbox.opened[0]
    assert container.modes["/tests/test.sh"] == 0o555
    assert container.commands[-1].script == "cd '/a b' 2>/dev/null; exec /tests/test.sh"
    assert container.commands[-1].env["PYTEST_ADDOPTS"] == "--junitxml=/logs/verifier/facet-junit.xml"


@pytest.mark.parametrize("alive", [True, False])
async def test_a_container_that_is_gone_is_trouble_and_not_the_tests_fault(
    candidate: Candidate, tools: dict[str, Any], alive: bool
) -> None:
    def answer(container: FakeContainer, command: Command) -> CommandResult:
        broken = "rm -rf /tests" in command.script or not alive
        return tools["result"](exit_code=1 if broken else 0)

    sandbox = FakeSandbox(answer, {candidate.image: {}})
    call = grade(
        candidate.image,
        "s1",
        candidate.tests,
        sandbox=sandbox,
        limits=candidate.limits,
        timeout_s=candidate.grade_timeout_s,
    )
    if alive:
        assert (await call).trouble == "the tests could not be put into the container"
    else:
        with pytest.raises(InfrastructureError):
            await call
