"""What the UI's catalogue says of every asset beside its own page: who owns it, what it costs, its code, its columns.

Belongs here: what follows from the group or the record of an asset. Does not belong here: descriptions and kinds, which
stand with the assets.
"""

import dagster as dg

from assets.showing import arrow_columns, columns
from facet_dagster.datasets.index import SCHEMA as TASK_INDEX
from facet_dagster.datasets.sft_rows import SCHEMA as SFT_ROWS
from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record, StoredRecord
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.environment import Environment
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.records.rollout import Trial
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.seed import Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill, SkillReject
from facet_dagster.records.validation import ValidationReport

# Who is asked about a group. Teams, since a deployment has people of its own: it replaces them here.
OWNERS = {
    "skills": "team:corpus",
    "seeds": "team:corpus",
    "construction": "team:tasks",
    "rollouts": "team:training",
    "datasets": "team:training",
    "reports": "team:operations",
}
# Raised when what a group makes from the same input changes: what was made before is then shown as out of date. That of
# construction stands with its stations (facet_dagster/workshop.py).
CODE_VERSIONS = {"skills": "1", "seeds": "1", "rollouts": "1", "datasets": "1", "reports": "1"}
_PER_SEED = ("construction", "rollouts")
# One record per cell, or one table for the whole asset. Reports have the columns of their answer: see reports.py.
RECORDS: dict[str, type[Record]] = {
    "skills": Skill,
    "skill_rejects": SkillReject,
    "scenario_hypotheses": Hypothesis,
    "scenario_seeds": ScenarioSeed,
    "scenario": Scenario,
    "environment": Environment,
    "instruction": Instruction,
    "solution": Solution,
    "verifier": Verifier,
    "validation": ValidationReport,
    "task": Task,
    "trajectories": Trial,
    "evaluation": EvaluationTrial,
}
# Whose making asks a model (`skills` does where the settings want it to).
PAID = frozenset(RECORDS) - {"skills", "skill_rejects"}
_FILES = {"task_dataset": TASK_INDEX, "sft_dataset": SFT_ROWS}


def catalogued(spec: dg.AssetSpec) -> dg.AssetSpec:
    """The spec with owner, tags, code version and columns; what it says itself is kept.

    Tag `facet/cost` is what making it takes: `model` (calls are paid for), `containers`, or `none`; `facet/per` is
    `seed` or `all`. Selections of the UI understand both: `tag:"facet/cost"=model`.
    """
    name, group = spec.key.path[-1], spec.group_name or ""
    return spec.merge_attributes(owners=[] if spec.owners else [OWNERS[group]], tags=_tags(spec)).replace_attributes(
        code_version=spec.code_version or CODE_VERSIONS[group],
        metadata={**_table(name), **spec.metadata},
    )


def _tags(spec: dg.AssetSpec) -> dict[str, str]:
    cost = "model" if "openai" in spec.kinds else "containers" if spec.kinds & {"docker", "pytest"} else "none"
    return {"facet/cost": cost, "facet/per": "seed" if spec.group_name in _PER_SEED else "all"}


def _table(name: str) -> dict[str, object]:
    if name in _FILES:
        return {"dagster/column_schema": arrow_columns(_FILES[name])}
    kind = RECORDS.get(name)
    if kind is None:
        return {}
    table = kind.table if issubclass(kind, StoredRecord) else ComponentVersion.table
    return {"dagster/column_schema": columns(kind), "dagster/table_name": table}
