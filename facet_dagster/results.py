"""What is given away, written from the store: the task dataset, the trajectories and the SFT set.

Front doors for the command line and the Dagster assets, like pipeline.py; idempotent, whole each time.
"""

import json
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

from facet_dagster.datasets.folder import write_whole
from facet_dagster.datasets.index import export_dataset
from facet_dagster.datasets.sft import export_sft
from facet_dagster.ports import Store
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.sft import FunnelStep, SftSet
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SftTerms
from facet_dagster.rollout.atif import to_atif
from facet_dagster.skills.usable import skills_by_id
from facet_dagster.tasks import accepted_benches, export_accepted, standing_bundles
from facet_dagster.workshop import Workshop


class TaskCard(Record):
    """What the task dataset holds and where it lies."""

    tasks: int
    tests: int
    directory: Path
    index: Path


class SftCard(Record):
    """What the SFT set holds (meanings as in SftSet) and where it lies."""

    set_id: str
    trials: int
    dialogues: int
    rows: int
    train: int
    validation: int
    failures: int
    turns: int
    tokens: int
    counted_by: str
    over_cutoff: int
    masked_turns: int
    handed_over: int
    recorded: bool
    models: tuple[str, ...]
    licences: tuple[str, ...]
    funnel: tuple[FunnelStep, ...]
    jsonl: Path
    parquet: Path
    readme: Path


def build_task_dataset(workshop: Workshop) -> TaskCard:
    """Export every accepted task that still stands, and the index over them."""
    tasks = []
    for bench in accepted_benches(workshop):
        task = bench.body(Task, Component.TASK)
        versions = workshop.store.rows(ComponentVersion, bench.seed.seed_id)
        tasks.append(export_accepted(bench, task.rounds, versions))
    workshop.tasks.mkdir(parents=True, exist_ok=True)
    _remove_fallen(workshop.tasks, {task.directory for task in tasks})
    index = export_dataset(workshop.tasks, tasks)
    return TaskCard(tasks=len(tasks), tests=sum(t.tests for t in tasks), directory=workshop.tasks, index=index)


def build_sft_dataset(workshop: Workshop) -> SftCard:
    """Write all trajectories (ATIF; successes, failures and errors apart), and the SFT set under the run's terms."""
    trials = workshop.store.rows(Trial)
    for trial in trials:
        text = json.dumps(to_atif(trial), ensure_ascii=False, indent=1)
        path = workshop.out / "trajectories" / _shelf(trial) / f"{trial.seed}-{trial.key}.json"
        write_whole(path, text.encode())
    return _make_set(trials, workshop.store, workshop.out / "sft", workshop.sft)


def make_sft_set(store: Store, directory: Path, terms: SftTerms) -> SftCard:
    """Select from all trials of a store, write the set, and keep what became of each trial in the store.

    Needs no model and no engine. Trials on tasks that do not stand any more are counted as removed.
    """
    return _make_set(store.rows(Trial), store, directory, terms)


def _make_set(trials: Sequence[Trial], store: Store, directory: Path, terms: SftTerms) -> SftCard:
    skills, standing = skills_behind(store), standing_bundles(store)
    made = export_sft(trials, directory, skills=skills, terms=terms, standing=standing)
    last = max(store.rows(SftSet), key=lambda each: each.at, default=None)
    if last is None or last.set_id != made.set_id:
        store.put(made)
    return SftCard(
        **made.model_dump(include=set(SftCard.model_fields) - {"schema_version"}),
        dialogues=made.dialogues,
        handed_over=made.handed_over,
        jsonl=directory / "train.jsonl",
        parquet=directory / "train.parquet",
        readme=directory / "README.md",
    )


def skills_behind(store: Store) -> dict[str, list[Skill]]:
    """The skills of each seed, in the revision that counts; without those that the store does not have."""
    seeds = store.rows(ScenarioSeed)
    skills = skills_by_id(store, [skill_id for seed in seeds for skill_id in seed.skill_ids])
    return {seed.seed_id: [skills[each] for each in seed.skill_ids if each in skills] for seed in seeds}


def _remove_fallen(folder: Path, standing: set[str]) -> None:
    """Take away tasks of ours that no longer stand: what lies in a dataset is run."""
    for described in folder.glob("*/task.toml"):
        ours = tomllib.loads(described.read_text(encoding="utf-8")).get("metadata", {}).get("generator")
        if ours == "facet-dagster" and described.parent.name not in standing:
            shutil.rmtree(described.parent)


def _shelf(trial: Trial) -> str:
    if trial.reward is None:
        return "errors"
    return "successes" if trial.success else "failures"
