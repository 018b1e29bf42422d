"""The terminal over a real tmux in a real container, and a whole trial with a scripted teacher."""

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.call import ChatRequest
from facet_dagster.records.container import Command, ContainerSpec, Limits
from facet_dagster.records.environment import Manifest, Materials, ObservedState
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.validation import GradeReport
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.terminal import Terminal, TerminalDied
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.testing.examples import an_environment
from facet_dagster.testing.scripted_model import ScriptedModel

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mb=512, pids=64, disk_mb=100)


@pytest.fixture
async def sandbox(
    engine: DockerClient, run_id: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[DockerSandbox]:
    yield DockerSandbox(engine, run_id=run_id)
    assert_nothing_left(engine, run_id)


def spec(image: str) -> ContainerSpec:
    return ContainerSpec(image=image, seed="terminal", purpose="test", limits=LIMITS)


async def test_the_first_screen_is_the_same_everywhere(sandbox: DockerSandbox, base_image: str) -> None:
    for _ in range(2):
        async with sandbox.open(spec(base_image)) as container:
            assert await Terminal(container).start() == "agent@task:/app$"


async def test_only_what_is_new_is_shown(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        first = await terminal.exchange([("echo first-$((1+1)); cd /tmp\n", 0.4)])
        assert first == "New terminal output:\nagent@task:/app$ echo first-$((1+1)); cd /tmp\nfirst-2\nagent@task:/tmp$"
        second = await terminal.exchange([("whoami; echo $USER ${FACET_PROMPT-unset} ${PROMPT_COMMAND-unset}\n", 0.4)])
        assert "first-2" not in second and "agent\nagent unset unset\n" in second
        # More than a screenful of output is still shown from its beginning.
        third = (await terminal.exchange([("seq 1 200\n", 0.5)])).splitlines()
        assert third[2:202] == [str(n) for n in range(1, 201)]


async def test_what_is_printed_during_the_look_hides_nothing(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        loop = "for n in {1..450}; do printf line-; sleep 0; echo $n; sleep 0; done; echo fin''ished"
        shown = [await terminal.exchange([(f"{loop}\n", 0)])]
        while "finished" not in shown[-1]:
            shown.append(await terminal.exchange([("", 0)]))
        assert {look.splitlines()[0] for look in shown} == {"New terminal output:"}
        assert [row for row in joined(shown) if re.fullmatch(r"line-\d*", row)] == [f"line-{n}" for n in range(1, 451)]


def joined(shown: Sequence[str]) -> list[str]:
    """The rows of several looks; the row of the cursor, where a look ended amid it, is shown again as it goes on."""
    rows: list[str] = []
    for look in shown:
        new = look.splitlines()[1:]
        if rows and new and new[0].startswith(rows[-1]):
            rows.pop()
        rows += new
    return rows


async def test_a_flood_is_cut_in_the_middle(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        shown = await terminal.exchange([("seq 100000 120000\n", 1.5)])
        assert len(shown.encode()) < 10_200
        assert "\n100000\n" in shown and "\n120000\n" in shown and "bytes left out" in shown


async def test_keys_interrupt_and_verbatim_text_arrives(sandbox: DockerSandbox, base_image: str) -> None:
    text = "a 'quoted' \"line\" with $HOME `id` \\n C-c ✓ Grüße"
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        keys = [("sleep 1000\n", 0.3), ("C-c", 0.3), (f"cat > note.txt\n{text}\n", 0.2), ("C-d", 0.3)]
        shown = await terminal.exchange(keys)
        assert await container.read("/app/note.txt", max_bytes=1000) == f"{text}\n".encode()
        assert shown.endswith("agent@task:/app$")


async def test_a_large_file_can_be_typed(sandbox: DockerSandbox, base_image: str) -> None:
    lines = "".join(f"line {n} of a long text that is typed into the terminal\n" for n in range(3_000))
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        await terminal.exchange([(f"cat > big.txt << 'EOT'\n{lines}EOT\n", 2.0)])
        for _ in range(20):
            if (await terminal.exchange([("", 0.5)])).endswith("agent@task:/app$"):
                break
        assert await container.read("/app/big.txt", max_bytes=1_000_000) == lines.encode()


async def test_a_full_screen_is_shown_as_it_stands_and_clear_takes_nothing(
    sandbox: DockerSandbox, base_image: str
) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        paged = await terminal.exchange([("seq 1 500 > n; less n\n", 0.5)])
        assert paged.startswith("Current terminal screen:\n1\n2\n")
        assert "agent@task:/app$" in await terminal.exchange([("q", 0.3)])
        shown = await terminal.exchange([("seq 300; clear; seq 100; clear; echo after\n", 0.5)])
        rows = [row for row in shown.splitlines() if row.isdecimal()]
        assert rows == [str(n) for n in (*range(1, 301), *range(1, 101))]
        assert shown.startswith("New terminal output:\n") and shown.rstrip().endswith("after\nagent@task:/app$")
        assert (await terminal.exchange([("echo more\n", 0.3)])).startswith("New terminal output:\nagent@task")


CLIENT_ENDS = ["pkill -9 -x 'tmux: client'\n", "tmux detach-client -a\n", "tmux detach-client -s main\n"]


@pytest.mark.parametrize("fault", CLIENT_ENDS)
async def test_a_lost_client_is_replaced(sandbox: DockerSandbox, base_image: str, fault: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        await terminal.exchange([("echo before\n", 0.3)])
        for number in range(2):
            await terminal.exchange([(fault, 0.3)])
            shown = await terminal.exchange([(f"echo after-{number}\n", 0.3)])
            assert shown.endswith(f"after-{number}\nagent@task:/app$") and "before" not in shown


async def test_output_that_is_no_text_is_shown_as_far_as_it_goes(sandbox: DockerSandbox, base_image: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        # No escapes among it: half of a sequence may keep tmux from showing anything more, whoever drives it.
        noise = r"printf '\xff\xfe\x00 %%end 1 2 3\n'; head -c 300000 /dev/urandom | tr -d '\000-\037'; echo wh''ole"
        shown = await terminal.exchange([(f"{noise}\n", 3.0)])
        for _ in range(20):
            if "whole" in shown:
                break
            shown = await terminal.exchange([("", 1.0)])
        assert "whole" in shown and len(shown.encode()) < 11_000
        assert (await terminal.exchange([("clear; echo next\n", 1.0)])).endswith("next\nagent@task:/app$")


async def test_what_fills_the_disk_ends_the_terminal_with_its_reason(sandbox: DockerSandbox, base_image: str) -> None:
    fill = "for n in 1 2 3 4; do head -c 40M /dev/zero > /app/$n; done\n"
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        with pytest.raises(TerminalDied, match="ended by the disk limit"):
            for _ in range(20):
                await terminal.exchange([(fill, 2.0)])


async def test_a_terminal_that_its_agent_stops_is_dead(
    sandbox: DockerSandbox, base_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        monkeypatch.setattr("facet_dagster.rollout.terminal.ENGINE_S", 3.0)
        with pytest.raises(TerminalDied, match="was stopped"):
            await terminal.exchange([("pkill -STOP tmux\n", 0.5)])


KILLED = ["kill -9 $PPID $$\n", "kill -9 -1\n", "pkill -9 bash\n", "pkill -9 tmux\n", "tmux kill-server\n"]


@pytest.mark.parametrize("end", ["exit\n", "C-d", *KILLED])
async def test_a_session_that_was_left_is_dead(sandbox: DockerSandbox, base_image: str, end: str) -> None:
    async with sandbox.open(spec(base_image)) as container:
        terminal = Terminal(container)
        await terminal.start()
        with pytest.raises(TerminalDied):
            await terminal.exchange([(end, 0.5)])


async def test_a_trial_is_graded_after_its_processes_are_gone(sandbox: DockerSandbox, base_image: str) -> None:
    async def grade(image: str) -> GradeReport:
        async with sandbox.open(spec(image)) as container:
            look = await container.run(Command(script="cat /app/out.txt; pgrep -c -x tmux || true"))
        reward = 1.0 if look.output == "done\n0\n" else 0.0
        return GradeReport(reward=reward, tests=(), executed=1, seconds=0.0, output=look.output)

    def say(keys: list[str], done: bool) -> str:
        commands = [{"keystrokes": k, "duration": 0.3} for k in keys]
        return json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": done})

    answers = [say(["(sleep 1000; rm out.txt) &\n", "echo done > out.txt\n"], False), say([], True), say([], True)]
    trial = await _trial(sandbox, base_image, answers, grade)
    assert trial.stop is StopReason.COMPLETED and trial.success, trial.grade
    assert "echo done > out.txt" in trial.turns[0].observation


@pytest.mark.parametrize("end", ["kill", "remove"])
async def test_a_container_that_dies_is_no_verdict(
    engine: DockerClient, run_id: str, sandbox: DockerSandbox, base_image: str, end: str
) -> None:
    def die(request: ChatRequest) -> dict[str, object]:
        (container,) = engine.containers.list(filters={"label": f"facet.run={run_id}"})
        container.kill() if end == "kill" else container.remove(force=True)
        return {"analysis": "", "plan": "", "commands": [{"keystrokes": "ls\n"}], "task_complete": False}

    async def grade(image: str) -> GradeReport:
        raise AssertionError("nothing is graded")

    trial = await _trial(sandbox, base_image, die, grade)
    assert trial.stop is StopReason.INFRASTRUCTURE and trial.reward is None and len(trial.turns) == 1, trial.trouble


async def _trial(sandbox: DockerSandbox, image: str, answers: Any, grade: Callable[[str], object]) -> Trial:
    nothing = {"files": [], "apt_packages": [], "pip_packages": [], "services": [], "properties": []}
    environment = an_environment(
        manifest=Manifest(directories=[], **nothing),
        materials=Materials(generators=[], setup_commands=[], **nothing),
        image=image,
        build_seconds=0,
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
    )
    return await run_trial(
        begin("org/terminal", "terminal", "b" * 64, 0, model="scripted", run_id="run"),
        Instruction(text="Write done.", clauses={}), environment,
        model=ScriptedModel({"rollout.teacher": answers}), sandbox=sandbox, limits=LIMITS,
        settings=TrialLimits(), grade=grade,
    )  # fmt: skip
