"""Several engines as one: seeds spread and stay, a dead engine is left out, nothing goes to it while it is."""

import pytest

from facet_dagster.adapters.engine_pool import EnginePool
from facet_dagster.errors import EngineLost, EngineUnavailable, InfrastructureError
from facet_dagster.testing.engine_park import Host, Park, request, spec, where


@pytest.fixture
def park() -> Park:
    return Park()


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
