"""Bounded concurrency over paid calls. What is called is passed in."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from facet_dagster.errors import BudgetSpent, FacetError, ModelRefused, ModelUnavailable, TextRefused

Item = TypeVar("Item")
Result = TypeVar("Result")

LEAST_ROW = 4  # troubles: fewer neighbours may share what an endpoint refuses, whatever is in flight
TEXT_ROW = 50  # texts refused from the very first on: more of them than ever shared what a filter dislikes


async def each(items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], in_flight: int) -> list[Result]:
    """The results in the order of the items, at most `in_flight` at a time.

    Trouble with one item does not stop the others: what they stored stays. It is raised once all have ended.
    A spent budget, or as many troubles in a row as calls in flight (the endpoint is gone): nothing further is started.
    """
    results: dict[int, Result] = {}
    troubles: list[FacetError] = []
    waiting = iter(enumerate(items))
    row = 0  # troubles since the last result

    async def worker() -> None:
        nonlocal row
        for number, item in waiting:
            if row >= in_flight or any(isinstance(trouble, BudgetSpent) for trouble in troubles):
                return
            try:
                results[number] = await work(item)
                row = 0
            except FacetError as trouble:
                troubles.append(trouble)
                row += 1

    ended = await asyncio.gather(*(worker() for _ in range(min(in_flight, len(items)))), return_exceptions=True)
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    if troubles:
        raise troubles[0]
    return [results[number] for number in range(len(items))]


class Forbearance:
    """Sets trouble with single requests aside, so that one that no endpoint would answer harms nothing else.

    As many in a row as calls in flight, and at least LEAST_ROW, mean that the endpoint refuses everything (a wrong
    key) or is gone: then they are trouble. Not so refusals of the text where anything was answered: however many
    neighbours share what a filter dislikes, each of them is set aside, and asking costs next to nothing. Where nothing
    was, TEXT_ROW of them are trouble. So it is where there was no answer at all, see `conclude`.
    `known` says how many answers there are from earlier runs: they count as answers.
    """

    def __init__(self, in_flight: int, known: int = 0) -> None:
        self._limit = max(LEAST_ROW, in_flight)
        self._answered = known > 0
        self._last: ModelRefused | ModelUnavailable | None = None
        self._stretch = 0
        self._row = 0

    async def answer(self, call: Awaitable[Result], known_before: int = 0) -> Result | ModelRefused | ModelUnavailable:
        """What the call gives, or its refusal or silence. Raises these at the limit, and all other trouble at once.

        `known_before` is the number of known answers that come before this item. It counts by place, not by time,
        because the known ones are passed while the calls on both sides of them are in flight together.
        """
        try:
            result = await call
        except (ModelRefused, ModelUnavailable) as trouble:
            self._last = trouble
            of_the_text = isinstance(trouble, TextRefused)
            if of_the_text and self._answered:
                self._row = 0  # whoever refuses a text is there
            elif self._counts(known_before, max(self._limit, TEXT_ROW) if of_the_text else self._limit):
                raise
            return trouble
        self._answered = True
        self._row = 0
        return result

    def conclude(self) -> None:
        """Once all have ended: raises the last trouble where nothing at all was answered, then or earlier."""
        if self._last is not None and not self._answered:
            raise self._last

    def _counts(self, known_before: int, limit: int) -> bool:
        """Whether this trouble makes the row too long."""
        if known_before > self._stretch:
            self._stretch, self._row = known_before, 0
        self._row += known_before == self._stretch
        return known_before == self._stretch and self._row >= limit
