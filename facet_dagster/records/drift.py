"""Accepted tasks looked at again as images and packages age: what a build of today gives, whether the gates pass."""

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from facet_dagster.records.base import StoredRecord
from facet_dagster.records.validation import GateResult


class DriftCheck(StoredRecord):
    """One accepted task built anew from nothing and put to the gates. It changes nothing about the task."""

    table: ClassVar[str] = "drift"

    seed: str
    task: str = Field(description="org/name")
    bundle: str = Field(description="digest of what was accepted and is checked")
    verdict: bool | None = Field(description="of the gates today; false also where it does not build; None is trouble")
    gates_version: int
    gates: tuple[GateResult, ...]
    changes: tuple[str, ...] = Field(description="what the container holds otherwise than when the task was accepted")
    evidence: str = Field(description="of the first gate that did not pass, or of the build")
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
