"""From a row, a task or a seed back to the skills, over the versions that the task was really made of."""

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.errors import SettingsError
from facet_dagster.lineage import Origin, trace
from facet_dagster.records.authoring import Solution
from facet_dagster.records.base import now
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.bundle import Origin as Written
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.outcome import Component, Reason, Rejected
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


def test_what_was_executed_again_names_who_wrote_it() -> None:
    store, _ = store_with_a_trial()
    by_kind = {version.component: version for version in store.rows(ComponentVersion) if version.sequence < 90}
    wrote = CallId(station="authoring.solution", subject=SEED, round=0)
    request = ChatRequest(
        call=wrote, role=Role.AUTHOR, messages=(Message(role="user", content="hello"),), prompt_hash="prompt-of-it"
    )  # fmt: skip
    ledger = StoreLedger(
        store, names=dict.fromkeys(Role, "m"), prices={}, budget_tokens=None, budget_usd=None, run_id="r"
    )  # fmt: skip
    ledger.write(request, Completion(text="a", model="the-author", prompt_tokens=1, completion_tokens=1))
    first = by_kind[Component.SOLUTION]
    assert isinstance(first.body, Solution)
    body = first.body.model_copy(update={"execution": first.body.execution.model_copy(update={"output": "other"})})
    again = {"sequence": 100, "round": 1, "origin": Written.REEXECUTED, "body": body}
    store.put(first.model_copy(update=again))
    refused = Rejected(component=Component.SOLUTION, reason=Reason.SOLUTION_FAILED, evidence="")
    store.put(first.model_copy(update={"sequence": 99, "round": 1, "origin": Written.REPAIRED, "body": refused}))
    task = by_kind[Component.TASK]
    store.put(task.model_copy(update={"sequence": 102, "inputs": task.inputs | {"solution": body.digest()}}))
    store.put(by_kind[Component.INSTRUCTION].model_copy(update={"sequence": 101, "origin": Written.REEXECUTED}))
    assert isinstance(task.body, Task)
    parts = {each.facts.get("version"): each.facts for each in trace(store, task.body.name).made_from}
    assert parts[100]["models"] == "the-author"
    assert parts[100]["prompts"] == "authoring.solution@prompt-o"
    assert by_kind[Component.INSTRUCTION].sequence in parts and 101 not in parts


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
