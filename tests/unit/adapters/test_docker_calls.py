"""Errors of the engine in our terms, and work that a cancellation must not cut short."""

import asyncio

import pytest
from docker.errors import APIError, DockerException

from facet_dagster.adapters.docker_calls import EngineCalls, engine_errors
from facet_dagster.errors import EngineUnavailable, InfrastructureError
from facet_dagster.side_by_side import uninterrupted


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (APIError("boom", explanation="first line\nsecond line"), InfrastructureError),
        (DockerException("Connection aborted.", FileNotFoundError(2, "x")), EngineUnavailable),
        (PermissionError(13, "Permission denied"), EngineUnavailable),
        (TimeoutError("too slow"), InfrastructureError),
        (EngineUnavailable("already said"), EngineUnavailable),
    ],
)
def test_every_error_of_the_engine_is_ours_and_one_line(raised: Exception, expected: type[Exception]) -> None:
    with pytest.raises(InfrastructureError) as caught, engine_errors("do it"):
        raise raised
    assert type(caught.value) is expected
    assert "\n" not in str(caught.value)


def test_our_own_bugs_stay_visible() -> None:
    with pytest.raises(KeyError), engine_errors("do it"):
        raise KeyError("a bug")


async def test_cancellation_waits_for_the_work() -> None:
    steps: list[str] = []

    async def work() -> None:
        steps.append("begun")
        await asyncio.sleep(0.05)
        steps.append("done")

    task = asyncio.create_task(uninterrupted(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["begun", "done"]


async def test_a_failure_of_the_work_is_passed_on() -> None:
    async def work() -> int:
        raise InfrastructureError("broken")

    with pytest.raises(InfrastructureError, match="broken"):
        await uninterrupted(work())


async def test_streams_do_not_starve_calls() -> None:
    calls = EngineCalls(short=1, streams=1)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stream() -> str:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        return "stream"

    waiting = asyncio.ensure_future(calls.stream("read", stream))
    assert await calls.call("ask", lambda: "call") == "call"
    assert not waiting.done()
    release.set()
    assert await waiting == "stream"
