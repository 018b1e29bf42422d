"""Several engines as one: seeds spread and stay, a dead engine is left out until it answers again."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from facet_dagster.adapters import engine_pool
from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.adapters.engine_pool import EnginePool, PoolEngine
from facet_dagster.errors import EngineLost, EngineUnavailable, InfrastructureError
from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult, ContainerSpec
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox

BACK = "the container engine answers again"
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

    def host_of(self, seed: str) -> Host:
        (host,) = [host for host in self.hosts if seed in host.builds]
        return host


@pytest.fixture
def park() -> Park:
    return Park()


def request(seed: str) -> BuildRequest:
    return BuildRequest(seed=seed, dockerfile=f"FROM base\n# {seed}\n", context=())


def spec(seed: str) -> ContainerSpec:
    return ContainerSpec(image=request(seed).tag(), seed=seed, purpose="test")


async def where(pool: EnginePool | PatientEngine, seed: str) -> str:
    async with pool.open(spec(seed)) as container:
        return (await container.run(Command(script="hostname"))).output


async def test_seeds_are_spread_and_each_stays_on_its_engine(park: Park) -> None:
    seeds = [f"s{n}" for n in range(6)]
    for seed in seeds:
        assert (await park.pool.build(request(seed))).ok
    assert [len(host.builds) for host in park.hosts] == [3, 3]
    for _ in range(2):
        assert [await where(park.pool, seed) for seed in seeds] == [park.host_of(seed).name for seed in seeds]


async def test_a_stronger_engine_gets_more() -> None:
    weak, strong = Host("weak", cpus=2), Host("strong", cpus=6)
    pool = EnginePool([weak.engine(), strong.engine()], print)
    for n in range(8):
        await pool.build(request(f"s{n}"))
    assert (len(weak.builds), len(strong.builds)) == (2, 6)


async def test_a_seed_goes_to_where_its_image_is(park: Park) -> None:
    """Another process built it: this one's first question about the seed is for its image."""
    for n, host in ((0, park.hosts[0]), (1, park.hosts[1]), (2, park.hosts[1])):
        await host.builder.build(request(f"s{n}"))
        assert await park.pool.exists(request(f"s{n}").tag(), f"s{n}")
        assert await where(park.pool, f"s{n}") == host.name
    assert not await park.pool.exists(request("new").tag(), "new")


async def test_a_dead_engine_is_taken_out_and_its_seeds_find_another_place(park: Park) -> None:
    for seed in ("s0", "s1"):
        await park.pool.build(request(seed))
    dead, other = park.host_of("s0"), park.host_of("s1")
    dead.on = False
    with pytest.raises(EngineLost, match=f"engine {dead.name} answers no longer"):
        await where(park.pool, "s0")
    assert len(park.said) == 1 and dead.name in park.said[0]
    assert not await park.pool.exists(request("s0").tag(), "s0")
    assert (await park.pool.build(request("s0"))).ok
    assert await where(park.pool, "s0") == other.name == await where(park.pool, "s1")
    dead.on = True
    await park.pool.build(request("s2"))
    assert "s2" in other.builds and "s2" not in dead.builds


@pytest.mark.parametrize("found", [True, False])
async def test_the_other_seeds_of_a_dead_engine_begin_anew_too(park: Park, found: bool) -> None:
    """Their images are gone with it: that is no trouble of the engine that they come to."""
    for n in range(4):
        await park.pool.build(request(f"s{n}"))
    dead, other = park.hosts
    first, second = dead.builds
    dead.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, first)
    for _ in range(2):
        with pytest.raises(EngineLost, match=f"engine of {second} answers no longer"):
            await where(park.pool, second)
    if found:
        await other.builder.build(request(second))
    assert await park.pool.exists(request(second).tag(), second) is found
    if not found:
        await park.pool.build(request(second))
    assert await where(park.pool, second) == other.name


async def test_trouble_of_an_engine_that_answers_is_told_as_it_is(park: Park) -> None:
    with pytest.raises(InfrastructureError, match="no such image"):
        await where(park.pool, "never built")
    assert park.said == []


async def test_the_last_engine_that_dies_is_an_engine_that_cannot_be_reached(park: Park) -> None:
    for seed in ("s0", "s1"):
        await park.pool.build(request(seed))
    for host in park.hosts:
        host.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, "s0")
    for again in ("s1", "s0"):
        with pytest.raises(EngineUnavailable, match="FACET_DOCKER_HOSTS"):
            await where(park.pool, again)


async def test_an_engine_that_answers_again_gets_new_seeds_again() -> None:
    park = Park(look_s=0.0)
    for seed in ("s0", "s1"):
        await park.pool.build(request(seed))
    back, other = park.host_of("s0"), park.host_of("s1")
    back.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, "s0")
    await park.pool.build(request("s2"))
    assert "s2" in other.builds
    back.on = True
    for seed in ("s3", "s4"):
        await park.pool.build(request(seed))
    assert {"s3", "s4"} & set(back.builds)
    assert park.said[1:] == [f"the engine {back.name} answers again"]
    # What stood on it is where it was: nothing is built again.
    assert await park.pool.exists(request("s0").tag(), "s0") and await where(park.pool, "s0") == back.name


async def test_one_that_is_back_gets_its_share_and_need_not_catch_up() -> None:
    park = Park(look_s=0.0)
    away, other = park.hosts
    away.on = False
    for n in range(20):
        with suppress(EngineLost):
            await park.pool.build(request(f"s{n}"))
    away.on = True
    for n in range(20, 30):
        await park.pool.build(request(f"s{n}"))
    assert (len(away.builds), len(other.builds)) == (5, 19 + 5)


async def test_one_that_never_says_anything_keeps_nobody_from_coming_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "GLANCE_S", 0.01)
    hosts = [Host("a"), Host("b"), Host("c")]
    pool = EnginePool([host.engine() for host in hosts], print, look_s=0.0)
    for seed in ("s0", "s1", "s2"):
        await pool.build(request(seed))
    hosts[0].on = hosts[1].on = False
    for seed in ("s0", "s1"):
        with pytest.raises(EngineLost):
            await where(pool, seed)
    hosts[0].hangs = hosts[1].on = True
    for seed in ("s3", "s4"):
        await pool.build(request(seed))
    assert [len(host.builds) for host in hosts] == [1, 2, 2]


async def test_those_left_out_are_asked_now_and_then_and_only_where_a_seed_is_to_be_placed() -> None:
    park = Park(look_s=60.0)
    away, other = park.hosts
    await park.pool.build(request("s0"))
    away.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, "s0")
    asked = away.pings
    for n in range(1, 5):
        await park.pool.build(request(f"s{n}"))
    assert (away.pings, len(other.builds)) == (asked, 4)


async def test_one_that_comes_back_empty_stays_out() -> None:
    """A machine that was set up anew: without the base image a build fails as if its Dockerfile were to blame."""
    park = Park(look_s=0.0)
    away, other = park.hosts
    await park.pool.build(request("s0"))
    away.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, "s0")
    away.on, away.has_base = True, False
    for n in range(1, 4):
        await park.pool.build(request(f"s{n}"))
    assert len(other.builds) == 3
    away.has_base = True
    assert await park.pool.exists(request("s0").tag(), "s0"), "it is asked where a seed is looked for, too"


async def test_late_trouble_of_before_is_a_loss_where_the_engine_is_back_meanwhile() -> None:
    park = Park(look_s=0.0)
    for n in range(4):
        await park.pool.build(request(f"s{n}"))
    away = park.hosts[0]
    first, second = away.builds
    told = asyncio.Event()

    async def working() -> None:
        async with park.pool.open(spec(second)):
            await told.wait()  # over TCP it takes a minute until a machine that is off is known to be
            raise GONE

    work = asyncio.create_task(working())
    await asyncio.sleep(0)
    away.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, first)
    away.on = True
    await park.pool.build(request("new"))
    told.set()
    with pytest.raises(EngineLost):
        await work
    assert await where(park.pool, second) == away.name
    assert len(park.said) == 2, "it is not left out again for what happened before"


async def test_a_slow_answer_of_before_does_not_leave_out_an_engine_that_is_back() -> None:
    park = Park(look_s=0.0)
    for n in range(4):
        await park.pool.build(request(f"s{n}"))
    away = park.hosts[0]
    engine = park.pool._alive[0]
    slow = asyncio.Event()

    async def answers() -> bool:
        away.pings += 1
        if away.pings == 2:
            await slow.wait()
            return False
        return away.on

    object.__setattr__(engine, "answers", answers)
    away.on = False
    lost = [asyncio.create_task(where(park.pool, seed)) for seed in away.builds[:2]]
    await asyncio.sleep(0.01)
    away.on = True
    for n in range(4, 7):
        await park.pool.build(request(f"s{n}"))
    slow.set()
    assert [type(end) for end in await asyncio.gather(*lost, return_exceptions=True)] == [EngineLost] * 2
    assert [line.split()[-2:] for line in park.said] == [["on", "elsewhere"], ["answers", "again"]]
    assert await where(park.pool, away.builds[-1]) == away.name


async def test_an_answer_of_an_engine_that_was_lost_meanwhile_places_nothing(park: Park) -> None:
    await park.pool.build(request("s0"))
    away, other = park.hosts
    await away.builder.build(request("earlier"))
    asked, go_on = away.builder.exists, asyncio.Event()

    async def exists(image: str, seed: str) -> bool:
        has = await asked(image, seed)
        await go_on.wait()
        return has

    away.builder.exists = exists  # type: ignore[method-assign]
    looking = asyncio.create_task(park.pool.exists(request("earlier").tag(), "earlier"))
    await asyncio.sleep(0)
    away.on = False
    with pytest.raises(EngineLost):
        await where(park.pool, "s0")
    go_on.set()
    assert not await looking
    await park.pool.build(request("earlier"))
    assert "earlier" in other.builds


async def test_where_none_is_left_new_work_waits_for_any_of_them(park: Park) -> None:
    """A night of upgrades: what has not begun, a container on an image that stands there too, is done afterwards."""
    patient = park.patient()
    for seed in ("s0", "s1"):
        await patient.build(request(seed))
    async with patient.open(spec("s0")) as container:
        frozen = await container.freeze()
    for host in park.hosts:
        host.on = False
    for host in park.hosts:
        with pytest.raises((EngineLost, EngineUnavailable)):
            await where(park.pool, host.builds[0])
    graded = ContainerSpec(image=frozen, seed="s0", purpose="grade")

    async def grade() -> str:
        async with patient.open(graded) as container:
            return (await container.run(Command(script="hostname"))).output

    waiting = [
        *(asyncio.create_task(where(patient, seed)) for seed in ("s0", "s1")),
        asyncio.create_task(patient.exists(request("s0").tag(), "s0")),
        asyncio.create_task(patient.build(request("s2"))),
        asyncio.create_task(grade()),
    ]
    await asyncio.sleep(0.02)
    assert not any(task.done() for task in waiting)
    for host in park.hosts:
        host.on = True
    first, second, there, built, again = await asyncio.gather(*waiting)
    assert (first, second, there, again) == ("a", "b", True, "a")
    assert isinstance(built, BuildResult) and built.ok
    assert park.said[-3:] == ["the engine a answers again", "the engine b answers again", BACK]


async def test_where_all_are_lost_while_an_image_is_looked_for_that_is_waited_for_too(park: Park) -> None:
    patient = park.patient()
    for host in park.hosts:
        await host.builder.build(request("earlier"))
        host.on = False
    looking = asyncio.create_task(patient.exists(request("earlier").tag(), "earlier"))
    await asyncio.sleep(0.02)
    assert not looking.done()
    park.hosts[1].on = True
    assert await looking


async def test_images_are_removed_where_they_are(park: Park) -> None:
    result = await park.pool.build(request("s0"))
    host = park.host_of("s0")
    async with park.pool.open(spec("s0")) as container:
        frozen = await container.freeze()
    await park.pool.discard(frozen)
    assert frozen not in host.sandbox.images
    await park.pool.remove(result.image)
    assert result.image not in host.sandbox.images
    await park.pool.remove("facet-env:unknown")
    assert await park.pool.sweep() == 2


@pytest.mark.parametrize("state", [{"on": False}, {"trouble": True}])
@pytest.mark.parametrize("first", [0, 1])
async def test_what_another_engine_is_in_for_ends_no_work(park: Park, first: int, state: dict[str, bool]) -> None:
    """A graded trial discards its image in the end, and every engine is asked: its grade must stand."""
    await park.pool.build(request("s0"))
    await park.pool.build(request("s1"))
    here, other = park.hosts[first], park.hosts[1 - first]
    (seed,) = here.builds
    async with park.pool.open(spec(seed)) as container:
        frozen = await container.freeze()
    vars(other).update(state)
    await here.builder.build(request("earlier"))
    await park.pool.discard(frozen)
    assert frozen not in here.sandbox.images
    assert await park.pool.sweep() == 1
    assert await park.pool.exists(request("earlier").tag(), "earlier")
    assert await where(park.pool, seed) == await where(park.pool, "earlier") == here.name
    assert [other.name in line for line in park.said] == ([] if other.on else [True])
