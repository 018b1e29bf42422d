"""SFT sets: which rule removed which trial, what was left, and the set that came of it."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal

from facet_dagster.records.base import Record, StoredRecord
from facet_dagster.records.terms import SftTerms

Split = Literal["train", "validation"]


class Rule(StrEnum):
    """Why a trial is no row. Exactly one per trial: the first in this order that refuses it."""

    TASK_FALLEN = "task_fallen"  # its task does not stand any more
    TROUBLE = "trouble"  # model or engine failed, or nothing was graded
    EMPTY = "empty"  # the model wrote nothing
    FAILURE = "failure"
    PARSE_ERROR = "parse_error"
    TOO_LONG = "too_long"
    CONTAMINATED = "contaminated"
    NEAR_DUPLICATE = "near_duplicate"
    TASK_CAP = "task_cap"
    SKILL_CAP = "skill_cap"
    LINEAGE_CAP = "lineage_cap"
    MIXTURE = "mixture"  # a failure beyond the share that was asked for


class FunnelStep(Record):
    """One rule: what was asked, how many trials it removed, how many were left after it."""

    rule: Rule
    asked: str
    removed: int
    left: int


class Decision(Record):
    """What became of one trial: a split, or the rule that refused it and what shows it."""

    seed: str
    trial: str  # key of the trial in its seed
    task: str
    model: str
    attempt: int
    split: Split | None
    rule: Rule | None
    evidence: str


class SftSet(StoredRecord):
    """A set as it was written. `trials` is `rows` plus what the steps of the funnel removed."""

    table: ClassVar[str] = "sft_sets"

    set_id: str  # SHA-256 over funnel, decisions and rows
    at: datetime
    trials: int
    rows: int
    train: int
    validation: int
    failures: int  # rows that are no complete success
    turns: int
    tokens: int  # of all rows, counted as `counted_by` says
    counted_by: str
    over_cutoff: int  # rows with more tokens than `terms.cutoff`: trainers cut them
    masked_turns: int  # what the model wrote and is not trained on
    recorded: bool
    models: tuple[str, ...]
    licences: tuple[str, ...]
    terms: SftTerms
    funnel: tuple[FunnelStep, ...]
    decisions: tuple[Decision, ...]

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return f"{self.at:%Y%m%dT%H%M%S%f}-{self.set_id[:12]}"
