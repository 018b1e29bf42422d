"""Which proposals are judged, in which order, and when it is enough: the seeds wanted, and the share of each skill.

Belongs here: the choice. What a verdict is stands in judge.py; how one is asked for and stored is passed in.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from facet_dagster.errors import FacetError

LOOK_AHEAD = 4  # undecided proposals per call in flight: bounds what is looked at again after each verdict


class Choice(Protocol):
    """A proposal as far as the choice goes."""

    @property
    def skill_ids(self) -> tuple[str, ...]: ...


P = TypeVar("P", bound=Choice)
V = TypeVar("V")


async def decide(
    proposals: Sequence[P],
    ask: Callable[[P], Awaitable[V]],
    *,
    known: Callable[[P], V | None],
    kept: Callable[[V], bool],
    kept_of_skill: Mapping[str, int],
    max_kept: int,
    max_per_skill: int,
    in_flight: int,
) -> list[V]:
    """Verdicts in the order of the proposals, until `max_kept` are kept; the same whatever `in_flight` is.

    `known` verdicts are not asked for; `kept_of_skill` counts them where they were kept. A proposal of which a skill
    is in `max_per_skill` kept ones is passed over. Nothing is asked that one call at a time would not have asked.
    The first trouble that `ask` raises (single trouble it may set aside) ends it, and is raised after the calls in
    flight have ended: what they stored stays.
    """
    chooser = _Chooser(proposals, known, kept, Counter(kept_of_skill), max_kept, max_per_skill)
    running: dict[asyncio.Task[V], int] = {}
    trouble: FacetError | None = None
    while True:
        if trouble is None:
            for position in chooser.ready(set(running.values()), in_flight):
                running[asyncio.ensure_future(ask(proposals[position]))] = position
        if not running:
            break
        ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            position = running.pop(task)
            try:
                chooser.settle(position, task.result())
            except FacetError as error:
                trouble = trouble or error
    if trouble is not None:
        raise trouble
    return chooser.verdicts()


class _Chooser(Generic[P, V]):
    """Looks ahead no further than is certain: what it lets start would be asked for one by one as well."""

    def __init__(
        self,
        proposals: Sequence[P],
        known: Callable[[P], V | None],
        kept: Callable[[V], bool],
        kept_of_skill: Mapping[str, int],
        max_kept: int,
        max_per_skill: int,
    ) -> None:
        self._proposals = proposals
        self._known = known
        self._is_kept = kept
        self._kept_of_skill = Counter(kept_of_skill)
        self._max_kept = max_kept
        self._max_per_skill = max_per_skill
        self._verdicts: dict[int, V] = {}
        self._kept = 0
        self._next = 0
        self._undecided: list[int] = []  # in order: in flight, or waiting for those before them
        self._before: Counter[str] = Counter()  # how many of them a skill is in, while they are looked through

    def ready(self, running: Collection[int], in_flight: int) -> list[int]:
        """Positions to ask for now, so that at most `in_flight` are running."""
        earlier, self._undecided, self._before = self._undecided, [], Counter()
        start: list[int] = []
        for position in earlier:
            self._look_at(position, running, start, in_flight)
        while self._next < len(self._proposals) and self._certain() and len(self._undecided) < LOOK_AHEAD * in_flight:
            self._look_at(self._next, running, start, in_flight)
            self._next += 1
        return start

    def settle(self, position: int, verdict: V) -> None:
        """A verdict has come in."""
        self._undecided.remove(position)
        self._verdicts[position] = verdict
        if self._is_kept(verdict):
            self._kept += 1
            self._kept_of_skill.update(self._proposals[position].skill_ids)

    def verdicts(self) -> list[V]:
        """All so far, in the order of the proposals."""
        return [self._verdicts[position] for position in sorted(self._verdicts)]

    def _look_at(self, position: int, running: Collection[int], start: list[int], in_flight: int) -> None:
        """Settle it, pass it over, put it into `start`, or let it wait."""
        proposal = self._proposals[position]
        if position not in running:
            verdict = self._known(proposal)
            if verdict is not None and self._certain():
                self._verdicts[position] = verdict
                self._kept += self._is_kept(verdict)
                return
            if verdict is None:
                if max(self._kept_of_skill[skill] for skill in proposal.skill_ids) >= self._max_per_skill:
                    return
                most = max(self._kept_of_skill[skill] + self._before[skill] for skill in proposal.skill_ids)
                if self._certain() and most < self._max_per_skill and len(running) + len(start) < in_flight:
                    start.append(position)
        self._undecided.append(position)
        self._before.update(proposal.skill_ids)

    def _certain(self) -> bool:
        """Whether the next one would be wanted even if all undecided ones before it were kept."""
        return self._kept + len(self._undecided) < self._max_kept
