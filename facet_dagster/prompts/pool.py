"""Bounded concurrency over paid calls. What is called is passed in."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from facet_dagster.errors import BudgetSpent, FacetError, ModelRefused

Item = TypeVar("Item")
Result = TypeVar("Result")


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
    """Sets refusals of single requests aside, so that one that no endpoint would answer harms nothing else.

    As many as `limit` in a row mean that the endpoint refuses everything (a wrong key): then they are trouble.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._row = 0

    async def answer(self, call: Awaitable[Result]) -> Result | ModelRefused:
        """What the call gives, or its refusal. Raises ModelRefused at the limit, and all other trouble at once."""
        try:
            result = await call
        except ModelRefused as refusal:
            self._row += 1
            if self._row >= self._limit:
                raise
            return refusal
        self._row = 0
        return result
