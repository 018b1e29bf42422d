"""The history of a seed: versions of its components, the finished task, and the seed's outcome."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record, StoredRecord
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Diagnosis, ValidationReport


class Task(Record):
    """An accepted bundle: which version of each component it is made of, and where it was exported."""

    kind: Literal["task"] = "task"
    name: str  # org/name
    bundle: str
    rounds: dict[str, int]  # component -> round of the version used
    tests: int
    directory: str  # below the folder of the tasks


Body = Annotated[
    Scenario | Environment | Instruction | Solution | Verifier | ValidationReport | Task | Rejected,
    Field(discriminator="kind"),
]


class Origin(StrEnum):
    """How a version came to be."""

    AUTHORED = "authored"
    REPAIRED = "repaired"
    REEXECUTED = "re-executed"  # same text, run again because something upstream changed
    BY_HAND = "by-hand"  # a person selected it


class ComponentVersion(StoredRecord):
    """One version of one component. `inputs` are the digests of the bodies it was made from."""

    table: ClassVar[str] = "components"
    drawn: ClassVar[Mapping[str, tuple[str, type]]] = {
        "kind": ("body.kind", str),  # the component made, or "rejected"
        "reason": ("body.reason", str),  # why it could not be made
        "answers": ("diagnosis.reason", str),  # of a repair: what was found in the version before
        "verdict": ("body.verdict", bool),  # of a validation
        "build_repairs": ("body.build_repairs", int),  # of an environment: repairs before it built and held
        "tests": ("body.tests", int),  # of a task: test functions
        "bundle": ("body.bundle", str),  # of a task or a validation: digest of what it is about
    }

    seed: str
    component: Component
    sequence: int  # 0, 1, 2 … over all versions of the seed
    round: int  # repair round of the seed in which it was made (0 = first pass)
    origin: Origin
    inputs: dict[str, str]  # component -> digest of the body it was made from
    diagnosis: Diagnosis | None  # what it answers, when it is a repair
    code_version: str  # of the stations
    run_id: str
    at: datetime
    seconds: float
    tokens: int
    cost_usd: float
    body: Body  # the component itself, or the rejection

    @property
    def group(self) -> str:
        return self.seed

    @property
    def key(self) -> str:
        return f"{self.sequence:04d}-{self.component.value}"

    @property
    def rejected(self) -> Rejected | None:
        """The rejection, where this version could not be used: not made, refused, or failed when executed."""
        if isinstance(self.body, Rejected):
            return self.body
        return self.body.fault() if isinstance(self.body, Solution) else None


class Status(StrEnum):
    """Where a seed ended."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    PENDING = "pending"  # trouble, not a verdict: to be tried again


class SeedOutcome(StoredRecord):
    """The end of one walk over a seed."""

    table: ClassVar[str] = "outcomes"

    seed: str
    sequence: int  # of the last component version
    status: Status
    first_pass: bool  # accepted without a repair round
    rounds: int  # repair rounds used
    component: Component | None = None  # at fault, of a rejected seed
    reason: Reason | None = None  # of a rejected seed
    evidence: str = ""  # a few lines that show it; of a pending one the trouble
    run_id: str
    at: datetime
    by_hand: bool = False  # a person selected what was made: what is left to be done is theirs

    @property
    def group(self) -> str:
        return self.seed

    @property
    def key(self) -> str:
        return f"{self.sequence:04d}-{self.status.value}-{self.run_id}"
