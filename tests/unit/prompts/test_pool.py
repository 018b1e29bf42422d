"""Bounded concurrency: few tasks for many items, clean stops, single refusals set aside."""

import asyncio

import pytest

from facet_dagster.errors import BudgetSpent, ModelRefused, ModelUnavailable, TextRefused
from facet_dagster.prompts.pool import LEAST_ROW, TEXT_ROW, Forbearance, each


async def test_results_keep_the_order_and_few_tasks_serve_many_items() -> None:
    most = 0

    async def work(item: int) -> int:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        await asyncio.sleep(0 if item % 3 else 0.001)
        return -item

    assert await each(range(500), work, 4) == [-n for n in range(500)]
    assert most <= 4 + 1  # and the test itself


async def test_a_spent_budget_starts_nothing_more() -> None:
    started: list[int] = []

    async def work(item: int) -> int:
        started.append(item)
        await asyncio.sleep(0)
        if item == 2:
            raise BudgetSpent("spent")
        return item

    with pytest.raises(BudgetSpent):
        await each(range(100), work, 4)
    assert len(started) <= 8


async def test_rare_trouble_stops_nothing_but_is_raised_in_the_end() -> None:
    done: list[int] = []

    async def work(item: int) -> int:
        if item % 10 == 0:
            raise ModelUnavailable(f"item {item}")
        done.append(item)
        return item

    with pytest.raises(ModelUnavailable, match="item 0"):
        await each(range(100), work, 2)
    assert len(done) == 90


async def refuse() -> int:
    raise ModelRefused("too long")


async def silence() -> int:
    raise ModelUnavailable("did not answer")


async def filtered() -> int:
    raise TextRefused("filtered")


async def answer() -> int:
    return 1


async def test_single_troubles_are_set_aside_and_a_row_of_them_is_trouble() -> None:
    forbearance = Forbearance(1)
    for _ in range(3):
        for _ in range(LEAST_ROW - 1):
            assert isinstance(await forbearance.answer(refuse()), ModelRefused)
        assert await forbearance.answer(answer()) == 1
    for _ in range(LEAST_ROW - 1):
        assert isinstance(await forbearance.answer(silence()), ModelUnavailable)
    with pytest.raises(ModelRefused):
        await forbearance.answer(refuse())


async def test_texts_that_are_refused_are_no_trouble_where_anything_was_answered() -> None:
    forbearance = Forbearance(1)
    assert await forbearance.answer(answer()) == 1
    for _ in range(2 * TEXT_ROW):
        assert isinstance(await forbearance.answer(filtered()), TextRefused)
    for _ in range(2):  # who refuses a text is there: silence before it is no row with silence after it
        for _ in range(LEAST_ROW - 1):
            assert isinstance(await forbearance.answer(silence()), ModelUnavailable)
        assert isinstance(await forbearance.answer(filtered()), TextRefused)
    forbearance.conclude()


async def test_texts_that_are_refused_from_the_first_on_are_trouble_when_they_are_many() -> None:
    forbearance = Forbearance(1)
    for _ in range(TEXT_ROW - 1):
        assert isinstance(await forbearance.answer(filtered()), TextRefused)
    with pytest.raises(TextRefused):
        await forbearance.answer(filtered())
    with pytest.raises(TextRefused):
        forbearance.conclude()


async def test_the_row_is_as_long_as_what_is_in_flight() -> None:
    forbearance = Forbearance(LEAST_ROW + 1)
    for _ in range(LEAST_ROW):
        await forbearance.answer(silence())
    with pytest.raises(ModelUnavailable):
        await forbearance.answer(silence())


async def test_known_answers_between_them_end_a_row_whatever_comes_in_first() -> None:
    forbearance = Forbearance(1, known=9)
    for known_before in (3, 1, 2, 4, 4, 1, 1, 1, 4, 5):
        assert isinstance(await forbearance.answer(refuse(), known_before), ModelRefused)
    forbearance.conclude()


async def test_no_answer_at_all_is_trouble_however_few_were_asked() -> None:
    forbearance = Forbearance(8)
    await forbearance.answer(refuse())
    with pytest.raises(ModelRefused):
        forbearance.conclude()
    await forbearance.answer(answer())
    forbearance.conclude()
