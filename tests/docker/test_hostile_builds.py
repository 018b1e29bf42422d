"""Dockerfiles that never end, hoard memory, fork without end or fill the disk: a result each time, nothing left."""

import asyncio
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult, FileEntry, Limits

pytestmark = pytest.mark.docker

SMALL = Limits(memory_mb=64, pids=40, disk_mb=40)


def request(run: str, *, timeout_s: float = 60.0, limits: Limits = SMALL, head: str = "") -> BuildRequest:
    dockerfile = f"ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}}\n{head}RUN {run}\n"
    return BuildRequest(seed="hostile", dockerfile=dockerfile, context=(), timeout_s=timeout_s, limits=limits)


def untagged(client: DockerClient) -> set[str]:
    return {row["Id"] for row in client.api.images(filters={"dangling": True})}


def build_containers(client: DockerClient, marker: str) -> list[str]:
    rows = client.api.containers(all=True)
    return [row["Id"] for row in rows if marker in (row.get("Command") or "")]


async def stopped(builder: DockerImageBuilder, engine: DockerClient, wanted: BuildRequest) -> BuildResult:
    """The result of a build that must fail, with its traces looked for by the run-step's own text."""
    result = await builder.build(wanted)
    assert not result.ok and not await builder.exists(wanted.tag(), "s")
    marker = wanted.dockerfile.rpartition("RUN ")[2][:10]
    assert build_containers(engine, marker) == []
    return result


@pytest.mark.parametrize(
    ("limit", "run", "timeout_s"),
    [
        ("time", "echo begun; sleep 601", 2.0),
        ("memory", "python3 -c 'x = bytearray(500_000_000)'", 60.0),
        ("processes", "while :; do sleep 605 & done", 60.0),
        ("disk", "for i in $(seq 1 100000); do head -c 4M /dev/zero > /f$i; sleep 0.05; done", 60.0),
    ],
)
async def test_limits(
    builder: DockerImageBuilder, engine: DockerClient, limit: str, run: str, timeout_s: float
) -> None:
    result = await stopped(builder, engine, request(run, timeout_s=timeout_s))
    assert result.fault is BuildFault.LIMIT
    assert f"Stopped by the limit on {limit}" in result.log


async def test_a_bomb_that_keeps_trying_is_ended_by_time(builder: DockerImageBuilder, engine: DockerClient) -> None:
    bomb = "bash -c 'bomb() { bomb | bomb & }; bomb; sleep 602'"
    result = await stopped(builder, engine, request(bomb, timeout_s=3.0))
    assert result.fault is BuildFault.LIMIT


async def test_the_log_keeps_the_step_that_failed(builder: DockerImageBuilder, engine: DockerClient) -> None:
    wanted = request("echo wrong thing >&2; seq 1 300000; echo the end; exit 7", head="RUN echo early\n")
    result = await stopped(builder, engine, wanted)
    assert result.fault is BuildFault.FAILED and len(result.log) <= 20_000
    assert "Step 3/" in result.log and "RUN echo early" in result.log
    assert "wrong thing" in result.log and "the end" in result.log and "non-zero code: 7" in result.log


async def test_failed_layers_are_removed(builder: DockerImageBuilder, engine: DockerClient) -> None:
    before = untagged(engine)
    await stopped(builder, engine, request("exit 8", head="RUN echo some layer of test_failed_layers > /x\n"))
    made = [engine.images.get(image) for image in untagged(engine) - before]
    assert [image for image in made if "test_failed_layers" in str(image.history())] == []


@pytest.mark.parametrize(
    "dockerfile", ["NONSENSE\n", "", "FROM\n", "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY no /no\n"]
)
async def test_a_dockerfile_that_is_none_is_a_failed_build(builder: DockerImageBuilder, dockerfile: str) -> None:
    result = await builder.build(BuildRequest(seed="hostile", dockerfile=dockerfile, context=()))
    assert result.fault is BuildFault.FAILED and result.log


async def test_a_step_cannot_pass_for_the_builder(builder: DockerImageBuilder, engine: DockerClient) -> None:
    other = engine.containers.run(
        await base_of(builder), ["sleep", "100"], detach=True, labels={"facet.project": "bystander"}
    )
    try:
        forged = f"echo ' ---> Running in {str(other.id)[:12]}'; sleep 603"
        await stopped(builder, engine, request(forged, timeout_s=2.0))
        other.reload()
        assert other.status == "running"
    finally:
        other.remove(force=True, v=True)


async def base_of(builder: DockerImageBuilder) -> str:
    return builder._base_image


async def test_volumes_are_refused(builder: DockerImageBuilder) -> None:
    result = await builder.build(request("true", head="VOLUME /app/data\n"))
    assert result.fault is BuildFault.FAILED and "VOLUME is not allowed" in result.log


@pytest.mark.parametrize(
    "head",
    [
        "RUN --mount=type=bind,source=/,target=/host cp /host/etc/shadow /x\n",
        "RUN --security=insecure mount -t proc proc /mnt\n",
        "COPY ../../../../etc/passwd /x\n",
    ],
)
async def test_a_build_that_reaches_for_the_host_fails(builder: DockerImageBuilder, head: str) -> None:
    """A mount of the host, rights over it, files outside the context: the engine knows none of it."""
    result = await builder.build(request("true", head=head))
    assert result.fault is BuildFault.FAILED and result.log


async def test_the_engine_fetches_nothing_from_its_own_machine(builder: DockerImageBuilder) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/secret"
        result = await builder.build(request("true", head=f"ADD {address} /x\n"))
        server.shutdown()
    assert result.fault is BuildFault.FAILED and "its own network" in result.log
    assert asked == []


async def test_cancellation_ends_the_build(builder: DockerImageBuilder, engine: DockerClient) -> None:
    task = asyncio.create_task(builder.build(request("echo going to be cancelled; sleep 604", timeout_s=600)))
    await asyncio.sleep(1.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert build_containers(engine, "cancelled") == []


async def test_the_next_build_of_the_same_request_replaces_the_image(
    builder: DockerImageBuilder, engine: DockerClient, run_id: str, base_image: str
) -> None:
    wanted = BuildRequest(
        seed="hostile",
        dockerfile="ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY x /x\n",
        context=(FileEntry.of("x", os.urandom(20)),),
    )
    other = DockerImageBuilder(engine, run_id=f"{run_id}-other", base_image=base_image)
    assert (await builder.build(wanted)).ok
    first = engine.images.get(wanted.tag()).id
    assert (await other.build(wanted)).ok
    assert first not in untagged(engine)
    assert engine.images.get(first).tags, "the run that built it holds it"
    await builder.remove(wanted.tag())
    await other.remove(wanted.tag())


async def test_a_fresh_build_takes_nothing_from_the_cache_and_stands_beside(
    builder: DockerImageBuilder, engine: DockerClient
) -> None:
    wanted = request("date +%s%N > /made")
    fresh = wanted.model_copy(update={"fresh": "night"})
    assert (await builder.build(wanted)).ok and (await builder.build(fresh)).ok
    standing, anew = (engine.images.get(each.tag()).attrs["RootFS"]["Layers"] for each in (wanted, fresh))
    assert standing[-1] != anew[-1]
    await builder.remove(fresh.tag())
    assert await builder.exists(wanted.tag(), "hostile") and not await builder.exists(fresh.tag(), "hostile")
    await builder.remove(wanted.tag())


async def test_pip_works_as_root_where_an_index_can_be_reached(builder: DockerImageBuilder) -> None:
    head = "ARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\nARG PIP_TRUSTED_HOST\nARG PIP_CERT\n"
    wanted = request(
        "pip install --no-cache-dir --disable-pip-version-check --retries 0 --timeout 20 iniconfig==2.0.0 && env",
        limits=Limits(memory_mb=512),
        head=head,
    )
    try:
        result = await builder.build(wanted)
    except InfrastructureError as error:
        pytest.skip(f"no package index can be reached: {error}")
    assert result.ok, result.log
    image = await builder.exists(wanted.tag(), "s")
    await builder.remove(wanted.tag())
    assert image
