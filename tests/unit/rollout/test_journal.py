"""A trial is on disk turn by turn, and one whose process died is found again."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.rollout import Handover, StopReason
from facet_dagster.rollout.journal import Journal, cut_trials, forget, journal
from facet_dagster.rollout.trial import begin
from tests.unit.rollout.test_atif import turn


@pytest.fixture
def begun():
    return begin("org/s", "s", "b" * 64, 2, model="m", run_id="r")


HANDOVER = Handover(context=1, turn=2, text="so far", calls=())


def test_what_was_done_is_found_when_the_writer_is_gone(tmp_path, begun):
    with journal(tmp_path, begun) as kept:
        kept.add(turn(1, "ls\n"))
        kept.add(HANDOVER)
        kept.add(turn(2))
    (cut,) = cut_trials(tmp_path, "s")
    assert cut.stop is StopReason.CUT and cut.reward is None and cut.attempt == 2
    assert cut.turns == (turn(1, "ls\n"), turn(2)) and cut.handovers == (HANDOVER,)
    assert cut.started_at == begun.started_at and cut.key.endswith(f"{begun.started_at:%f}")
    forget(tmp_path, cut)
    assert list(cut_trials(tmp_path, "s")) == []


def test_a_living_trial_is_left_alone(tmp_path, begun):
    with journal(tmp_path, begun) as kept:
        kept.add(turn(1))
        assert list(cut_trials(tmp_path, "s")) == []


def test_a_trial_in_which_nothing_was_done_leaves_nothing(tmp_path, begun):
    with pytest.raises(ZeroDivisionError), journal(tmp_path, begun):
        raise ZeroDivisionError
    assert not list(tmp_path.rglob("*.jsonl"))
    with journal(tmp_path, begun) as kept:
        kept.add(turn(1))
    (path,) = tmp_path.rglob("*.jsonl")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # as kill -9 before the first turn leaves it
    assert list(cut_trials(tmp_path, "s")) == [] and not path.exists()


def test_half_a_line_is_no_turn(tmp_path, begun):
    with journal(tmp_path, begun) as kept:
        kept.add(turn(1))
        kept.add(turn(2))
    (path,) = tmp_path.rglob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    (cut,) = cut_trials(tmp_path, "s")
    assert [t.number for t in cut.turns] == [1]
    path.write_bytes(whole[:20])
    assert list(cut_trials(tmp_path, "s")) == [] and not path.exists()


def test_a_full_disk_is_trouble_of_the_host(begun):
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(InfrastructureError, match="disk full"):
        Journal(full).add(turn(1))


def test_kill_9_leaves_what_was_done(tmp_path):
    program = textwrap.dedent("""
        import sys, pathlib, time
        from facet_dagster.rollout.journal import journal
        from facet_dagster.rollout.trial import begin
        from tests.unit.rollout.test_atif import turn
        with journal(pathlib.Path(sys.argv[1]), begin("org/s", "s", "b" * 64, 0, model="m", run_id="r")) as kept:
            kept.add(turn(1, "ls\\n"))
            print("kept", flush=True)
            time.sleep(600)
    """)
    process = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "kept\n"
    assert list(cut_trials(tmp_path, "s")) == []
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (cut,) = cut_trials(tmp_path, "s")
    assert cut.stop is StopReason.CUT and [t.commands[0].keystrokes for t in cut.turns] == ["ls\n"]
