"""Trials of a teacher on an accepted task: turns, stop reason, grade."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal

from facet_dagster.records.base import Record, StoredRecord, digest_of
from facet_dagster.records.call import Logprob
from facet_dagster.records.validation import GradeReport

REBUILT = "the model's own text was not kept: this reply was put together from what was read from it"
"""A warning of an imported turn of which `raw` is not what the model wrote."""


class StopReason(StrEnum):
    """Why a trial ended."""

    COMPLETED = "completed"  # the agent said twice that it is done
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"
    COST_LIMIT = "cost_limit"
    RECORDING_ENDED = "recording_ended"  # replayed up to where a limit ended the recorded trial
    TERMINAL_DIED = "terminal_died"
    MODEL_TROUBLE = "model_trouble"
    INFRASTRUCTURE = "infrastructure"
    CUT = "cut"  # the process that ran the trial died; what it had done until then is kept


class Keystrokes(Record):
    """Keys sent verbatim to the terminal, and how long to wait afterwards (seconds)."""

    keystrokes: str
    duration: float = 1.0


class Turn(Record):
    """One exchange: what the model saw, its raw text, what was parsed from it, what the terminal showed then.

    `context` counts the hand-overs before it (see Handover). `overhead_s` are the seconds of the turn that neither the
    model nor a wait that it asked for took. Token ids and logprobs (one per token of the answer) are there where they
    were asked for and the endpoint gives them.
    """

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
    warnings: tuple[str, ...] = ()  # what was put right or left out when the answer was read
    finish_reason: str = "stop"
    context: int = 0
    overhead_s: float = 0.0
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[Logprob, ...] | None = None


class HelperCall(Record):
    """A call beside the dialogue, made to hand it over; never trained on."""

    name: str  # summary, questions or answers
    prompt: str
    raw: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    at: datetime


class Handover(Record):
    """Where the context was about to overflow: the dialogue goes on from the opening prompt and `text` alone.

    `context` is that of the turns that follow, `turn` the number of the first of them. The new dialogue opens with the
    first turn's prompt of context 0 (user), then `text` (assistant), then the prompt of `turn` (user).
    """

    context: int
    turn: int
    text: str
    calls: tuple[HelperCall, ...]


def calls_of(turns: Iterable[Turn], handovers: Iterable[Handover]) -> tuple[Turn | HelperCall, ...]:
    """Every call of the model in a trial: the turns, then the helper calls."""
    return (*turns, *(call for handover in handovers for call in handover.calls))


class Trial(StoredRecord):
    """One attempt on one task. `reward` is None where trouble left it without a grade; `trouble` says which.

    `engine` is whose agent worked; `origin` names the trial of a job folder that it was imported from.
    """

    table: ClassVar[str] = "trials"

    seed: str
    task: str  # org/name
    bundle: str  # digest of the task's components
    attempt: int  # 0, 1, 2 … on the same task
    model: str
    recorded: bool
    stop: StopReason  # why it ended
    reward: float | None  # 1 is success; none where nothing was graded
    grade: GradeReport | None  # the tests, one by one
    turns: tuple[Turn, ...]  # what the model saw and wrote
    seconds: float
    started_at: datetime  # UTC
    run_id: str
    handovers: tuple[Handover, ...] = ()  # of the dialogue, before it overflowed
    engine: Literal["own", "harbor"] = "own"  # whose agent worked: `own` or `harbor`
    origin: str = ""  # of an imported trial: its name in the job folder
    trouble: str = ""  # which, where there was any

    @property
    def group(self) -> str:
        return self.seed

    @property
    def key(self) -> str:
        address = f"{self.bundle[:16]}-{digest_of(self.model)[:8]}-{self.attempt:03d}"
        if self.origin:
            return f"{address}-{digest_of(self.origin)[:12]}"
        # A trial without a grade is tried again under the same attempt; every such try is kept.
        if self.stop is StopReason.CUT:
            return f"{address}-{self.run_id}-{self.started_at:%Y%m%d%H%M%S%f}"
        return address if self.grade is not None else f"{address}-{self.run_id}"

    @property
    def success(self) -> bool:
        return self.reward == 1.0

    @property
    def calls(self) -> tuple[Turn | HelperCall, ...]:
        """Every call of the model: the turns, then the helper calls."""
        return calls_of(self.turns, self.handovers)

    @property
    def tokens(self) -> int:
        """Sent and received, the helper calls included."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    @property
    def cost_usd(self) -> float:
        """US dollars, the helper calls included."""
        return sum(call.cost_usd for call in self.calls)
