"""Events that asynchronous work puts down while it runs, for an asset's body to yield one by one.

Dagster's log handler may be called from the op's own thread only, so work never logs: it puts events.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import dagster as dg

Event = dg.AssetMaterialization | dg.AssetObservation
Put = Callable[[Event], None]
T = TypeVar("T")
Handler = Callable[[int, FrameType | None], Any]


def stream(work: Callable[[Put], Coroutine[Any, Any, T]]) -> Generator[Event, None, T]:
    """Run `work` in a loop of its own and yield what it puts, as soon as it is put; its result is the
    value of `yield from stream(work)`.

    Raises what `work` raises, after everything put before has been yielded. Where the consumer stops early,
    or a signal interrupts the run, all tasks are cancelled and awaited, so that they give back what they
    hold. (An async generator as the asset's body cannot do that: Dagster drops an interrupted one with its
    tasks still pending.)
    """
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def run() -> T:
        try:
            return await work(queue.put_nowait)
        finally:
            queue.put_nowait(None)  # without an end the consumer would wait for ever

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(run())
        with _signals_at_rest(loop, task) as raise_pending:
            while (event := loop.run_until_complete(queue.get())) is not None:
                yield event
            raise_pending()
        return loop.run_until_complete(task)


@contextmanager
def _signals_at_rest(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> Iterator[Callable[[], None]]:
    """Signals end the task, and are handled as before once it has ended: by what is yielded.

    What a handler raises while the loop is at work would be lost: asyncio logs it when it comes up in a callback, and
    gives it to whoever awaits the task in which it came up, who may wait for many others first.
    """
    came: list[int] = []
    ours = [] if threading.current_thread() is not threading.main_thread() else [signal.SIGINT, signal.SIGTERM]
    before: dict[int, Handler] = {n: found for n in ours if callable(found := signal.getsignal(n))}

    def note(number: int) -> None:
        came.append(number)
        task.cancel()

    def raise_pending() -> None:
        while came:
            number = came.pop(0)
            before[number](number, None)

    for number in before:
        loop.add_signal_handler(number, note, number)
    try:
        yield raise_pending
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
