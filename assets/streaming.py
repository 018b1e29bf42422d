"""Events that asynchronous work puts down while it runs, for an asset's body to yield one by one.

Dagster's log handler may be called from the op's own thread only, so work never logs: it puts events.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import dagster as dg

Event = dg.AssetMaterialization | dg.AssetObservation
Put = Callable[[Event], None]
T = TypeVar("T")


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
        while (event := loop.run_until_complete(queue.get())) is not None:
            yield event
        return loop.run_until_complete(task)
