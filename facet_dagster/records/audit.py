"""What an audit of a folder of tasks found: one result per task, and the counts over all of them."""

from collections import Counter
from typing import Any

from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Component
from facet_dagster.records.validation import Gate, GateResult, SkippedGate


class AuditedTask(Record):
    """One task. `accepted` is None where there is no verdict: trouble, no solution, or something that is not supported.

    `reason` is one line. Of `controls` wrong solutions with a verdict the tests caught `killed`.
    """

    name: str
    path: str
    accepted: bool | None
    component: Component | None
    reason: str
    gates: tuple[GateResult, ...]
    skipped: tuple[SkippedGate, ...] = ()
    controls: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()  # wrong solutions that the tests accepted
    container_starts: int = 0
    seconds: float = 0.0

    @property
    def kill_rate(self) -> float | None:
        """Share of the wrong solutions that the tests caught; None where none was decided."""
        return _share(self.killed, self.controls)

    def gate(self, gate: Gate) -> GateResult | None:
        """The result of a gate, if it was reached."""
        return next((result for result in self.gates if result.gate is gate), None)


class GateCount(Record):
    """How many tasks passed a gate, failed at it, or were left open by it."""

    gate: Gate
    passed: int
    failed: int
    open: int


class AuditSummary(Record):
    """Counts over a folder. The kill rate is that over all wrong solutions, of whichever task."""

    tasks: int
    accepted: int
    rejected: int
    open: int
    gates: tuple[GateCount, ...]
    components: dict[str, int]  # rejected tasks by the component at fault
    controls: int
    killed: int
    kill_rate: float | None
    container_starts: int
    seconds: float


class AuditReport(Record):
    """All tasks of a folder, in the order of their paths."""

    directory: str
    tasks: tuple[AuditedTask, ...]
    seconds: float

    def summary(self) -> AuditSummary:
        """What a reader wants to know first."""
        verdicts = Counter(task.accepted for task in self.tasks)
        killed, controls = sum(task.killed for task in self.tasks), sum(task.controls for task in self.tasks)
        at_fault = Counter(
            task.component.value if task.component else "undecided" for task in self.tasks if task.accepted is False
        )
        return AuditSummary(
            tasks=len(self.tasks),
            accepted=verdicts[True],
            rejected=verdicts[False],
            open=verdicts[None],
            gates=tuple(_count(gate, self.tasks) for gate in Gate if any(task.gate(gate) for task in self.tasks)),
            components=dict(sorted(at_fault.items())),
            controls=controls,
            killed=killed,
            kill_rate=_share(killed, controls),
            container_starts=sum(task.container_starts for task in self.tasks),
            seconds=self.seconds,
        )

    def as_json(self) -> dict[str, Any]:
        """The shape of `--json` (docs/validate.md)."""
        summary = self.summary()
        return {
            "schema_version": self.schema_version,
            "directory": self.directory,
            "tasks": [_task_json(task) for task in self.tasks],
            "summary": {
                **summary.model_dump(mode="json", exclude={"schema_version", "gates"}),
                "gates": [row.model_dump(mode="json", exclude={"schema_version"}) for row in summary.gates],
            },
        }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _count(gate: Gate, tasks: tuple[AuditedTask, ...]) -> GateCount:
    results = Counter(result.passed for task in tasks if (result := task.gate(gate)) is not None)
    return GateCount(gate=gate, passed=results[True], failed=results[False], open=results[None])


def _task_json(task: AuditedTask) -> dict[str, Any]:
    wanted = {"gate", "passed", "evidence", "runs", "component", "reason"}
    return {
        **task.model_dump(mode="json", exclude={"schema_version", "gates", "skipped"}),
        "kill_rate": task.kill_rate,
        "gates": [result.model_dump(mode="json", include=wanted) for result in task.gates],
        "skipped": [gate.model_dump(mode="json", include={"gate", "why"}) for gate in task.skipped],
    }
