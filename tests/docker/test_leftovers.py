"""A process that dies with containers open and a build under way: the next one sweeps, and sweeps only that."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_build_mark import new_mark
from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_debian import has_image
from facet_dagster.adapters.docker_labels import MAY_BE_OURS, RUN_LABEL, ours
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.adapters.docker_sweep import remove_run, sweep_dead
from facet_dagster.records.container import BuildRequest, ContainerSpec, FileEntry

pytestmark = pytest.mark.docker

VICTIM = """
import asyncio, sys
from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.adapters.engine import connect
from facet_dagster.records.container import BuildRequest, Command, ContainerSpec, FileEntry

async def main(run, base):
    client = connect()
    sandbox, builder = DockerSandbox(client, run_id=run), DockerImageBuilder(client, run_id=run, base_image=base)
    head = "ARG BASE_IMAGE\\nFROM ${BASE_IMAGE}\\n"
    done = BuildRequest(seed="dies", dockerfile=head + "COPY x /x\\n", context=(FileEntry.of("x", run.encode()),))
    assert (await builder.build(done)).ok
    async with sandbox.open(ContainerSpec(image=done.tag(), seed="dies", purpose="test")) as container:
        await container.freeze()
        hangs = BuildRequest(seed="dies", dockerfile=head + f"RUN echo {run}; sleep 611\\n", context=())
        building = asyncio.create_task(builder.build(hangs))
        await container.run(Command(script="true"))
        await asyncio.sleep(1.5)
        print("ready", flush=True)
        await container.run(Command(script="sleep 600", timeout_s=600))

asyncio.run(main(*sys.argv[1:]))
"""


def of_run(client: DockerClient, run: str) -> tuple[int, int]:
    """How many containers and tagged images a run has."""
    found = client.api.containers(all=True, filters=MAY_BE_OURS), client.api.images(filters=MAY_BE_OURS)
    containers, images = (sum(owned.get(RUN_LABEL) == run for _, owned in ours(rows)) for rows in found)
    return containers, images


def building(client: DockerClient, run: str) -> list[str]:
    rows = client.api.containers(all=True)
    return [row["Id"] for row in rows if row["Command"].startswith("/bin/sh -c 'echo " + run[:8])]


async def test_kill_9_then_sweep(
    engine: DockerClient, run_id: str, base_image: str, assert_nothing_left: Callable[..., None]
) -> None:
    dead_run = f"{run_id}-dead"
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, dead_run, base_image], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None and victim.stdout.readline() == "ready\n"
    sandbox = DockerSandbox(engine, run_id=run_id)
    try:
        await sandbox.sweep()
        assert of_run(engine, dead_run) == (1, 2), "a living run was swept"
        async with sandbox.open(ContainerSpec(image=base_image, seed="lives", purpose="test")):
            victim.kill()
            victim.wait()
            assert await sandbox.sweep() >= 3
            assert_nothing_left(engine, dead_run)
            assert of_run(engine, run_id) == (1, 0)
        assert gone(lambda: building(engine, dead_run)), "the build of a dead process goes on"
    finally:
        victim.kill()
        remove_run(engine, dead_run)


def gone(look: Callable[[], list[str]]) -> bool:
    for _ in range(50):
        if not look():
            return True
        time.sleep(0.2)
    return False


async def test_the_end_of_a_run_removes_all_of_it_and_nothing_else(
    engine: DockerClient, run_id: str, base_image: str, assert_nothing_left: Callable[..., None]
) -> None:
    ours, other = run_id, f"{run_id}-other"
    head = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY x /x\n"
    for run in (ours, other):
        builder = DockerImageBuilder(engine, run_id=run, base_image=base_image)
        request = BuildRequest(seed=run, dockerfile=head, context=(FileEntry.of("x", run.encode()),))
        assert (await builder.build(request)).ok
    async with DockerSandbox(engine, run_id=ours).open(ContainerSpec(image=base_image, seed="s", purpose="test")) as c:
        await c.freeze()
        assert remove_run(engine, ours) == 3
    assert_nothing_left(engine, ours)
    assert of_run(engine, other) == (0, 1)
    assert remove_run(engine, other) == 1


async def test_an_image_stays_for_the_run_that_still_needs_it(
    engine: DockerClient, run_id: str, base_image: str, assert_nothing_left: Callable[..., None]
) -> None:
    """Two runs on the same task: one built its image, the other finds it there; the first to end takes it from none."""
    first, second = f"{run_id}-first", f"{run_id}-second"
    head = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY x /x\n"
    request = BuildRequest(seed="shared", dockerfile=head, context=(FileEntry.of("x", run_id.encode()),))
    spec = ContainerSpec(image=request.tag(), seed="shared", purpose="test")
    builds = DockerImageBuilder(engine, run_id=first, base_image=base_image)
    finds = DockerImageBuilder(engine, run_id=second, base_image=base_image)
    assert (await builds.build(request)).ok
    assert await finds.exists(request.tag(), "s")
    assert remove_run(engine, first) == 0
    assert await finds.exists(request.tag(), "s")
    engine.api.remove_image(request.tag())  # what a run does that looked before the other took hold
    async with DockerSandbox(engine, run_id=second).open(spec) as container:
        assert await container.read("/x", max_bytes=100) == run_id.encode()
    assert await finds.exists(request.tag(), "s")
    await finds.remove(request.tag())
    assert not await finds.exists(request.tag(), "s")
    for run in (first, second):
        assert_nothing_left(engine, run)


def test_what_an_engine_killed_amid_a_build_leaves_is_swept(engine: DockerClient, base_image: str, run_id: str) -> None:
    """Containers of build steps have no label of ours, only the mark; so it is with the layer that they stand on."""
    program = "from facet_dagster.adapters.docker_build_mark import new_mark; print(new_mark())"
    dead = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    made = []
    for mark in (dead, new_mark(), f"{dead}-of-somebody-else"):
        first = engine.containers.create(base_image, ["true"])
        layer = first.commit(message=mark)
        first.remove()
        made.append((engine.containers.create(layer.id, ["true"], extra_hosts={mark: "127.0.0.1"}), layer))
    try:
        assert sweep_dead(engine) >= 1
        left = {row["Id"] for row in engine.api.containers(all=True)}
        assert [step.id in left for step, _ in made] == [False, True, True]
        assert [has_image(engine, str(layer.id)) for _, layer in made] == [False, True, True]
    finally:
        for step, layer in made[1:]:
            step.remove()
            engine.images.remove(layer.id)
