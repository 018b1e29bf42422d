"""Results of grading and of the gates; three-valued verdicts (true, false, or null for infrastructure trouble)."""

from enum import StrEnum
from typing import Literal

from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Component, Reason


class TestResult(Record):
    """One collected test. `message` is the first lines of what it said."""

    __test__ = False  # not a pytest class

    name: str
    outcome: Literal["passed", "failed", "error", "skipped"]
    message: str = ""


class GradeReport(Record):
    """One grading run. `reward` is 1.0 or 0.0 (tasks of others may give parts), or None when the tests could not run
    (`trouble` says why). `per_test` is false where a foreign test.sh tells nothing but the reward."""

    reward: float | None
    tests: tuple[TestResult, ...]
    executed: int  # tests that ran their body to a verdict (passed or failed)
    seconds: float
    output: str
    trouble: str | None = None
    limit: str | None = None
    per_test: bool = True

    def outcomes(self) -> tuple[tuple[str, str], ...]:
        """What must be identical when the run is repeated."""
        return tuple(sorted((t.name, t.outcome) for t in self.tests))


class Gate(StrEnum):
    """Gates of the quality page."""

    STATIC = "G0-static"
    BUILD = "G1-build"
    NOOP = "G2-noop"
    ORACLE = "G3-oracle"
    CONTROLS = "G4-controls"
    TAMPERING = "G5-tampering"
    CONTRACT = "G6-contract"
    ALTERNATIVE = "G7-alternative"


class GateResult(Record):
    """One gate: passed, failed, or None when infrastructure trouble left it open."""

    gate: Gate
    passed: bool | None
    runs: int
    evidence: str
    component: Component | None = None  # at fault, as far as the gate itself can tell
    reason: Reason | None = None


class SkippedGate(Record):
    """A gate that cannot be run on this task, and why: a part is missing that it needs."""

    gate: Gate
    why: str


class ControlKind(StrEnum):
    """What is done to one output of the solution (G4); the most discriminating first."""

    VALUE = "one value changed"
    PUT_BACK = "put back to its initial state"
    ROW_DELETED = "one row deleted"
    COMMIT_UNDONE = "branch put back by one commit"
    TRUNCATED = "second half cut off"
    HEADER_ONLY = "everything but the first line removed"
    STALE_COPY = "replaced by a copy of an input"
    EMPTIED = "emptied"
    LEFT_OUT = "left out"
    MISPLACED = "moved to another name"


class ControlResult(Record):
    """One negative control: a spoilt final state that the tests must refuse.

    `killed` is None where there was no verdict, or where the control came to nothing (`note` says why).
    """

    path: str
    kind: ControlKind
    what: str  # was done, in words
    killed: bool | None
    report: GradeReport | None = None
    note: str = ""


class TamperingResult(Record):
    """What a set of cheats got (G5)."""

    name: str
    report: GradeReport


class ContractRow(Record):
    """One requirement and what became of it: the words of the instruction, the tests that assert it (G6)."""

    requirement: str
    text: str
    clause: str
    tests: tuple[str, ...]


class Explanation(Record):
    """Whether a requirement justifies that the tests refused an independent solution, as a judge answers (G7)."""

    explained: bool
    requirement: str
    evidence: str
    advice: str


class AlternativeResult(Record):
    """An independent solution and what the tests made of it (G7); explained where they refused it."""

    script: str
    report: GradeReport
    explanation: Explanation | None = None


class ValidationReport(Record):
    """Verdict on a bundle. Bound to `bundle`, the digest of what was validated: an edit voids it.

    `gates_version` says by which set of gates; 1 is what was stored before sets were numbered.
    """

    kind: Literal["validation"] = "validation"
    bundle: str
    gates_version: int = 1
    verdict: bool | None
    gates: tuple[GateResult, ...]
    noop_runs: tuple[GradeReport, ...]
    oracle_runs: tuple[GradeReport, ...]
    oracle_outputs: tuple[str, ...] = ()  # what each solution run printed
    skipped: tuple[SkippedGate, ...] = ()
    controls: tuple[ControlResult, ...] = ()
    tampering: tuple[TamperingResult, ...] = ()
    contract: tuple[ContractRow, ...] = ()
    alternative: AlternativeResult | None = None

    @property
    def kill_rate(self) -> float | None:
        """Share of the decided negative controls that the tests refused; None where none was decided."""
        decided = [control.killed for control in self.controls if control.killed is not None]
        return sum(decided) / len(decided) if decided else None

    def failed_gate(self) -> GateResult | None:
        """The first gate that did not pass."""
        return next((g for g in self.gates if g.passed is not True), None)


class Diagnosis(Record):
    """Which component is at fault, with the evidence cited; decided by the table or, where it is open, by a model."""

    component: Component
    reason: Reason
    evidence: str
    advice: str = ""
    decided_by: Literal["table", "model", "person"]


class Feedback(Record):
    """What the author of a repair is shown: the diagnosis, what it rewrites, and what was tried before."""

    diagnosis: Diagnosis
    previous: str  # the previous version, as its author answered it (JSON)
    earlier: tuple[str, ...] = ()  # one line per earlier round: component, reason, first line of evidence
