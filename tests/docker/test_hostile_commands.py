"""Commands that flood, hang, hoard memory, fork without end or fill the disk: each ends at its limit, alone."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.records.container import Command, ContainerSpec, FileEntry, Limits

pytestmark = pytest.mark.docker

SMALL = Limits(memory_mb=64, pids=40, disk_mb=40, output_bytes=2_000)


@pytest.fixture
async def sandbox(
    engine: DockerClient, run_id: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[DockerSandbox]:
    yield DockerSandbox(engine, run_id=run_id)
    assert_nothing_left(engine, run_id)


def spec(image: str, limits: Limits = SMALL) -> ContainerSpec:
    return ContainerSpec(image=image, seed="hostile", purpose="test", limits=limits)


async def test_a_flood_keeps_head_and_tail(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="echo first; seq 1 2000000; echo last"))
    assert result.ok and result.truncated
    assert result.output.startswith("first\n1\n") and result.output.endswith("last\n")
    assert len(result.output) < 2_200


async def test_a_hanging_command_ends_and_the_container_goes_on(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="echo begun; sleep 600", timeout_s=0.5))
        assert (result.limit, result.exit_code, result.output) == ("time", -1, "begun\n")
        assert (await container.run(Command(script="echo still here"))).output == "still here\n"


async def test_killing_the_timeout_does_not_help(sandbox: DockerSandbox, base_image: str) -> None:
    escape = "trap '' TERM; kill -9 $PPID; setsid bash -c 'trap \"\" TERM; while :; do sleep 1; echo on; done'"
    async with sandbox.open(spec(base_image)) as container:
        await container.put([FileEntry.of("/app/kept", b"kept")])
        assert not (await container.run(Command(script=escape, timeout_s=0.5))).ok
        assert await container.read("/app/kept", max_bytes=10) == b"kept"
        assert (await container.run(Command(script="true"))).ok


async def test_a_stopped_timeout_is_ended_by_the_host(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        await container.put([FileEntry.of("/app/kept", b"kept")])
        result = await container.run(Command(script="kill -STOP $PPID; sleep 600", timeout_s=0.5))
        assert (result.limit, result.exit_code) == ("time", -1)
        assert (await container.run(Command(script="cat /app/kept; pgrep -c sleep"))).output == "kept1\n"


async def test_a_background_process_does_not_hold_the_command(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="sleep 600 & echo started", timeout_s=30))
    assert (result.ok, result.output) == (True, "started\n")


async def test_memory(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="python3 -c 'x = bytearray(500_000_000)'"))
        assert (result.limit, result.exit_code) == ("memory", -1)
        assert (await container.run(Command(script="exit 9"))).limit is None


async def test_processes(sandbox: DockerSandbox, base_image: str) -> None:
    bomb = "while :; do sleep 600 & done 2>/dev/null"
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script=bomb, timeout_s=2))
        assert not result.ok
    # Leaving the context is the assertion: the bomb's container could be removed.


async def test_disk_by_one_file(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="head -c 400M /dev/zero > /app/big"))
    assert (result.limit, result.exit_code) == ("disk", -1)


async def test_disk_by_many_files(sandbox: DockerSandbox, base_image: str) -> None:
    fill = "for i in $(seq 1 100000); do head -c 4M /dev/zero > /app/f$i; sleep 0.05; done"
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script=fill, timeout_s=60))
    assert (result.limit, result.exit_code) == ("disk", -1)


async def test_the_agent_can_neither_grade_nor_reach_out(sandbox: DockerSandbox, base_image: str) -> None:
    checks = {
        "id -u": "1000",
        "touch /logs/verifier/reward.txt 2>&1 | grep -o denied": "denied",
        "grep CapEff /proc/self/status | cut -f2": "0000000000000000",
        "grep NoNewPrivs /proc/self/status | cut -f2": "1",
        "ls /sys/class/net": "lo",
        "hostname": "task",
        "pwd": "/app",
        "echo $LANG": "C.UTF-8",
        "touch /app/x && stat -c %U /app/x": "agent",
    }
    async with sandbox.open(spec(base_image)) as container:
        seen = {script: (await container.run(Command(script=script))).output.strip() for script in checks}
    assert seen == checks


async def test_root_inside_prepares_files_for_others(sandbox: DockerSandbox, base_image: str) -> None:
    script = "mkdir /srv/x && chown agent /srv/x && su agent -s /bin/sh -c 'touch /srv/x/y' && stat -c '%U %a' /srv/x/y"
    async with sandbox.open(spec(base_image)) as container:
        assert (await container.run(Command(script=script, user="root"))).output == "agent 644\n"
        await container.put([FileEntry.of("/opt/a/b/run.sh", b"echo hi", mode=0o700)])
        await container.put([FileEntry.of("/home/agent/n/x", b"")], owner="agent")
        seen = await container.run(
            Command(script="stat -c '%U %a' /opt/a /opt/a/b /opt/a/b/run.sh /home/agent/n /home/agent/n/x", user="root")
        )
    assert seen.output.splitlines() == ["root 755", "root 755", "root 700", "agent 755", "agent 644"]


async def test_a_directory_that_is_gone_is_the_commands_fault(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        result = await container.run(Command(script="true", workdir="/no/such/place"))
    assert (result.ok, result.limit) == (False, None)


async def test_links_are_not_followed(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        await container.run(Command(script="ln -s /etc/shadow /app/link; mkfifo /app/pipe"))
        assert await container.read("/app/link", max_bytes=100) is None
        assert await container.read("/app/pipe", max_bytes=100) is None


async def test_a_file_that_is_cut_all_the_time_is_no_trouble_of_the_engine(
    sandbox: DockerSandbox, base_image: str
) -> None:
    flux = "while :; do head -c 3000000 /dev/zero > /app/flux; : > /app/flux; done"
    async with sandbox.open(spec(base_image)) as container:
        assert (await container.run(Command(script=f"setsid bash -c '{flux}' > /dev/null 2>&1 &"))).ok
        sizes = [len(await container.read("/app/flux", max_bytes=4_000_000) or b"") for _ in range(40)]
    assert max(sizes) <= 3_000_000


async def test_freezing_ends_every_process(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        await container.run(Command(script="(while :; do date >> /app/log; sleep 0.1; done) > /dev/null 2>&1 &"))
        image = await container.freeze()
        before = await container.read("/app/log", max_bytes=100_000)
        async with sandbox.open(spec(image)) as frozen:
            assert await frozen.read("/app/log", max_bytes=100_000) == before
    await sandbox.discard(image)


@pytest.mark.parametrize("moment", [0.0, 0.3, 1.5])
async def test_cancellation_leaves_nothing(sandbox: DockerSandbox, base_image: str, moment: float) -> None:
    async def work() -> None:
        async with sandbox.open(spec(base_image)) as container:
            await container.run(Command(script="sleep 600", timeout_s=600))

    task = asyncio.create_task(work())
    await asyncio.sleep(moment)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
