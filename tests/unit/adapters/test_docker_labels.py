"""Who owns a container, and whether that process is dead."""

import os
import subprocess
import sys

import pytest

from facet_dagster.adapters.docker_labels import (
    OWNER_LABEL,
    PROJECT_LABEL,
    is_dead,
    label_of_build,
    labels,
    own_labels,
    owner_of,
)


def test_we_are_alive() -> None:
    assert not is_dead(labels(run_id="r", seed="s", purpose="p")[OWNER_LABEL])


def test_a_process_that_ended_is_dead_even_before_it_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = owner_of(process.pid)
    assert not is_dead(owner)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(owner)
    process.communicate()
    assert is_dead(owner)


def test_a_used_again_pid_is_another_process() -> None:
    pid, _, rest = owner_of(os.getpid()).partition(":")
    assert is_dead(f"{pid}:1:{rest.partition(':')[2]}")


def test_what_cannot_be_known_counts_as_alive() -> None:
    pid, start, _ = owner_of(os.getpid()).split(":", 2)
    assert not is_dead(f"{pid}:{start}:elsewhere/other-boot/pid:[1]")
    assert not is_dead("")
    assert not is_dead("nonsense")


def test_one_label_of_a_build_says_what_the_labels_of_a_container_say() -> None:
    packed = label_of_build(run_id='a "run"', seed="s", purpose="p")
    assert list(packed) == [PROJECT_LABEL]
    assert own_labels(packed) == labels(run_id='a "run"', seed="s", purpose="p")
    assert own_labels(labels(run_id="r", seed="s", purpose="p")) == labels(run_id="r", seed="s", purpose="p")


@pytest.mark.parametrize("value", ["", "bystander", "[]", "7", '{"facet.project": "other"}', "[" * 100_000, "{"])
def test_labels_of_others_say_nothing(value: str) -> None:
    assert own_labels({PROJECT_LABEL: value, "facet.run": "r"}) == {}


def test_what_has_no_labels_is_not_ours() -> None:
    assert own_labels(None) == own_labels({}) == {}
