"""Works that go on to their own ends, whatever becomes of the others or of who waits for them."""

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


async def uninterrupted(work: Awaitable[T]) -> T:
    """Finish the work even when the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not report it as never retrieved
        raise cancelled
    return task.result()


def told_by_others(work: "asyncio.Future[T]") -> "asyncio.Future[T]":
    """A work whose failure is met where it is waited for, or is that of something that is told anyway: no report."""
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    return work
