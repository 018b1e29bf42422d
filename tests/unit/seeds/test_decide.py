"""The choice of what is judged: as one by one, whatever is in flight, and no skill in more seeds than allowed."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.errors import BudgetSpent
from facet_dagster.seeds.decide import decide


@dataclass(frozen=True)
class Pair:
    number: int
    skill_ids: tuple[str, ...]
    good: bool


PAIRS = st.lists(st.tuples(st.sets(st.sampled_from("abcde"), min_size=2, max_size=3), st.booleans()), max_size=40)


def pairs_of(spread: list[tuple[set[str], bool]]) -> list[Pair]:
    return [Pair(n, tuple(sorted(skills)), good) for n, (skills, good) in enumerate(spread)]


def one_by_one(pairs: list[Pair], max_kept: int, max_per_skill: int) -> list[Pair]:
    judged: list[Pair] = []
    kept: Counter[str] = Counter()
    for pair in pairs:
        if sum(p.good for p in judged) >= max_kept:
            break
        if max(kept[skill] for skill in pair.skill_ids) < max_per_skill:
            judged.append(pair)
            kept.update(pair.skill_ids if pair.good else ())
    return judged


async def decided(
    pairs: list[Pair],
    *,
    max_kept: int = 99,
    max_per_skill: int = 99,
    in_flight: int = 4,
    known: Sequence[Pair] = (),
) -> tuple[list[Pair], list[Pair], int]:
    """What was decided, what was asked for that, and how many were asked at once."""
    stored = {pair.number for pair in known}
    asked: list[Pair] = []
    now = most = 0
    order = random.Random(len(pairs))

    async def ask(pair: Pair) -> Pair:
        nonlocal now, most
        asked.append(pair)
        now += 1
        most = max(most, now)
        for _ in range(order.randint(1, 9)):
            await asyncio.sleep(0)
        now -= 1
        return pair

    verdicts = await decide(
        pairs,
        ask,
        known=lambda pair: pair if pair.number in stored else None,
        kept=lambda pair: pair.good,
        kept_of_skill=Counter(skill for pair in known if pair.good for skill in pair.skill_ids),
        max_kept=max_kept,
        max_per_skill=max_per_skill,
        in_flight=in_flight,
    )
    return verdicts, asked, most


@given(PAIRS, st.integers(1, 12), st.integers(1, 4), st.integers(1, 8))
async def test_as_one_by_one_and_nothing_beyond(
    spread: list[tuple[set[str], bool]], max_kept: int, max_per_skill: int, in_flight: int
) -> None:
    pairs = pairs_of(spread)
    expected = one_by_one(pairs, max_kept, max_per_skill)
    verdicts, asked, most = await decided(pairs, max_kept=max_kept, max_per_skill=max_per_skill, in_flight=in_flight)
    assert verdicts == expected
    assert sorted(asked, key=lambda p: p.number) == expected
    assert most <= in_flight
    kept = Counter(skill for pair in verdicts if pair.good for skill in pair.skill_ids)
    assert all(count <= max_per_skill for count in kept.values())


@given(PAIRS, st.integers(1, 12), st.integers(1, 4), st.data())
async def test_a_run_that_was_cut_off_comes_to_the_same(
    spread: list[tuple[set[str], bool]], max_kept: int, max_per_skill: int, data: st.DataObject
) -> None:
    pairs = pairs_of(spread)
    whole, _, _ = await decided(pairs, max_kept=max_kept, max_per_skill=max_per_skill)
    known = whole[: data.draw(st.integers(0, len(whole)))]
    again, asked, _ = await decided(pairs, max_kept=max_kept, max_per_skill=max_per_skill, known=known)
    assert again == whole
    assert not {pair.number for pair in asked} & {pair.number for pair in known}


async def test_calls_overlap_where_nothing_hangs_on_the_order() -> None:
    pairs = [Pair(n, (f"a{n}", f"b{n}"), True) for n in range(20)]
    assert (await decided(pairs, in_flight=5))[2] == 5


async def test_a_spent_budget_ends_it_after_the_calls_in_flight() -> None:
    asked: list[int] = []

    async def ask(pair: Pair) -> Pair:
        asked.append(pair.number)
        await asyncio.sleep(0)
        if pair.number == 1:
            raise BudgetSpent("spent")
        await asyncio.sleep(0)
        ended.append(pair.number)
        return pair

    ended: list[int] = []
    pairs = [Pair(n, (f"a{n}", f"b{n}"), True) for n in range(50)]
    with pytest.raises(BudgetSpent):
        await decide(
            pairs,
            ask,
            known=lambda _: None,
            kept=lambda pair: pair.good,
            kept_of_skill={},
            max_kept=50,
            max_per_skill=1,
            in_flight=3,
        )
    assert asked == [0, 1, 2] and ended == [0, 2]
