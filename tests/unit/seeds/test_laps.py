"""Taking turns: the same order as going round by hand, and no walk over all who wait."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.seeds.laps import in_laps

Items = list[tuple[int, frozenset[int]]]


def by_hand(items: Items, share: int) -> Items:
    """Lap after lap over all that wait."""
    ordered: Items = []
    used: Counter[int] = Counter()
    waiting, allowed = list(items), share
    while waiting:
        later = []
        for item in waiting:
            if any(used[owner] >= allowed for owner in item[1]):
                later.append(item)
            else:
                ordered.append(item)
                used.update(item[1])
        waiting, allowed = later, allowed + share
    return ordered


@given(st.lists(st.frozensets(st.integers(0, 5), min_size=1, max_size=3), max_size=60), st.integers(1, 4))
def test_the_order_is_that_of_going_round_by_hand(owners: Sequence[frozenset[int]], share: int) -> None:
    items = list(enumerate(owners))
    assert in_laps(items, lambda item: sorted(item[1]), share) == by_hand(items, share)


def test_somebody_in_everything_is_not_looked_at_again_for_everything() -> None:
    looks = 0

    def owners(item: int) -> list[int]:
        nonlocal looks
        looks += 1
        return [-1, item]

    assert in_laps(range(3_000), owners, 1) == list(range(3_000))
    assert looks < 5 * 3_000
