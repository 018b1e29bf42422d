"""Bounded concurrency over paid calls. What is called is passed in."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from facet_dagster.errors import FacetError

Item = TypeVar("Item")
Result = TypeVar("Result")


async def each(items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], in_flight: int) -> list[Result]:
    """The results in the order of the items, at most `in_flight` at a time.

    Trouble with one item does not stop the others: what they stored stays. It is raised once all have ended.
    As many troubles as calls in flight mean that the endpoint is gone: nothing further is then started.
    """
    gate = asyncio.Semaphore(in_flight)
    troubles: list[FacetError] = []

    async def one(item: Item) -> Result:
        async with gate:
            if len(troubles) >= in_flight:
                raise troubles[0]
            try:
                return await work(item)
            except FacetError as trouble:
                troubles.append(trouble)
                raise

    ended = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
    results = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results
