"""What `make demo` promises: seeds in, accepted tasks, trajectories and an SFT set out, nothing left behind."""

import importlib.util
import json
import tomllib
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
from docker import DockerClient

from facet_dagster import definitions as line
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.records.bundle import ComponentVersion, Origin, Status
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import Trial
from facet_dagster.records.skill import Skill
from facet_dagster.settings import load

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

_spec = importlib.util.spec_from_file_location("e2e_place", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(e2e)


def accepted(demo) -> list[str]:
    return [seed for seed, (status, _) in demo.endings().items() if status is Status.ACCEPTED]


def test_enough_seeds_from_enough_skills_are_accepted(demo) -> None:
    assert len(demo.store().rows(Skill)) >= 12
    assert len(demo.endings()) >= 6
    assert len(accepted(demo)) >= 4
    assert all(status is not Status.PENDING for status, _ in demo.endings().values())


def test_repairs_are_among_what_was_recorded(demo) -> None:
    versions = [v for seed in demo.endings() for v in demo.store().rows(ComponentVersion, seed)]
    environments = [v.body for v in versions if isinstance(v.body, Environment)]
    assert any(e.build_repairs > 0 for e in environments) or any(
        v.component is Component.ENVIRONMENT and v.origin is Origin.REPAIRED for v in versions
    )
    repaired = {v.component for v in versions if v.origin is Origin.REPAIRED}
    assert repaired & {Component.SOLUTION, Component.VERIFIER}


def test_no_recorded_prompt_has_changed(demo) -> None:
    assert "prompts that have changed since" not in (demo.root / "demo.txt").read_text()


def test_every_accepted_seed_is_a_harbor_task(demo) -> None:
    names = set()
    for seed in accepted(demo):
        task = demo.out / "tasks" / seed
        described = tomllib.loads((task / "task.toml").read_text())
        assert described["schema_version"] == "1.4"
        names.add(described["task"]["name"])
        dockerfile = (task / "environment" / "Dockerfile").read_text()
        assert "debian:bookworm-slim" in dockerfile
        for needed in ("instruction.md", "solution/solve.sh", "tests/test.sh", "tests/test_outputs.py"):
            assert (task / needed).is_file()
    assert len(names) == len(accepted(demo))


def test_nothing_of_this_host_is_in_an_exported_task(demo) -> None:
    forbidden = ("-----BEGIN CERTIFICATE", "ca.crt", "index-url", str(demo.root), str(Path.home() / ".cache"))
    for file in (demo.out / "tasks").rglob("*"):
        if file.is_file() and file.suffix != ".parquet":
            text = file.read_bytes().decode("utf-8", "replace")
            assert not [word for word in forbidden if word in text], file


def test_successes_become_training_messages(demo) -> None:
    trials = demo.store().rows(Trial)
    assert trials and all(trial.reward is not None for trial in trials)
    successes = [trial for trial in trials if trial.success]
    rows = [json.loads(text) for text in (demo.out / "sft" / "train.jsonl").read_text().splitlines()]
    assert len(rows) == len(successes) > 0
    assert pq.read_table(demo.out / "sft" / "train.parquet").num_rows == len(rows)
    for row in rows:
        assert row["messages"][0]["role"] == "user" and row["messages"][-1]["role"] == "assistant"
    assert "recorded" in (demo.out / "sft" / "README.md").read_text().lower()


def test_every_attempt_is_kept_as_a_trajectory(demo) -> None:
    files = list((demo.out / "trajectories").rglob("*.json"))
    assert len(files) == len(demo.store().rows(Trial))
    for file in files:
        assert json.loads(file.read_text())["schema_version"] == "ATIF-v1.7"


def test_the_end_of_the_run_shows_the_funnel_and_the_paths(demo) -> None:
    shown = (demo.root / "demo.txt").read_text()
    for expected in ("accepted", str(demo.out / "tasks"), str(demo.out / "sft")):
        assert expected in shown


def test_dagster_shows_exactly_what_was_accepted(demo) -> None:
    with line.open_instance(demo.root / "dagster") as instance:
        assert set(instance.get_dynamic_partitions("scenario_seed")) == set(demo.endings())
        assert instance.get_materialized_partitions(dg.AssetKey("task")) == set(accepted(demo))


def test_the_same_command_again_does_no_work_twice(demo, engine: DockerClient) -> None:
    before = demo.history(), demo.calls(), demo.endings()
    again = demo.facet("run")
    assert again.returncode == 0, again.stderr
    assert (demo.history(), demo.calls(), demo.endings()) == before
    assert e2e.of_the_line(engine) == []


def test_one_component_of_one_seed_by_hand(demo) -> None:
    seed = accepted(demo)[0]
    others = {s: h for s, h in demo.history().items() if s != seed}
    settings = load(demo.environment())
    with (
        line.open_instance(settings.dagster_home) as instance,
        open_workshop(settings, run_id="by-hand") as workshop,
    ):
        overrides = {
            "workshop": line.Session(settings, workshop),
            "settings": settings,
            "store": workshop.store,
        }
        result = line.materialise(["validation"], instance=instance, seeds=[seed], overrides=overrides)
    assert result.success
    last = demo.store().rows(ComponentVersion, seed)[-1]
    assert (last.component, last.origin) == (Component.VALIDATION, Origin.BY_HAND)
    assert {s: h for s, h in demo.history().items() if s != seed} == others


@pytest.mark.parametrize("command", [("seeds",), ("yields",), ("yields", "rounds"), ("yields", "cost"), ("doctor",)])
def test_what_a_person_asks_afterwards(demo, command: tuple[str, ...]) -> None:
    done = demo.facet(*command)
    assert done.returncode == 0 and done.stdout.strip()


def test_the_life_of_a_seed(demo) -> None:
    shown = demo.facet("show", accepted(demo)[0]).stdout
    for expected in ("environment", "all gates passed", "R1", "test_r"):
        assert expected in shown
