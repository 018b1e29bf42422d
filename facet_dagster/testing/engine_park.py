"""Several engines over fakes that can be switched off, and the pool over them."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.adapters.engine_pool import EnginePool, PoolEngine
from facet_dagster.errors import EngineLost, InfrastructureError
from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult, ContainerSpec
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox

GONE = InfrastructureError("cannot start a container: Connection aborted")


class Sandbox(FakeSandbox):
    """Finds out that its host is off, or in trouble, in whatever it is asked."""

    host: "Host"

    async def discard(self, image: str) -> None:
        self.host.check()
        await super().discard(image)

    async def sweep(self) -> int:
        self.host.check()
        return await super().sweep() + 1


class Builder(FakeImageBuilder):
    host: "Host"

    async def exists(self, image: str, seed: str) -> bool:
        self.host.check()
        return await super().exists(image, seed)


@dataclass
class Host:
    """An engine over fakes that can be switched off. One in trouble answers, but does nothing; a hanging one never."""

    name: str
    cpus: float = 2.0
    on: bool = True
    hangs: bool = False
    has_base: bool = True
    pings: int = 0
    trouble: bool = False
    builds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sandbox = Sandbox(self._run)
        self.builder = Builder(self.sandbox, self._build)
        self.sandbox.host = self.builder.host = self

    def check(self) -> None:
        if not self.on or self.trouble:
            raise GONE

    def _run(self, _container: FakeContainer, _command: Command) -> CommandResult:
        self.check()
        return CommandResult(exit_code=0, output=self.name, seconds=0.0)

    def _build(self, request: BuildRequest) -> BuildResult:
        self.check()
        self.builds.append(request.seed)
        return BuildResult(image=request.tag(), fault=None, log="", seconds=0.0)

    async def _answers(self) -> bool:
        self.pings += 1
        if self.hangs:
            await asyncio.Event().wait()
        return self.on

    async def _ready(self) -> bool:
        return self.has_base

    def engine(self) -> PoolEngine:
        return PoolEngine(self.name, self.builder, self.sandbox, self.cpus, self._answers, self._ready)


class Park:
    """Two hosts, the pool over them, and what it said."""

    def __init__(self, look_s: float = 60.0) -> None:
        self.hosts = [Host("a"), Host("b")]
        self.said: list[str] = []
        self.pool = EnginePool([host.engine() for host in self.hosts], self.said.append, look_s=look_s)

    def patient(self) -> PatientEngine:
        """As the workshop has it: new work waits while no engine is left."""
        return PatientEngine(self.pool, self.pool, self.pool.answers, self.said.append, wait_s=60.0, look_s=0.001)

    async def lose(self, seed: str) -> Host:
        """Switch off where a seed is; its next container finds out."""
        host = self.host_of(seed)
        host.on = False
        with suppress(EngineLost):
            await where(self.pool, seed)
            raise AssertionError("nobody found out")
        return host

    def host_of(self, seed: str) -> Host:
        (host,) = [host for host in self.hosts if seed in host.builds]
        return host


def request(seed: str) -> BuildRequest:
    return BuildRequest(seed=seed, dockerfile=f"FROM base\n# {seed}\n", context=())


def spec(seed: str) -> ContainerSpec:
    return ContainerSpec(image=request(seed).tag(), seed=seed, purpose="test")


async def where(pool: EnginePool | PatientEngine, seed: str) -> str:
    async with pool.open(spec(seed)) as container:
        return (await container.run(Command(script="hostname"))).output
