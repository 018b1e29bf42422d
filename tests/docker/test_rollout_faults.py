"""`facet run` is killed with -9 in the middle of a trial, or meets trouble there: what is kept, left and paid."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.testing.accepted import put_accepted_task
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, answer, failure

pytestmark = pytest.mark.docker

Asked = dict[str, Any]


def say(keys: str = "", *, done: bool = False) -> Reply:
    commands = [{"keystrokes": keys, "duration": 0.3}] if keys else []
    return answer(json.dumps({"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}))


WORK = [say("cat in.txt\n"), say("sort in.txt > out.txt\n"), say(done=True), say(done=True)]


def turn_of(asked: Asked) -> int:
    """0 for the first turn: what was answered before is in the dialogue."""
    return sum(message["role"] == "assistant" for message in asked["messages"])


class Line:
    """`facet run` on the tiny task, with a store and an output folder of its own."""

    def __init__(self, root: Path, url: str, **settings: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("FACET_")}
        places = {"FACET_STORE": "store", "FACET_OUT": "out", "FACET_DAGSTER_HOME": "dagster"}
        models = {f"FACET_MODEL_{role}": "m" for role in ("AUTHOR", "JUDGE", "TEACHER")}
        live = {"FACET_LLM_BASE_URL": url, "FACET_LLM_RETRIES": "0", "FACET_ATTEMPTS": "1", **models}
        self.environment = {**inherited, **{k: str(root / v) for k, v in places.items()}, **live, **settings}
        self.out = root / "out"
        self.store = ParquetStore(str(root / "store"))
        self.command = [str(Path(sys.executable).parent / "facet"), "run", "--seed", put_accepted_task(self.store)]

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command, env=self.environment, capture_output=True, text=True)

    def start(self) -> "subprocess.Popen[bytes]":
        quiet = subprocess.DEVNULL
        return subprocess.Popen(self.command, env=self.environment, stdout=quiet, stderr=quiet, start_new_session=True)

    def trials(self) -> list[Trial]:
        return self.store.rows(Trial)

    def paid(self) -> list[str]:
        return [row.call.label() for row in self.store.rows(LedgerRow)]


@pytest.fixture
def ours(engine: DockerClient, base_image: str) -> Iterator[Callable[[], list[str]]]:
    """What containers and frozen images of the tiny task there are; none must be left."""

    def found() -> list[str]:
        wanted = {"label": ["facet.seed=tiny"]}
        containers = [row["Id"] for row in engine.api.containers(all=True, filters=wanted)]
        images = engine.api.images(filters=wanted)
        return containers + [tag for row in images for tag in row["RepoTags"] or [] if tag.startswith("facet-frozen")]

    yield found
    assert found() == []


def test_killed_in_the_middle_of_a_trial(tmp_path: Path, ours: Callable[[], list[str]]) -> None:
    asked: list[int] = []

    def teach(request: Asked) -> Reply:
        asked.append(turn_of(request))
        return WORK[turn_of(request)] if hold != turn_of(request) else Reply(hold=True)

    hold: int | None = 2
    with HttpEndpoint([teach]) as endpoint:
        line = Line(tmp_path, endpoint.url)
        running = line.start()
        while 2 not in asked:
            assert running.poll() is None, "the run ended before it could be killed"
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        (kept,) = (line.out / "open-trials").rglob("*.jsonl")
        assert len(kept.read_bytes().splitlines()) == 3 and len(ours()) == 1
        hold = None
        done = line.run()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    ends = {trial.stop: trial for trial in line.trials()}
    assert len(ends[StopReason.CUT].turns) == 2 and ends[StopReason.CUT].reward is None
    assert ends[StopReason.COMPLETED].success and len(ends[StopReason.COMPLETED].turns) == 4
    assert asked == [0, 1, 2, 2, 3], "what was answered is not asked for again"
    assert len(set(line.paid())) == len(line.paid()) == 4
    assert not list(line.out.rglob("open-trials/**/*.jsonl"))


def test_an_endpoint_that_dies_is_taken_up_where_it_stopped(tmp_path: Path, ours: Callable[[], list[str]]) -> None:
    def teach(request: Asked) -> Reply:
        return WORK[turn_of(request)] if turn_of(request) < dead_from else failure(503, "gone")

    dead_from = 2
    with HttpEndpoint([teach]) as endpoint:
        line = Line(tmp_path, endpoint.url)
        assert line.run().returncode != 0
        (first,) = line.trials()
        assert first.stop is StopReason.MODEL_TROUBLE and len(first.turns) == 2 and ours() == []
        dead_from = 9
        assert line.run().returncode == 0
    assert [trial.success for trial in line.trials() if trial.grade is not None] == [True]
    assert len(line.paid()) == 4


def test_a_spent_budget_leaves_no_trial_that_never_was(tmp_path: Path, ours: Callable[[], list[str]]) -> None:
    with HttpEndpoint([say("ls\n")]) as endpoint:
        line = Line(tmp_path, endpoint.url, FACET_BUDGET_TOKENS="1", FACET_ATTEMPTS="4", FACET_ROLLOUTS_IN_FLIGHT="1")
        done = line.run()
    assert done.returncode != 0 and "FACET_BUDGET_TOKENS" in done.stdout + done.stderr
    assert len(line.paid()) == 1 and line.trials() == []
    (cut,) = (line.out / "open-trials").rglob("*.jsonl")
    assert len(cut.read_bytes().splitlines()) == 2, "only the trial that was under way has something to keep"


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_fills_up_in_the_middle_is_trouble_and_gone_on_from(
    full: Path, ours: Callable[[], list[str]]
) -> None:
    filler = full / "filler"

    def teach(request: Asked) -> Reply:
        if turn_of(request) == 1 and fills:
            with filler.open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
        return WORK[turn_of(request)]

    fills = True
    with HttpEndpoint([teach]) as endpoint:
        line = Line(full, endpoint.url, FACET_DAGSTER_HOME=str(full.parent / "dagster"))
        done = line.run()
        assert done.returncode != 0 and "Traceback" not in done.stderr and ours() == [], done.stderr[-3000:]
        assert line.trials() == [] or line.trials()[0].reward is None
        filler.unlink()
        fills = False
        assert line.run().returncode == 0
    assert [trial.success for trial in line.trials() if trial.grade is not None] == [True]
