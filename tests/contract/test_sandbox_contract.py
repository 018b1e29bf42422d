"""What Sandbox and ImageBuilder promise, on the fakes and on Docker alike."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import ImageBuilder, Sandbox
from facet_dagster.records.container import (
    BuildFault,
    BuildRequest,
    BuildResult,
    Command,
    CommandResult,
    ContainerSpec,
    FileEntry,
)
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox, from_table

DOCKERFILE = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY greeting /greeting\n"
BROKEN = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo about to fail && exit 3\n"


@dataclass
class World:
    """One implementation of both ports, and an image to start from."""

    sandbox: Sandbox
    builder: ImageBuilder
    image: str

    def spec(self, image: str | None = None) -> ContainerSpec:
        return ContainerSpec(image=image or self.image, seed="contract", purpose="test")


def fake_world() -> World:
    table = {
        "echo out; echo err >&2; exit 3": CommandResult(exit_code=3, output="out\nerr\n", seconds=0.0),
        "true": CommandResult(exit_code=0, output="", seconds=0.0),
    }

    def answer(container: FakeContainer, command: Command) -> CommandResult:
        if command.script.startswith("cat "):
            text = container.files[command.script.removeprefix("cat ")].decode()
            return CommandResult(exit_code=0, output=text, seconds=0.0)
        return from_table(table)(container, command)

    def build(request: BuildRequest) -> BuildResult:
        failed = "exit 3" in request.dockerfile
        log = "about to fail\nreturned a non-zero code: 3" if failed else "built"
        fault = BuildFault.FAILED if failed else None
        said = dict(line.split(maxsplit=1) for line in request.dockerfile.splitlines() if " " in line)
        user, workdir = said.get("USER", ""), said.get("WORKDIR", "/app")
        return BuildResult(image=request.tag(), fault=fault, log=log, seconds=0.0, user=user, workdir=workdir)

    sandbox = FakeSandbox(answer, {"base": {"/etc/hostname": b"task\n"}})
    return World(sandbox, FakeImageBuilder(sandbox, build), "base")


@pytest.fixture(params=["fake", "patient", pytest.param("docker", marks=pytest.mark.docker)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param != "docker":
        plain = fake_world()
        yield plain if request.param == "fake" else patient(plain)
        return
    engine, run, base = (request.getfixturevalue(name) for name in ("engine", "run_id", "base_image"))
    check: Callable[..., None] = request.getfixturevalue("assert_nothing_left")
    builder = DockerImageBuilder(engine, run_id=run, base_image=base)
    yield patient(World(DockerSandbox(engine, run_id=run), builder, base))
    check(engine, run)


def patient(world: World) -> World:
    """As a run has it: new work waits for an engine that is away. This one never is."""

    async def answers() -> bool:
        return True

    waiting = PatientEngine(world.builder, world.sandbox, answers, print)
    return World(waiting, waiting, world.image)


async def test_a_command_gives_its_code_and_both_streams(world: World) -> None:
    async with world.sandbox.open(world.spec()) as container:
        result = await container.run(Command(script="echo out; echo err >&2; exit 3"))
        assert (result.exit_code, result.limit, result.truncated, result.ok) == (3, None, False, False)
        assert sorted(result.output.split()) == ["err", "out"]
        assert (await container.run(Command(script="true"))).ok


@pytest.mark.parametrize("data", [b"caf\xc3\xa9\n", bytes(range(256)) * 40, b""])
async def test_what_is_put_is_read_back(world: World, data: bytes) -> None:
    async with world.sandbox.open(world.spec()) as container:
        await container.put([FileEntry.of("/app/new/deep/file.bin", data), FileEntry.of("/app/b", b"b")])
        assert await container.read("/app/new/deep/file.bin", max_bytes=20_000) == data
        assert await container.read("/app/b", max_bytes=1) == b"b"


async def test_reading_stops_at_the_limit(world: World) -> None:
    async with world.sandbox.open(world.spec()) as container:
        await container.put([FileEntry.of("/app/big", b"0123456789" * 100_000)])
        assert await container.read("/app/big", max_bytes=15) == b"012345678901234"


@pytest.mark.parametrize("path", ["/app/none", "/none/at/all", "/app", "/app/file/below"])
async def test_what_is_no_file_reads_as_none(world: World, path: str) -> None:
    async with world.sandbox.open(world.spec()) as container:
        await container.put([FileEntry.of("/app/file", b"x")])
        assert await container.read(path, max_bytes=100) is None


async def test_commands_see_what_was_put(world: World) -> None:
    async with world.sandbox.open(world.spec()) as container:
        await container.put([FileEntry.of("/app/file", b"content")], owner="agent")
        assert (await container.run(Command(script="cat /app/file"))).output == "content"


async def test_a_script_that_goes_on_answers_what_is_sent_to_it(world: World) -> None:
    async with world.sandbox.open(world.spec()) as container:
        stream = await container.attach("exec cat")
        for data in (b"one\n", b"\xff\x00\n", b"x" * 100_000):
            await stream.send(data)
            heard = b""
            while len(heard) < len(data):
                heard += await stream.receive()
            assert heard == data
        assert stream.limit is None
        await stream.close()
        await stream.close()


async def test_a_frozen_file_system_starts_again_and_is_discarded(world: World) -> None:
    async with world.sandbox.open(world.spec()) as container:
        await container.put([FileEntry.of("/app/kept", b"kept")])
        image = await container.freeze()
        assert image.startswith("facet-frozen:")
        assert await container.read("/app/kept", max_bytes=10) == b"kept"
    async with world.sandbox.open(world.spec(image)) as again:
        assert (await again.run(Command(script="cat /app/kept"))).output == "kept"
    await world.sandbox.discard(image)
    await world.sandbox.discard(image)
    with pytest.raises(InfrastructureError):
        async with world.sandbox.open(world.spec(image)):
            pass


async def test_containers_are_apart(world: World) -> None:
    async with world.sandbox.open(world.spec()) as one, world.sandbox.open(world.spec()) as other:
        await one.put([FileEntry.of("/app/mine", b"x")])
        assert await other.read("/app/mine", max_bytes=10) is None


async def test_a_build_makes_an_image_that_starts_and_goes(world: World) -> None:
    request = BuildRequest(seed="contract", dockerfile=DOCKERFILE, context=(FileEntry.of("greeting", b"hello"),))
    assert not await world.builder.exists(request.tag(), "s")
    result = await world.builder.build(request)
    assert (result.ok, result.image) == (True, request.tag())
    assert await world.builder.exists(result.image, "s")
    async with world.sandbox.open(world.spec(result.image)) as container:
        assert await container.read("/greeting", max_bytes=100) == b"hello"
    await world.builder.remove(result.image)
    await world.builder.remove(result.image)
    assert not await world.builder.exists(result.image, "s")


@pytest.mark.parametrize(
    ("added", "user", "workdir"), [("", "", "/app"), ("USER agent:agent\nWORKDIR /srv\n", "agent:agent", "/srv")]
)
async def test_a_build_tells_as_whom_and_where_containers_start(
    world: World, added: str, user: str, workdir: str
) -> None:
    request = BuildRequest(seed="contract", dockerfile=DOCKERFILE + added, context=(FileEntry.of("greeting", b""),))
    result = await world.builder.build(request)
    assert (result.user, result.workdir) == (user, workdir)
    await world.builder.remove(result.image)


async def test_a_failed_build_is_a_result_with_its_log(world: World) -> None:
    request = BuildRequest(seed="contract", dockerfile=BROKEN, context=())
    result = await world.builder.build(request)
    assert (result.ok, result.fault) == (False, BuildFault.FAILED)
    assert "about to fail" in result.log and "non-zero code: 3" in result.log
    assert not await world.builder.exists(result.image, "s")
