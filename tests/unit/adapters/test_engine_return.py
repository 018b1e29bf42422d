"""Engines of several that were left out: they come back with what stands on them, and the last is waited for."""

import asyncio
from contextlib import suppress

import pytest

from facet_dagster.adapters import engine_pool
from facet_dagster.adapters.engine_pool import EnginePool
from facet_dagster.errors import EngineLost, EngineUnavailable
from facet_dagster.records.container import BuildResult, Command, ContainerSpec
from facet_dagster.testing.engine_park import GONE, Host, Park, request, spec, where

BACK = "the container engine answers again"


@pytest.fixture
def park() -> Park:
    return Park()


async def test_an_engine_that_answers_again_gets_new_seeds_again() -> None:
    park = Park(look_s=0.0)
    for seed in ("s0", "s1"):
        await park.pool.build(request(seed))
    back, other = await park.lose("s0"), park.host_of("s1")
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
    _, other = park.hosts
    await park.pool.build(request("s0"))
    away = await park.lose("s0")
    asked = away.pings
    for n in range(1, 5):
        await park.pool.build(request(f"s{n}"))
    assert (away.pings, len(other.builds)) == (asked, 4)


async def test_one_that_comes_back_empty_stays_out() -> None:
    """A machine that was set up anew: without the base image a build fails as if its Dockerfile were to blame."""
    park = Park(look_s=0.0)
    _, other = park.hosts
    await park.pool.build(request("s0"))
    away = await park.lose("s0")
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
    assert await park.lose(first) is away
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

    away.builder.exists = exists  # type: ignore[method-assign]  # an answer that can be held back
    looking = asyncio.create_task(park.pool.exists(request("earlier").tag(), "earlier"))
    await asyncio.sleep(0)
    assert await park.lose("s0") is away
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
