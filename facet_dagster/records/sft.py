"""SFT sets: which rule removed which trial, what was left, and the set that came of it."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal

from facet_dagster.records.base import Record, StoredRecord
from facet_dagster.records.terms import SftTerms

Split = Literal["train", "validation"]


class Rule(StrEnum):
    """Why a dialogue is no row. Exactly one per dialogue: the first in this order that refuses it."""

    TASK_FALLEN = "task_fallen"  # its task does not stand any more
    TROUBLE = "trouble"  # model or engine failed, or nothing was graded
    NOT_KEPT = "not_kept"  # what the model wrote, or saw before it, is not known as it was
    EMPTY = "empty"  # nothing that is trained on
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
    """One rule: what was asked, how many dialogues it removed, how many were left after it."""

    rule: Rule
    asked: str
    removed: int
    left: int


class Decision(Record):
    """What became of one dialogue: a split, or the rule that refused it and what shows it.

    A trial has one dialogue per context: one, and one more for every hand-over.
    """

    seed: str
    trial: str  # key of the trial in its seed
    task: str
    model: str
    attempt: int
    split: Split | None
    rule: Rule | None
    evidence: str
    context: int = 0


class SftSet(StoredRecord):
    """A set as it was written. `dialogues` is `rows` plus what the steps of the funnel removed."""

    table: ClassVar[str] = "sft_sets"

    set_id: str  # SHA-256 over funnel, decisions and rows
    at: datetime
    trials: int  # that were looked at
    rows: int  # dialogues that became rows
    train: int  # rows for training
    validation: int  # rows for validation
    failures: int  # rows that are no complete success
    turns: int  # of all rows
    tokens: int  # of all rows, counted as `counted_by` says
    counted_by: str  # the student's tokenizer, or an estimate
    over_cutoff: int  # rows with more tokens than `terms.cutoff`: trainers cut them
    masked_turns: int  # of `turns`, those that are not trained on
    recorded: bool
    models: tuple[str, ...]  # that wrote the trials
    licences: tuple[str, ...]  # of the skills behind the rows
    terms: SftTerms  # of the selection
    funnel: tuple[FunnelStep, ...]  # each rule: asked, removed, left
    decisions: tuple[Decision, ...]  # what became of every dialogue

    @property
    def dialogues(self) -> int:
        """Contexts of the trials: what the rules decide on."""
        return len(self.decisions)

    @property
    def handed_over(self) -> int:
        """Rows that begin with a hand-over."""
        return sum(decision.split is not None and decision.context > 0 for decision in self.decisions)

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return f"{self.at:%Y%m%dT%H%M%S%f}-{self.set_id[:12]}"
