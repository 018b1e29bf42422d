"""An evaluation on a real engine against a scripted endpoint: solved, failed, an error; resumed and replayed."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.recordings import export_recordings
from facet_dagster.evaluations import evaluate_folder
from facet_dagster.records.evaluation import Evaluation, EvaluationTrial
from facet_dagster.settings import Settings, load
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, answer

pytestmark = pytest.mark.docker

TASKS = Path(__file__).parents[1] / "fixtures" / "tasks"
SOME = ("good-inplace-edit", "good-root-agent", "dockerfile-does-not-build")
SOLUTION = "sed -i -e 's/^level = .*/level = warning/' -e 's/^workers = .*/workers = 6/' /app/service.ini\n"


def teacher(request: dict[str, Any]) -> Reply:
    """Solves what it is told of service.ini, looks at everything else, and says that it is done."""
    messages = request["messages"]
    keys = [SOLUTION if "service.ini" in messages[0]["content"] else "whoami; pwd\n"] if len(messages) == 1 else []
    commands = [{"keystrokes": each, "duration": 0.5} for each in keys]
    return answer(json.dumps({"analysis": "", "plan": "", "commands": commands, "task_complete": len(messages) > 1}))


class Silent:
    """An invigilator that counts what was made."""

    def __init__(self) -> None:
        self.made = 0

    def planned(self, tasks: int, trials: int) -> None: ...

    def at(self, what: str, doing: str) -> None: ...

    def ended(self, trial: EvaluationTrial, *, again: bool) -> None:
        self.made += not again


@pytest.fixture
def endpoint() -> Iterator[HttpEndpoint]:
    with HttpEndpoint([teacher]) as opened:
        yield opened


def outcomes(found: Evaluation) -> dict[str, tuple[int, int, int]]:
    (model,) = found.models
    return {task.task.partition("/")[2]: (task.solved, task.graded, len(task.errors)) for task in model.tasks}


def test_solved_failed_and_error(
    engine: DockerClient,
    run_id: str,
    base_image: str,
    assert_nothing_left: Callable[..., None],
    endpoint: HttpEndpoint,
    tmp_path: Path,
) -> None:
    variables = {"FACET_STORE": f"{tmp_path}/store", "FACET_OUT": f"{tmp_path}/out", "FACET_EVALUATE_TASKS": str(TASKS)}
    variables |= {"FACET_EVALUATE_MODELS": "student", "FACET_EVALUATE_ATTEMPTS": "1"}

    def sit(settings: Settings) -> tuple[Evaluation, int]:
        seen = Silent()
        found = evaluate_folder(settings, run_id=run_id, invigilator=seen, progress=print, only=SOME)
        assert_nothing_left(engine, run_id)
        return found, seen.made

    live = load({**variables, "FACET_LLM_BASE_URL": endpoint.url}, asked=())
    found, made = sit(live)
    expected = {"good-inplace-edit": (1, 1, 0), "good-root-agent": (0, 1, 0), "dockerfile-does-not-build": (0, 0, 1)}
    assert outcomes(found) == expected and made == 3
    (model,) = found.models
    assert model.pass_rate is not None and model.pass_rate.value == 0.5 and model.tokens == 18 * 6
    store = ParquetStore(live.store)
    (by_root,) = [t for t in store.rows(EvaluationTrial) if t.task.endswith("good-root-agent")]
    assert "\nroot\n/" in by_root.turns[0].observation, "the agent works as the task's own user, in its own folder"

    asked = len(endpoint.requests)
    again, made = sit(live)
    assert outcomes(again) == expected and made == 1, "only the error is tried again"
    assert len(endpoint.requests) == asked + 1, "which needs but a greeting"

    export_recordings(store, tmp_path / "recordings", {trial.seed for trial in store.rows(EvaluationTrial)})
    recorded = {"FACET_STORE": f"{tmp_path}/other", "FACET_RECORDINGS": f"{tmp_path}/recordings"}
    replayed, _ = sit(load({**variables, **recorded}))
    assert outcomes(replayed) == expected and replayed.models[0].recorded and replayed.models[0].cost_usd == 0
    assert len(endpoint.requests) == asked + 1
