"""Accepted tasks looked at again as images and packages age: what a build of today gives, whether the gates pass."""

from datetime import datetime
from typing import ClassVar

from facet_dagster.records.base import StoredRecord
from facet_dagster.records.validation import GateResult


class DriftCheck(StoredRecord):
    """One accepted task built anew from nothing and put to the gates. It changes nothing about the task."""

    table: ClassVar[str] = "drift"

    seed: str
    task: str  # org/name
    bundle: str  # digest of what was accepted and is checked
    verdict: bool | None  # of the gates today; false also where it does not build; None is trouble
    gates_version: int  # by which set of gates
    gates: tuple[GateResult, ...]  # in order, up to the first that did not pass
    changes: tuple[str, ...]  # what the container holds otherwise than when the task was accepted
    evidence: str  # of the first gate that did not pass, or of the build
    seconds: float
    run_id: str
    at: datetime

    @property
    def drifted(self) -> bool:
        """Whether the task would not be accepted today."""
        return self.verdict is False

    @property
    def group(self) -> str:
        return self.seed

    @property
    def key(self) -> str:
        return f"{self.at:%Y%m%dT%H%M%S%f}-{self.bundle[:12]}"
