"""From a row, a task or a seed back to the skills, over the versions that the task was really made of."""

import pytest

from facet_dagster.errors import SettingsError
from facet_dagster.lineage import Origin, trace
from facet_dagster.records.base import now
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.testing.accepted import SEED, put_accepted_task
from facet_dagster.testing.memory_store import MemoryStore


def store_with_a_trial(bundle: str | None = None) -> tuple[MemoryStore, Trial]:
    """An accepted task whose inputs are named, a later version that it is not made of, and an attempt."""
    there, store = MemoryStore(), MemoryStore()
    put_accepted_task(there)
    for name, rows in there._rows.items():
        if name != "components":
            store._rows[name] = rows
    made: dict[str, str] = {}
    task = None
    for version in there.rows(ComponentVersion):
        again = version.model_copy(update={"inputs": dict(made)})
        made[version.component.value] = version.body.digest()
        store.put(again)
        task = version.body if isinstance(version.body, Task) else task
        if version.component is Component.INSTRUCTION:
            changed = version.body.model_copy(update={"text": "Do something else."})
            store.put(again.model_copy(update={"sequence": 90, "body": changed}))
    assert task is not None
    trial = Trial(
        seed=SEED, task=task.name, bundle=bundle or task.bundle, attempt=0, model="m", recorded=False,
        stop=StopReason.COMPLETED, reward=1.0, grade=None, turns=(), seconds=1.0, started_at=now(), run_id="r",
    )  # fmt: skip
    store.put(trial)
    return store, trial


def kinds(origin: Origin) -> list[str]:
    return [each.kind for each in origin.made_from]


def test_a_row_leads_to_the_skills_and_their_licences() -> None:
    store, trial = store_with_a_trial()
    row = trace(store, f"{SEED}/{trial.key}")
    (of_trial,) = row.made_from
    (task,) = of_trial.made_from
    assert (row.kind, of_trial.kind, task.name) == ("row", "trial", trial.task)
    assert kinds(task) == ["validation", "verifier", "solution", "instruction", "environment", "scenario", "seed"]
    instruction = task.made_from[3]
    assert (instruction.facts["version"], instruction.facts["round"]) == (2, 0)
    (skill,) = task.made_from[-1].made_from
    assert (skill.name, skill.facts["licence"], skill.facts["source"]) == ("s-1", "MIT", "samples")
    assert trace(store, trial.task) == task
    assert trace(store, SEED) == task.made_from[-1]
    assert trace(store, f"{SEED}/{trial.key}/context-1").name.endswith("/context-1")


def test_the_tree_is_lines_and_plain_values() -> None:
    store, trial = store_with_a_trial()
    found = trace(store, trial.task)
    lines = list(found.lines())
    assert lines[0].startswith(f"- task {trial.task}  (bundle ") and lines[-1].startswith(
        "    - skill s-1  (name s  licence MIT"
    )
    assert found.as_json()["made_from"][-1]["made_from"][0]["facts"]["licence"] == "MIT"


def test_a_trial_on_another_state_of_the_task_says_so() -> None:
    store, trial = store_with_a_trial(bundle="f" * 64)
    (of_trial,) = trace(store, f"{SEED}/{trial.key}").made_from
    assert of_trial.made_from[0].facts["state"] == "not one that this store has made"


@pytest.mark.parametrize("name", ["nowhere", "org/nothing", f"{SEED}/nothing", "", "/", f"{SEED}/a/context-x"])
def test_what_is_unknown_is_one_line(name: str) -> None:
    store, _ = store_with_a_trial()
    with pytest.raises(SettingsError, match="unknown seed, task or row"):
        trace(store, name)
