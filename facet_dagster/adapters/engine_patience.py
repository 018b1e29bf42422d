"""An engine that is restarted: new work waits for it to come back. Implements Sandbox and ImageBuilder over others.

Daemons are restarted by upgrades, in the night as a rule. What runs in a container then is lost and gets no verdict;
what has not begun need not share that fate. Of several engines (engine_pool.py) it is the last that is waited for.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from facet_dagster.adapters.docker_calls import NO_PERMISSION
from facet_dagster.errors import EngineLost, EngineUnavailable
from facet_dagster.ports import Container, ImageBuilder, Sandbox
from facet_dagster.records.container import BuildRequest, BuildResult, ContainerSpec

T = TypeVar("T")
WAIT_S = 300.0
LOOK_S = 2.0


class PatientEngine:
    """Containers, builds and questions that find no engine are tried again when it `answers`, for at most `wait_s`.

    The time counts from when it was first missed, for all who wait: then EngineUnavailable, at once for whoever comes
    later, until something is done again. `progress` is told of both.
    """

    def __init__(
        self,
        builder: ImageBuilder,
        sandbox: Sandbox,
        answers: Callable[[], Awaitable[bool]],
        progress: Callable[[str], None],
        *,
        wait_s: float = WAIT_S,
        look_s: float = LOOK_S,
    ) -> None:
        self._builder = builder
        self._sandbox = sandbox
        self._answers = answers
        self._progress = progress
        self._wait_s = wait_s
        self._look_s = look_s
        self._missed_at: float | None = None  # on the monotonic clock

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[Container]:
        """A container; it is waited for until it has started, not when the engine goes away later."""
        async with AsyncExitStack() as stack:
            yield await self._patiently(lambda: stack.enter_async_context(self._sandbox.open(spec)))

    async def build(self, request: BuildRequest) -> BuildResult:
        """Build; from the beginning where the engine went away meanwhile."""
        return await self._patiently(lambda: self._builder.build(request))

    async def exists(self, image: str, seed: str) -> bool:
        """Whether the engine has the image."""
        return await self._patiently(lambda: self._builder.exists(image, seed))

    async def remove(self, image: str) -> None:
        """Remove an image."""
        await self._builder.remove(image)

    async def discard(self, image: str) -> None:
        """Remove a frozen image."""
        await self._sandbox.discard(image)

    async def sweep(self) -> int:
        """Remove what dead runs left; how many things that were."""
        return await self._sandbox.sweep()

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        until: float | None = None
        while True:
            try:
                done = await work()
            except EngineUnavailable as error:
                if str(error) == NO_PERMISSION:
                    raise
                until = self._missed() if until is None else until
                if not await self._answers_before(until):
                    raise
            except EngineLost:  # one of several; others answer
                self._found()
                raise
            else:
                self._found()
                return done

    async def _answers_before(self, until: float) -> bool:
        """Wait until the engine answers; False where it has not in all the time that there is."""
        while time.monotonic() < until:
            await asyncio.sleep(self._look_s)  # one that comes up answers pings before it does anything else
            if await self._answers():
                return True
        return False

    def _missed(self) -> float:
        """Until when to wait."""
        if self._missed_at is None:
            self._missed_at = time.monotonic()
            self._progress(f"the container engine does not answer: waiting for it, {self._wait_s / 60:.0f} min at most")
        return self._missed_at + self._wait_s

    def _found(self) -> None:
        if self._missed_at is not None:
            self._missed_at = None
            self._progress("the container engine answers again")
