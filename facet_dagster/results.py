"""What is given away, written from the store: the task dataset, the trajectories and the SFT set.

Front doors for the command line and the Dagster assets, like pipeline.py; idempotent, whole each time.
"""

import json
import shutil
import tomllib
from pathlib import Path

from facet_dagster.datasets.folder import write_whole
from facet_dagster.datasets.index import export_dataset
from facet_dagster.datasets.sft import SftCard, export_sft
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.rollout.atif import to_atif
from facet_dagster.tasks import accepted_benches, export_accepted
from facet_dagster.workshop import Workshop


class TaskCard(Record):
    """What the task dataset holds and where it lies."""

    tasks: int
    tests: int
    directory: Path
    index: Path


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
    """Write all trajectories (ATIF; successes, failures and errors apart), and the SFT set from successes on
    tasks that still stand."""
    trials = workshop.store.rows(Trial)
    for trial in trials:
        text = json.dumps(to_atif(trial), ensure_ascii=False, indent=1)
        write_whole(workshop.out / "trajectories" / _shelf(trial) / f"{trial.seed}-{trial.key}.json", text.encode())
    skills = {skill.skill_id: skill for skill in workshop.store.rows(Skill)}
    of_seed = {
        seed.seed_id: [skills[skill_id] for skill_id in seed.skill_ids if skill_id in skills]
        for seed in workshop.store.rows(ScenarioSeed)
    }
    standing = {(b.seed.seed_id, b.body(Task, Component.TASK).bundle) for b in accepted_benches(workshop)}
    current = [trial for trial in trials if (trial.seed, trial.bundle) in standing]
    return export_sft(current, workshop.out / "sft", skills=of_seed)


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
