"""Which images go at a run's end or in a sweep: those that nobody alive holds."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from facet_dagster.adapters import docker_holds
from facet_dagster.adapters.docker_holds import hold_of, is_abandoned, is_hold, is_of_run
from facet_dagster.adapters.docker_labels import (
    OWNER_LABEL,
    PROJECT,
    PROJECT_LABEL,
    RUN_LABEL,
    label_of_build,
    owner_of,
)
from facet_dagster.adapters.docker_sweep import remove_run, sweep_dead

NAME = "facet-env:0123456789abcdef"


class FakeApi:
    """An engine's images: labels and tags, nothing else."""

    def __init__(self, *images: tuple[Mapping[str, str], list[str]]) -> None:
        self._images = [{"Labels": dict(labels), "RepoTags": list(tags)} for labels, tags in images]

    def containers(self, **_: Any) -> list[Any]:
        return []

    def images(self, **_: Any) -> list[Any]:
        return [dict(image, RepoTags=list(image["RepoTags"])) for image in self._images]

    def remove_image(self, reference: str) -> None:
        for image in self._images:
            if reference in image["RepoTags"]:
                image["RepoTags"].remove(reference)

    @property
    def tags(self) -> list[str]:
        return [tag for image in self._images for tag in image["RepoTags"]]

    @property
    def api(self) -> "FakeApi":
        return self


@pytest.fixture
def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def held_by(pid: int, run: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as other:
        other.setattr(docker_holds.os, "getpid", lambda: pid)
        return hold_of(NAME, run_id=run)


def labels(run: str, pid: int) -> dict[str, str]:
    return {PROJECT_LABEL: PROJECT, RUN_LABEL: run, OWNER_LABEL: owner_of(pid)}


def test_a_hold_says_whose_it_is_and_fits_into_a_tag() -> None:
    hold = hold_of(NAME, run_id="run one")
    assert is_hold(hold) and not is_hold(NAME)
    assert is_of_run(hold, "run one") and not is_of_run(hold, "run")
    assert not is_abandoned(hold)
    assert len(hold.partition(":")[2]) <= 128
    assert hold == hold_of(NAME, run_id="run one") != hold_of("facet-env:other", run_id="run one")


def test_the_last_run_that_holds_an_image_removes_it() -> None:
    mine, other = hold_of(NAME, run_id="a"), hold_of(NAME, run_id="b")
    engine: Any = FakeApi((labels("a", os.getpid()), [NAME, mine, other]))
    assert remove_run(engine, "a") == 0
    assert engine.tags == [NAME, other]
    assert remove_run(engine, "b") == 1
    assert engine.tags == []


def test_a_dead_builders_image_stays_while_a_living_run_holds_it(dead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    living, gone = hold_of(NAME, run_id="b"), held_by(dead, "a", monkeypatch)
    gone = gone.replace(f".{dead}.gone.", f".{dead}.1.")  # it had a start time when it lived
    by_the_dead = {**labels("a", dead), OWNER_LABEL: owner_of(dead).replace("gone", "1")}
    engine: Any = FakeApi((by_the_dead, [NAME, gone, living]))
    assert sweep_dead(engine) == 0
    assert engine.tags == [NAME, living]
    assert remove_run(engine, "b") == 1 and engine.tags == []


def test_the_one_label_of_a_built_image_says_whose_it_is() -> None:
    engine: Any = FakeApi((label_of_build(run_id="a", seed="s", purpose="p"), [NAME]))
    assert (sweep_dead(engine), remove_run(engine, "b")) == (0, 0) and engine.tags == [NAME]
    assert remove_run(engine, "a") == 1 and engine.tags == []


def test_what_is_not_ours_stays_whatever_its_other_labels_say(dead: int) -> None:
    others = {**labels("a", dead), PROJECT_LABEL: "bystander", OWNER_LABEL: owner_of(dead).replace("gone", "1")}
    engine: Any = FakeApi((others, ["other:1"]))
    assert (sweep_dead(engine), remove_run(engine, "a")) == (0, 0) and engine.tags == ["other:1"]


def test_a_dead_hold_is_no_hold(dead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = held_by(dead, "b", monkeypatch).replace(f".{dead}.gone.", f".{dead}.1.")
    engine: Any = FakeApi((labels("a", os.getpid()), [NAME, gone]))
    assert sweep_dead(engine) == 1
    assert engine.tags == []


def test_a_hold_of_another_machine_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(docker_holds, "host", lambda: "elsewhere")
        there = hold_of(NAME, run_id="b")
    engine: Any = FakeApi((labels("a", os.getpid()), [NAME, there]))
    assert (sweep_dead(engine), remove_run(engine, "a")) == (0, 0)
    assert engine.tags == [NAME, there]
