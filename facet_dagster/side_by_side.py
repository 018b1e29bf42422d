"""Works that go on side by side to their own ends, whatever becomes of the others."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def to_their_ends(works: Iterable[Awaitable[T]]) -> list[T]:
    """What came of each, in order. The first exception, even a bug's, is raised when all have ended, not before."""
    ended = await asyncio.gather(*works, return_exceptions=True)
    results: list[T] = []
    for end in ended:
        if isinstance(end, BaseException):
            raise end
        results.append(end)
    return results
