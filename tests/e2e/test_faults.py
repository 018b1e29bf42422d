"""The whole line under faults: killed in the middle, refused or left alone by the model, out of budget."""

import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from docker import DockerClient

from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, answer, failure

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

_spec = importlib.util.spec_from_file_location("e2e_faults_place", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(e2e)

QUICK_SEEDS = 2
# What is compared is made before any teacher works; of killed trials tests/docker/test_rollout_faults.py tells.
QUICK_PROFILE = """
[seeding]
max_seeds = 6
[construction]
controls = 1
[rollouts]
seconds = 10.0
"""


def _live(url: str) -> dict[str, str]:
    names = {f"FACET_MODEL_{role}": "m" for role in ("AUTHOR", "JUDGE", "TEACHER")}
    return {"FACET_LLM_BASE_URL": url, "FACET_LLM_API_KEY": "k", "FACET_LLM_RETRIES": "0", **names}


def test_killed_in_the_middle_and_started_again(tmp_path: Path, demo, engine: DockerClient) -> None:
    """Nothing is paid for twice, the result is the same, nothing stays on the engine."""
    place = e2e.Place(tmp_path)
    command = ["run", *_quick_seeds(demo, place)]
    profile = tmp_path / "quick.toml"
    profile.write_text(QUICK_PROFILE)
    quick = {"FACET_PROFILE": str(profile)}
    running = subprocess.Popen(
        [e2e.FACET, *command],
        env=place.environment(quick),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while running.poll() is None and not _is_solving(place):
        time.sleep(0.3)
    assert running.poll() is None, "the run ended before it could be killed"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    answered = {row.fingerprint for row in place.store().rows(LedgerRow)}

    again = place.facet(*command, more=quick)

    assert again.returncode == 0, again.stderr
    rows = place.store().rows(LedgerRow)
    assert answered <= {row.fingerprint for row in rows}
    assert len({row.call.label() for row in rows}) == len(rows), "a call was paid for twice"
    assert len(place.endings()) == QUICK_SEEDS
    for seed, ending in place.endings().items():
        assert ending == demo.endings()[seed]
        assert place.history()[seed] == demo.history()[seed]
    assert e2e.of_the_line(engine) == []


def _quick_seeds(demo: "e2e.Place", place: "e2e.Place") -> list[str]:
    """The seeds that were validated fastest, put into a store where nothing was done about them yet."""
    for skill in demo.store().rows(Skill):
        place.store().put(skill)
    seconds = {}
    for seed in demo.endings():
        versions = demo.store().rows(ComponentVersion, seed)
        seconds[seed] = sum(v.seconds for v in versions if v.component is Component.VALIDATION)
    chosen = sorted(seconds, key=lambda seed: seconds[seed])[:QUICK_SEEDS]
    for seed in demo.store().rows(ScenarioSeed):
        if seed.seed_id in chosen:
            place.store().put(seed)
    return [word for seed in chosen for word in ("--seed", seed)]


def _is_solving(place: "e2e.Place") -> bool:
    return (place.root / "store").is_dir() and any(
        row.station == "authoring.verifier" for row in place.store().rows(LedgerRow)
    )


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (failure(401, "bad key"), "FACET_LLM_API_KEY"),
        (failure(500, "out of order"), "500"),
        (failure(429, "slow down", retry_after="0"), "429"),
    ],
)
def test_an_endpoint_that_refuses_is_one_line(tmp_path: Path, base_image: str, reply: Reply, said: str) -> None:
    with HttpEndpoint([reply]) as endpoint:
        done = e2e.Place(tmp_path).facet("run", more=_live(endpoint.url))
    assert done.returncode == 3
    assert said in done.stderr and "Traceback" not in done.stderr


def test_an_endpoint_that_is_down_is_one_line(tmp_path: Path, base_image: str) -> None:
    done = e2e.Place(tmp_path).facet("run", more=_live("http://127.0.0.1:9/v1"))
    assert done.returncode == 3
    assert "FACET_LLM_BASE_URL" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["", "I would rather not.", '{"settings": [{"context": "a', '{"wrong": 1}'])
def test_answers_that_never_fit_are_recorded_and_nothing_crashes(tmp_path: Path, base_image: str, text: str) -> None:
    place = e2e.Place(tmp_path)
    with HttpEndpoint([answer(text)]) as endpoint:
        done = place.facet("run", more=_live(endpoint.url))
    assert done.returncode == 0, done.stderr
    assert "no usable hypotheses" in done.stdout
    assert len(place.store().rows(LedgerRow)) > 0


def test_a_spent_budget_stops_cleanly(tmp_path: Path, base_image: str) -> None:
    place = e2e.Place(tmp_path)
    with HttpEndpoint([answer("{}")]) as endpoint:
        done = place.facet("run", more={**_live(endpoint.url), "FACET_BUDGET_TOKENS": "50"})
    assert done.returncode == 5
    assert "FACET_BUDGET_TOKENS" in done.stderr and "Traceback" not in done.stderr
