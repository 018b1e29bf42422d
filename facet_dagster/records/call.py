"""Calls of a language model: who asks, what is sent, what came back, what it cost."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from facet_dagster.records.base import Record, StoredRecord, digest_of

IMPOSSIBLE = -1e9
"""Log-probability of a token that the endpoint calls impossible: JSON, and so the store, has no infinity."""


def _finite(logprob: float) -> float:
    return logprob if logprob > IMPOSSIBLE else IMPOSSIBLE  # also for NaN, which no comparison holds for


Logprob = Annotated[float, AfterValidator(_finite)]


class Role(StrEnum):
    """Which of the configured models answers."""

    AUTHOR = "author"
    JUDGE = "judge"
    TEACHER = "teacher"
    EMBEDDER = "embedder"


class CallId(Record):
    """Identity of one call: replay and ledger go by it.

    `station` is `folder.prompt` (for example `scenario.evolution`), `subject` the skill, candidate or
    seed, `round` the repair round (0 = first), `attempt` counts independent tries (rollout k, or the
    corrective turn's retry), `turn` the turn within one dialogue.
    """

    station: str
    subject: str
    round: int = 0
    attempt: int = 0
    turn: int = 0

    def label(self) -> str:
        """One readable line, also a stable sort key."""
        return f"{self.station}/{self.subject}/r{self.round}/a{self.attempt}/t{self.turn}"


class Message(Record):
    """One chat message. `observed` marks text that a terminal or clock produced: it is sent, but it
    does not count when a request is compared with an earlier one."""

    role: Literal["system", "user", "assistant"]
    content: str
    observed: bool = False


class ChatRequest(Record):
    """What is asked of a model. `answer_schema` is a JSON schema, sent where the endpoint takes one.

    `token_details` asks for token ids and logprobs; an answer without them is as good. `basis` names what the dialogue
    stands on beside its words (the bundle of a rollout, whose terminal is only observed): where that has changed, an
    earlier answer is none to this. Recordings go by the call alone.
    """

    call: CallId
    role: Role
    messages: tuple[Message, ...]
    prompt_hash: str = Field(description="content hash of the prompt template")
    answer_schema: dict[str, Any] | None = None
    max_tokens: int = 16_384
    temperature: float = 0.7
    token_details: bool = False
    basis: str = ""

    def fingerprint(self, model: str) -> str:
        """Address of the answer: identity, model, basis and all that was not merely observed."""
        said = [(m.role, "" if m.observed else m.content) for m in self.messages]
        based = (self.basis,) if self.basis else ()  # without one, the address that it always was
        return digest_of(repr((self.call.label(), model, said, *based)))

    def opening_hash(self) -> str:
        """Hash of the opening message: tells whether a recorded prompt has changed since."""
        return digest_of(self.messages[0].content)


class Completion(Record):
    """What a model answered. Token counts are the endpoint's own, or `estimated` where it reported none; `reported_usd`
    is what it says that it charged, where it says so; `recorded` marks replayed answers.
    """

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str = "stop"
    seconds: float = 0.0
    recorded: bool = False
    estimated: bool = False
    reported_usd: float | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[Logprob, ...] | None = None  # one per token of the answer


class LedgerRow(StoredRecord):
    """One paid (or replayed) call, durable before its answer is parsed."""

    table: ClassVar[str] = "calls"

    fingerprint: str  # address of the answer: identity, model and what was said
    call: CallId  # identity: station, subject, round, attempt, turn
    role: Role  # which of the configured models
    station: str  # folder and name of the prompt: scenario.evolution
    subject: str  # skill, candidate, seed or run that it was made for
    round: int  # repair round, 0 is the first pass
    prompt_hash: str  # of the prompt's file
    opening_hash: str  # of the first message as sent
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    seconds: float
    recorded: bool
    at: datetime
    run_id: str
    completion: Completion  # the answer
    estimated: bool = False  # the token counts: the endpoint reported none
    reported_usd: float | None = None  # what the endpoint says that it charged

    @property
    def group(self) -> str:
        return self.subject

    @property
    def key(self) -> str:
        return self.fingerprint
