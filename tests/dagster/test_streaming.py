"""The bridge from asynchronous work to yielded events."""

import asyncio

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
