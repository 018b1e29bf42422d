"""Which keys reach the container, and what of its answer is shown (the real tmux: tests/docker/test_terminal.py)."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.errors import InfrastructureError
from facet_dagster.rollout import terminal as terminal_module
from facet_dagster.rollout.terminal import OBSERVATION_BYTES, Terminal, TerminalDied, cut


async def started(container):
    terminal = Terminal(container)
    await terminal.start()
    return terminal


async def test_what_was_asked_is_waited(container):
    terminal = Terminal(container)
    await terminal.start()
    await terminal.exchange([("ls\n", 0.5)])
    assert container.waits == [0.5]


@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        ("ls\n", "ls\n"),
        ("C-c", "<C-c>"),
        ("C-d", "<C-d>"),
        ("Enter", "<Enter>"),
        ("\n", "<Enter>"),
        ("C-c\n", "C-c\n"),
        ("echo 'C-c' \"$x\" `y` \\", "echo 'C-c' \"$x\" `y` \\"),
        ("-t other\n", "-t other\n"),
        ("Grüße ✓\n", "Grüße ✓\n"),
        ("#{pid} #(id) ~ ; %if \t\x1b[A\r", "#{pid} #(id) ~ ; %if \t\x1b[A\r"),
    ],
)
async def test_keys_are_typed_as_they_stand_and_names_alone_are_keys(container, keys, typed):
    await (await started(container)).exchange([(keys, 0)])
    assert container.typed == [typed]


async def test_large_input_travels_in_pieces_and_arrives_whole(container):
    text = "0123456789" * 20_000
    await (await started(container)).exchange([(text, 0)])
    assert len(container.typed) > 1
    assert "".join(container.typed) == text


async def test_no_keys_only_wait(container):
    await (await started(container)).exchange([("", 2.0)])
    assert container.typed == [] and container.waits == [2.0]


async def test_a_dead_session_is_not_trouble_of_the_engine(container):
    terminal = Terminal(container)
    await terminal.start()
    container.alive = False
    with pytest.raises(TerminalDied):
        await terminal.exchange()
    with pytest.raises(TerminalDied):
        await terminal.exchange([("ls\n", 0)])


async def test_a_terminal_that_never_starts_is_trouble(container):
    container.alive = False
    with pytest.raises(InfrastructureError):
        await Terminal(container).start()


async def test_a_session_that_says_nothing_at_all_is_trouble(container, monkeypatch):
    monkeypatch.setattr(terminal_module, "PROMPT_S", 0.01)
    container.mute = True
    async with asyncio.timeout(5):
        with pytest.raises(InfrastructureError, match="does not start"):
            await Terminal(container).start()


async def test_a_client_that_is_gone_is_replaced_and_no_key_typed_twice(container):
    terminal = await started(container)
    container.streams[-1].dead = True
    await terminal.exchange([("ls\n", 0.5)])
    assert container.typed == ["ls\n"] and container.waits == [0.5] and len(container.streams) == 2
    assert container.streams[0].closed


async def test_keys_that_were_taken_are_not_typed_again(container):
    terminal = await started(container)
    before = container.screen
    container.screen = lambda typed: setattr(container.streams[0], "dead", len(typed) == 1) or before(typed)
    await terminal.exchange([("a\n", 0), ("b\n", 0)])
    assert container.typed == ["a\n", "b\n"]


async def test_a_bound_that_ended_the_container_is_named(container):
    terminal = await started(container)
    container.streams[-1].dead, container.streams[-1].limit = True, "disk"
    with pytest.raises(TerminalDied, match="ended by the disk limit"):
        await terminal.exchange()


@pytest.mark.parametrize(("stopped", "raised"), [(False, InfrastructureError), (True, TerminalDied)])
async def test_a_terminal_that_stalls_is_trouble_unless_its_agent_stopped_it(container, monkeypatch, stopped, raised):
    terminal = await started(container)
    monkeypatch.setattr("facet_dagster.rollout.terminal.ENGINE_S", 0.01)
    container.streams[-1].silent, container.stopped = True, stopped
    with pytest.raises(raised):
        await terminal.exchange()


async def test_a_prompt_that_does_not_come_is_trouble(container, monkeypatch):
    monkeypatch.setattr("facet_dagster.rollout.terminal.PROMPT_S", 0.01)
    container.screen = lambda typed: "starting"
    with pytest.raises(InfrastructureError, match="no prompt"):
        await Terminal(container).start()


async def test_a_screen_that_jumps_back_is_shown_as_the_screen(container):
    container.screen = lambda typed: "one\ntwo\nthree$"
    terminal = await started(container)
    assert await terminal.exchange() == "New terminal output:\nthree$"
    container.screen = lambda typed: "cleared"
    assert await terminal.exchange() == "Current terminal screen:\ncleared"


async def test_what_is_printed_between_two_questions_is_neither_lost_nor_a_jump(container):
    terminal = await started(container)
    looks = iter(range(1, 9))
    container.screen = lambda typed: "\n".join(["begun", *map(str, range(min(next(looks, 9), 6)))])
    assert await terminal.exchange() == "New terminal output:\nbegun\n0\n1\n2\n3\n4\n5"
    assert await terminal.exchange() == "New terminal output:\n5"


def test_short_text_is_not_cut():
    assert cut("x" * OBSERVATION_BYTES, OBSERVATION_BYTES) == "x" * OBSERVATION_BYTES


def test_a_cut_says_how_much_is_missing():
    shown = cut("a" * 10_000 + "b" * 10_000, size=1_000_000)
    assert shown.startswith("a" * 5_000 + "\n[... 990000 bytes left out ...]\n") and shown.endswith("b" * 5_000)


@given(st.text(min_size=0, max_size=400), st.integers(20, 200))
def test_a_cut_accounts_for_every_byte(text, limit):
    shown = cut(text, len(text.encode()), limit)
    if len(text.encode()) <= limit:
        assert shown == text
        return
    head, rest = shown.split("\n[... ", 1) if shown.count("\n[... ") == 1 else shown.rsplit("\n[... ", 1)
    number, tail = rest.split(" bytes left out ...]\n", 1)
    assert len(head.encode()) + int(number) + len(tail.encode()) == len(text.encode())
    assert text.startswith(head) and text.endswith(tail)
