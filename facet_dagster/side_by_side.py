"""Works that go on to their own ends, whatever becomes of the others or of who waits for them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
LOOK_S = 0.1  # between two questions for room; what was begun has taken its own by then


async def to_their_ends(works: Iterable[Awaitable[T]]) -> list[T]:
    """What came of each, in order. The first exception, even a bug's, is raised when all have ended, not before."""
    ended = await asyncio.gather(*works, return_exceptions=True)
    results: list[T] = []
    for end in ended:
        if isinstance(end, BaseException):
            raise end
        results.append(end)
    return results


async def as_room_allows(
    works: Iterable[Callable[[], Awaitable[T]]],
    has_room: Callable[[], bool],
    kept: list[T],
    decides: Callable[[T], bool] = lambda _: False,
) -> None:
    """Do works in their order, one at a time, and beside it as many more as there is room for.

    What came of them goes to `kept`, in their order: up to the first that `decides` or fails, after which nothing is
    begun. Its exception, even a bug's, is raised when all that was begun has ended. A cancellation cancels them all.
    """
    begun: list[asyncio.Future[T]] = []

    def is_over() -> bool:
        return any(_failed(work) or decides(work.result()) for work in begun if work.done())

    try:
        for work in works:
            while (busy := [other for other in begun if not other.done()]) and not has_room():
                await asyncio.wait(busy, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            if is_over():
                break
            begun.append(told_by_others(asyncio.ensure_future(work())))
            await asyncio.wait(begun[-1:], timeout=LOOK_S)
        if begun:
            await asyncio.wait(begun)
    finally:
        if left := [work for work in begun if not work.done()]:  # cancelled
            for other in left:
                other.cancel()
            await uninterrupted(asyncio.wait(left))
    for ended in begun:
        kept.append(ended.result())
        if decides(kept[-1]):
            break


def _failed(work: "asyncio.Future[T]") -> bool:
    return work.cancelled() or work.exception() is not None


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
