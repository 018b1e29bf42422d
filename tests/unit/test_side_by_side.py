"""Works side by side: as many as there is room for, with what comes of them as if it had been one after the other."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster import side_by_side
from facet_dagster.side_by_side import as_room_allows


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "LOOK_S", 0.001)


class Works:
    """Works that end when they are told to, and how many are under way."""

    def __init__(self, cpus: int) -> None:
        self.cpus = cpus
        self.ends: list[asyncio.Future[int]] = []
        self.under_way = self.most = self.closed = 0
        self.changed = asyncio.Event()

    def has_room(self) -> bool:
        return self.under_way < self.cpus

    async def work(self) -> int:
        end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.ends.append(end)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.changed.set()
        try:
            return await end
        finally:
            self.under_way -= 1
            await asyncio.sleep(0)  # as a container is removed
            self.closed += 1

    async def begun(self, number: int) -> None:
        async with asyncio.timeout(5):
            while len(self.ends) < number:
                self.changed.clear()
                await self.changed.wait()


async def test_without_room_one_follows_the_other() -> None:
    works, kept = Works(cpus=0), list[int]()
    whole = asyncio.ensure_future(as_room_allows([works.work] * 3, works.has_room, kept))
    for number in range(3):
        await works.begun(number + 1)
        await asyncio.sleep(0.02)
        assert len(works.ends) == number + 1
        works.ends[number].set_result(number)
    await whole
    assert kept == [0, 1, 2] and works.most == 1


async def test_with_room_as_many_as_it_allows_in_their_order() -> None:
    works, kept = Works(cpus=2), list[int]()
    whole = asyncio.ensure_future(as_room_allows([works.work] * 4, works.has_room, kept))
    await works.begun(2)
    await asyncio.sleep(0.02)
    assert len(works.ends) == 2
    works.ends[1].set_result(1)
    await works.begun(3)
    works.ends[2].set_result(2)
    await works.begun(4)
    works.ends[3].set_result(3)
    works.ends[0].set_result(0)
    await whole
    assert kept == [0, 1, 2, 3] and works.most == 2


async def test_a_failure_is_raised_when_all_that_was_begun_has_ended() -> None:
    works, kept = Works(cpus=3), list[int]()
    whole = asyncio.ensure_future(as_room_allows([works.work] * 5, works.has_room, kept))
    await works.begun(3)
    works.ends[1].set_exception(ValueError("second"))
    await asyncio.sleep(0.02)
    assert not whole.done() and len(works.ends) == 3, "nothing is begun after a failure"
    works.ends[2].set_result(2)
    works.ends[0].set_result(0)
    with pytest.raises(ValueError, match="second"):
        await whole
    assert kept == [0] and works.under_way == 0


async def test_a_cancellation_ends_all_of_them_first() -> None:
    works = Works(cpus=3)
    whole = asyncio.ensure_future(as_room_allows([works.work] * 5, works.has_room, list[int]()))
    await works.begun(3)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert (works.under_way, works.closed, len(works.ends)) == (0, 3, 3)


async def test_no_work_is_no_result() -> None:
    kept: list[int] = []
    await as_room_allows([], lambda: True, kept)
    assert kept == []


@given(
    results=st.lists(st.sampled_from([0, 1, None]), max_size=6),
    delays=st.lists(st.sampled_from([0.0, 0.002]), min_size=6, max_size=6),
    room=st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_what_comes_of_them_is_what_would_have_come_one_after_the_other(
    results: list[int | None], delays: list[float], room: list[bool]
) -> None:
    """A 1 decides, a None fails."""

    def works() -> list[Callable[[], Awaitable[int]]]:
        return [lambda n=n: work(n) for n in range(len(results))]

    async def work(number: int) -> int:
        await asyncio.sleep(delays[number])
        result = results[number]
        if result is None:
            raise ValueError(number)
        return result

    def outcome(has_room: Callable[[], bool]) -> tuple[list[int], str]:
        kept: list[int] = []
        try:
            asyncio.run(as_room_allows(works(), has_room, kept, lambda result: result == 1))
        except ValueError as error:
            return kept, str(error)
        return kept, ""

    answers = iter(room)
    assert outcome(lambda: next(answers, False)) == outcome(lambda: False)
