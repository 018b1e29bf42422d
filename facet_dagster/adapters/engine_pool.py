"""Several container engines as one: seeds spread over them, each stays on its own, a dead engine is left out meanwhile.

Implements the ports Sandbox and ImageBuilder over those of each engine; what an engine is, it does not know.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from facet_dagster.errors import ENGINE_TROUBLE, EngineLost, EngineUnavailable, InfrastructureError
from facet_dagster.ports import Container, ImageBuilder, Sandbox
from facet_dagster.records.container import BuildRequest, BuildResult, ContainerSpec

NONE_LEFT = "no engine of FACET_DOCKER_HOSTS answers any more"
LOOK_S = 60.0  # between two looks at engines that were left out, while others work
GLANCE_S = 5.0  # that such a look may keep a new seed waiting


@dataclass(frozen=True)
class PoolEngine:
    """One engine of a pool: the address that names it, its ports, its share of the work.

    `answers`: whether it still does; `ready`: whether one that answers again has what seeds are built on.
    """

    host: str
    builder: ImageBuilder
    sandbox: Sandbox
    cpus: float
    answers: Callable[[], Awaitable[bool]]
    ready: Callable[[], Awaitable[bool]]


class EnginePool:
    """Work on a seed goes to the engine where the seed is, a new seed to the engine with the fewest per CPU.

    Trouble with an engine that answers no longer raises EngineLost, and so does opening a container for any of its
    seeds before their images are found or built elsewhere: the walk that is begun anew does that.
    Where none is left, EngineUnavailable. An engine that answers again gets new seeds again, and has its old ones where
    they were not placed elsewhere; it is asked when a seed is looked for or placed, every `look_s` seconds at most.
    `progress` is told of each that is left out, and that is back.
    """

    def __init__(
        self, engines: Sequence[PoolEngine], progress: Callable[[str], None], *, look_s: float = LOOK_S
    ) -> None:
        self._alive = list(engines)
        self._away: list[PoolEngine] = []
        self._look_s = look_s
        self._looked_at = time.monotonic()
        self._progress = progress
        self._places: dict[str, PoolEngine] = {}  # by seed
        self._given: Counter[str] = Counter()  # seeds by engine, since one came back: it need not catch up
        self._built: dict[str, PoolEngine] = {}  # by image
        self._displaced: dict[str, PoolEngine] = {}  # seeds whose engine was left out, until they are placed anew
        self._losses: Counter[str] = Counter()  # by engine; work that began before the last one is not its trouble now

    async def build(self, request: BuildRequest) -> BuildResult:
        """Build where the seed is."""
        self._displaced.pop(request.seed, None)
        engine = await self._engine_of(request.seed)
        async with self._on(engine):
            result = await engine.builder.build(request)
        self._built[result.image] = engine
        return result

    async def exists(self, image: str, seed: str) -> bool:
        """Whether the image is where the seed is; a seed without a place gets that of its image.

        Of a seed without a place, an engine in trouble counts as one without the image: others may have it.
        """
        if seed not in self._places:
            await self._look()
        if seed in self._places:
            return await self._has(self._places[seed], image, seed)
        for engine in tuple(self._alive):
            with suppress(*ENGINE_TROUBLE):  # here and below: it must not end work that stands on another
                if await self._has(engine, image, seed):
                    return True
        self._any_left()
        return False

    async def _has(self, engine: PoolEngine, image: str, seed: str) -> bool:
        losses = self._losses[engine.host]
        async with self._on(engine):
            has = await engine.builder.exists(image, seed)
        if losses != self._losses[engine.host]:
            raise EngineLost(f"the engine {engine.host} was lost while it was asked")
        if has:
            self._built[image] = engine
            self._place(seed, engine)
            self._displaced.pop(seed, None)
        return has

    async def remove(self, image: str) -> None:
        """Remove an image from where it was built or found; nothing happens if this pool does not know it."""
        engine = self._built.pop(image, None)
        if engine in self._alive:
            async with self._on(engine):
                await engine.builder.remove(image)

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[Container]:
        """A container where the seed is. Trouble of whoever works in it is told from the loss of the engine, too."""
        if spec.seed in self._displaced and self._alive:
            raise EngineLost(f"the engine of {spec.seed} answers no longer, and its images went with it")
        engine = await self._engine_of(spec.seed)
        async with self._on(engine), engine.sandbox.open(spec) as container:
            yield container

    async def discard(self, image: str) -> None:
        """Remove a frozen image, whichever engine has it. What cannot be removed now is swept later."""
        for engine in tuple(self._alive):
            with suppress(*ENGINE_TROUBLE):
                async with self._on(engine):
                    await engine.sandbox.discard(image)

    async def sweep(self) -> int:
        """Sweep all engines that answer; how many things were removed."""
        removed = 0
        for engine in tuple(self._alive):
            with suppress(*ENGINE_TROUBLE):
                async with self._on(engine):
                    removed += await engine.sandbox.sweep()
        return removed

    async def answers(self) -> bool:
        """Whether any engine does. Those left out are asked, too, and each that answers is taken back."""
        await asyncio.gather(*(self._ask_again(engine) for engine in self._away))
        return bool(self._alive)

    async def _ask_again(self, engine: PoolEngine) -> None:
        if not (await engine.answers() and await engine.ready() and engine in self._away):
            return
        self._away.remove(engine)
        self._alive.append(engine)
        self._given.clear()
        for seed in [seed for seed, place in self._displaced.items() if place is engine]:
            self._places[seed] = self._displaced.pop(seed)
        self._progress(f"the engine {engine.host} answers again")

    async def _engine_of(self, seed: str) -> PoolEngine:
        if seed not in self._places:
            await self._look()
        if seed not in self._places:  # nobody has placed it meanwhile
            self._any_left()
            self._place(seed, min(self._alive, key=lambda engine: self._given[engine.host] / engine.cpus))
        return self._places[seed]

    def _place(self, seed: str, engine: PoolEngine) -> None:
        if self._places.get(seed) is not engine:
            self._places[seed] = engine
            self._given[engine.host] += 1

    def _any_left(self) -> None:
        if not self._alive:
            raise EngineUnavailable(NONE_LEFT)

    async def _look(self) -> None:
        if self._away and self._alive and time.monotonic() - self._looked_at >= self._look_s:
            self._looked_at = time.monotonic()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.answers(), GLANCE_S)

    @asynccontextmanager
    async def _on(self, engine: PoolEngine) -> AsyncIterator[None]:
        losses = self._losses[engine.host]
        try:
            yield
        except InfrastructureError as error:
            answers = losses == self._losses[engine.host] and await engine.answers()
            if losses == self._losses[engine.host]:  # else somebody else found it dead meanwhile; it may be back
                if answers:
                    raise
                self._take_out(engine)
            if not self._alive:
                raise EngineUnavailable(NONE_LEFT) from error
            raise EngineLost(f"the engine {engine.host} answers no longer: {error}") from error

    def _take_out(self, engine: PoolEngine) -> None:
        self._losses[engine.host] += 1
        self._looked_at = time.monotonic()
        self._alive.remove(engine)
        self._away.append(engine)
        gone = {seed for seed, place in self._places.items() if place is engine}
        self._displaced |= {seed: self._places.pop(seed) for seed in gone}
        self._progress(f"the engine {engine.host} answers no longer and is left out: its seeds go on elsewhere")
