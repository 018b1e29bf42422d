"""The bridge from asynchronous work to yielded events."""

import asyncio
import signal
from collections.abc import Iterator

import dagster as dg
import pytest

from assets.streaming import Event, Put, stream


def event(name: str) -> Event:
    return dg.AssetMaterialization(name)


def test_events_come_in_order_and_the_result_last() -> None:
    async def work(put: Put) -> str:
        for name in ("a", "b"):
            put(event(name))
            await asyncio.sleep(0)
        return "done"

    results = []

    def consume():  # type: ignore[no-untyped-def]
        results.append((yield from stream(work)))

    assert [found.asset_key.path[-1] for found in consume()] == ["a", "b"]
    assert results == ["done"]


def test_what_was_put_before_a_crash_is_still_yielded() -> None:
    async def work(put: Put) -> None:
        put(event("a"))
        raise ValueError("broken")

    events = stream(work)
    assert next(events).asset_key.path[-1] == "a"
    with pytest.raises(ValueError, match="broken"):
        next(events)


def test_stopping_early_cancels_all_tasks_and_waits_for_them() -> None:
    happened: list[str] = []

    async def hold(put: Put, name: str) -> None:
        try:
            put(event(name))
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            happened.append(name)

    async def work(put: Put) -> None:
        await asyncio.gather(hold(put, "a"), hold(put, "b"))

    events = stream(work)
    next(events)
    events.close()
    assert sorted(happened) == ["a", "b"]


class Interrupted(BaseException):
    """As Dagster's own, which no `except Exception` catches."""


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGTERM raises Interrupted, as in a run of Dagster's."""

    def handler(number: int, frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGTERM, handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("place", ["callback", "coroutine", "task"])
def test_an_interrupt_that_comes_while_the_loop_is_at_work_is_not_lost(interrupts: None, place: str) -> None:
    """asyncio logs what a callback raises and goes on, and gives what a task raises to whoever awaits it."""
    happened: list[str] = []

    async def hold() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            happened.append("given back")

    async def strike() -> None:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0)

    async def work(put: Put) -> None:
        if place == "callback":
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)
            await hold()
        elif place == "coroutine":
            await asyncio.gather(hold(), strike(), return_exceptions=True)
        else:
            struck = asyncio.create_task(strike())
            await hold()
            await struck

    with pytest.raises(Interrupted):
        next(stream(work))
    assert happened == ["given back"]
    with pytest.raises(Interrupted):  # whoever handled signals before does so again
        signal.raise_signal(signal.SIGTERM)
