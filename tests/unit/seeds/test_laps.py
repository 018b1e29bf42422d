"""Taking turns: the same order as going round by hand, also where very many wait."""

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


def test_many_items_of_few_owners_and_one_owner_of_all() -> None:
    few = [(n, frozenset({n % 7, (n * n) % 11})) for n in range(20_000)]
    assert sorted(in_laps(few, lambda item: sorted(item[1]), 1)) == sorted(few)
    hub = [(n, frozenset({-1, n})) for n in range(20_000)]
    assert in_laps(hub, lambda item: sorted(item[1]), 1) == hub
