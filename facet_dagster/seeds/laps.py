"""Taking turns: items in order, but nobody takes more than a share before all others had their turn.

Knows nothing of seeds. Who an item belongs to (skills, categories) is passed in.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

Item = TypeVar("Item")
Owner = TypeVar("Owner", bound=Hashable)


def in_laps(items: Sequence[Item], owners: Callable[[Item], Sequence[Owner]], share: int) -> list[Item]:
    """All items, each once: every lap allows every owner `share` more items; what must wait keeps its order.

    Items of the same owners wait in one line, and lines that wait for the same owner in one queue, so that a lap
    looks at the heads of queues and not at all who wait.
    """
    lines: dict[tuple[Owner, ...], deque[int]] = defaultdict(deque)
    for position, item in enumerate(items):
        lines[tuple(dict.fromkeys(owners(item)))].append(position)
    queues: dict[Owner, list[tuple[int, tuple[Owner, ...]]]] = defaultdict(list)  # heaps by the first position
    for line, positions in lines.items():
        heappush(queues[line[0]], (positions[0], line))
    ordered: list[Item] = []
    used: Counter[Owner] = Counter()
    allowed = 0
    while queues:
        allowed += share
        names = list(queues)
        turns = [(queues[name][0][0], number) for number, name in enumerate(names)]
        heapify(turns)
        while turns:
            _, number = heappop(turns)
            queue = queues[names[number]]
            if used[names[number]] >= allowed:
                continue  # all in this queue wait for the next lap
            position, line = heappop(queue)
            in_the_way = next((owner for owner in line if used[owner] >= allowed), None)
            if in_the_way is not None:
                heappush(queues[in_the_way], (position, line))
            else:
                ordered.append(items[position])
                used.update(line)
                lines[line].popleft()
                if lines[line]:
                    heappush(queue, (lines[line][0], line))
            if queue:
                heappush(turns, (queue[0][0], number))
        queues = defaultdict(list, {name: queue for name, queue in queues.items() if queue})
    return ordered
