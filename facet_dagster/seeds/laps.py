"""Taking turns: items in order, but nobody takes more than a share before all others had their turn.

Knows nothing of seeds. Who an item belongs to (skills, categories) is passed in.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

Item = TypeVar("Item")
Owner = TypeVar("Owner", bound=Hashable)


def in_laps(items: Sequence[Item], owners: Callable[[Item], Sequence[Owner]], share: int) -> list[Item]:
    """All items, each once: every lap allows every owner `share` more items; what must wait keeps its order.

    Takes n log n for n items: who waits stands in the queue of one owner who is in the way, so that a lap looks at
    the head of each queue and not at all who wait.
    """
    ordered: list[Item] = []
    used: Counter[Owner] = Counter()
    waiting: dict[Owner, list[int]] = defaultdict(list)  # heaps of positions, each behind an owner who is in its way

    def blocking(position: int) -> Owner | None:
        return next((owner for owner in owners(items[position]) if used[owner] >= allowed), None)

    def take(position: int) -> None:
        ordered.append(items[position])
        used.update(set(owners(items[position])))

    allowed = share
    for position in range(len(items)):
        if (owner := blocking(position)) is None:
            take(position)
        else:
            heappush(waiting[owner], position)
    while waiting:
        allowed += share
        heads = [(queue[0], owner) for owner, queue in waiting.items()]
        turns = [(position, number) for number, (position, _) in enumerate(heads)]
        heapify(turns)
        while turns:
            position, number = heappop(turns)
            owner = heads[number][1]
            if used[owner] >= allowed:
                continue  # all in this queue wait for the next lap
            heappop(waiting[owner])
            in_the_way = blocking(position)
            if in_the_way is None:
                take(position)
            else:
                heappush(waiting[in_the_way], position)
            if waiting[owner]:
                heappush(turns, (waiting[owner][0], number))
        waiting = defaultdict(list, {owner: queue for owner, queue in waiting.items() if queue})
    return ordered
