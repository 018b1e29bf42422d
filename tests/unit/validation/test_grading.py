"""Reading a grading run back: rewards, trouble, limits, and what is put into the container."""

from collections.abc import Callable
from typing import Any

import pytest

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.container import Limits
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.validation import GradeReport
from facet_dagster.validation.grade import grade
from facet_dagster.validation.kit import contents_of_tests


@pytest.fixture
def run(verifier: Verifier, tools: dict[str, Any]) -> Callable[..., Any]:
    async def graded_once(step: Any) -> tuple[GradeReport, Any]:
        sandbox = tools["sandbox"](grades=[step])
        report = await grade("facet-env:1", "s1", verifier, sandbox=sandbox, limits=Limits(cpus=0.5), timeout_s=20)
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
    assert (grading.user, grading.env) == ("root", {"FACET_GRADE_TIMEOUT": "20"})
    assert grading.timeout_s > 20  # the tests' own limit speaks first


async def test_places_are_cleared_before_the_tests_come_in(run: Callable[..., Any], tools: dict[str, Any]) -> None:
    _, sandbox = await run(tools["graded"](1.0, ("test_r1_a", "passed", "")))
    container = sandbox.opened[0]
    waiting, clearing, grading = container.commands
    assert waiting == wait_for_services()
    assert clearing.user == "root"
    assert "rm -rf /tests /logs/verifier" in clearing.script
    assert "/tests/e0/app/data" in clearing.script
    assert grading.script == "/tests/test.sh"
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
