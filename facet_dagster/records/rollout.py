"""Trials of a teacher on an accepted task: turns, stop reason, grade."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from facet_dagster.records.base import Record, StoredRecord, digest_of
from facet_dagster.records.validation import GradeReport


class StopReason(StrEnum):
    """Why a trial ended."""

    COMPLETED = "completed"  # the agent said twice that it is done
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"
    RECORDING_ENDED = "recording_ended"  # replayed up to where a limit ended the recorded trial
    TERMINAL_DIED = "terminal_died"
    MODEL_TROUBLE = "model_trouble"
    INFRASTRUCTURE = "infrastructure"


class Keystrokes(Record):
    """Keys sent verbatim to the terminal, and how long to wait afterwards (seconds)."""

    keystrokes: str
    duration: float = 1.0


class Turn(Record):
    """One exchange: what the model saw, its raw text, what was parsed from it, what the terminal showed then."""

    number: int
    prompt: str
    raw: str
    analysis: str
    plan: str
    commands: tuple[Keystrokes, ...]
    task_complete: bool
    parse_error: str | None
    observation: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    at: datetime


class Trial(StoredRecord):
    """One attempt on one task. `reward` is None where infrastructure trouble left it without a grade."""

    table: ClassVar[str] = "trials"

    seed: str
    task: str  # org/name
    bundle: str
    attempt: int
    model: str
    recorded: bool
    stop: StopReason
    reward: float | None
    grade: GradeReport | None
    turns: tuple[Turn, ...]
    seconds: float
    started_at: datetime
    run_id: str

    @property
    def group(self) -> str:
        return self.seed

    @property
    def key(self) -> str:
        # A trial without a grade is tried again under the same attempt; every such try is kept.
        ungraded = f"-{self.run_id}" if self.grade is None else ""
        return f"{self.bundle[:16]}-{digest_of(self.model)[:8]}-{self.attempt:03d}{ungraded}"

    @property
    def success(self) -> bool:
        return self.reward == 1.0
