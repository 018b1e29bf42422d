"""The trials of a store for the behaviour report: rollouts of the teacher and evaluations alike."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from facet_dagster.ports import Store
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.records.rollout import Trial
from facet_dagster.yields.behaviour import Behaviour, behaviours, work_of


def behaviour_of(store: Store, models: Collection[str] = ()) -> list[Behaviour]:
    """The behaviour of every model with trials in the store, or of those named."""
    trials: list[Trial] = [*store.rows(Trial), *store.rows(EvaluationTrial)]
    return behaviours(work_of(trial) for trial in trials if not models or trial.model in models)


def json_of(found: Sequence[Behaviour]) -> bytes:
    """The statistics as JSON, one object per model and outcome."""
    return (json.dumps([_as_json(each) for each in found], indent=2) + "\n").encode()


def _as_json(each: Behaviour) -> dict[str, Any]:
    return {
        "model": each.model,
        "outcome": each.outcome,
        "trials": each.trials,
        "turns": each.turns,
        "commands": each.commands,
        "neither": each.neither,
        **each.figures(),
        "transitions": [
            {"from": before, "to": after, "count": count, "share": each.share(before, after)}
            for (before, after), count in sorted(each.transitions.items())
        ],
        "commands_by_name": dict(each.top),
    }
