"""An audit: every task of a folder to its verdict, several at a time; one task's trouble never stops the others.

Belongs here: the order for one task (form, static gate, build, the other gates) and what its gates come to. The gates
themselves stand in validation/.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from facet_dagster.audit.build import build_image
from facet_dagster.audit.folder import printable
from facet_dagster.audit.load import Found, Loaded
from facet_dagster.environment.observe import difference, observe
from facet_dagster.errors import FacetError, InfrastructureError
from facet_dagster.ports import ImageBuilder, Sandbox
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.base import Record, digest_of
from facet_dagster.records.container import BuildFault, BuildResult
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import ControlResult, Gate, GateResult, SkippedGate, ValidationReport
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.counting import CountingSandbox
from facet_dagster.validation.validate import CHECKS, validate

EVIDENCE = 3_000
REASON = 300
READ = (Gate.STATIC,)  # what needs no image
RUN = tuple(gate for gate in CHECKS if gate not in {*READ, Gate.ALTERNATIVE})  # an audit has no model
TROUBLE = (FacetError, OSError, ValueError)
# What a build step says when the host's network, not the Dockerfile, is to blame; the log's end is looked at.
_NO_NETWORK = re.compile(
    r"Temporary failure (?:in name resolution|resolving)|Could not resolve|no such host|Name or service not known"
    r"|Network is unreachable|Failed to establish a new connection|Connection timed out|Could not connect to",
)
_LOG_END = 40  # lines


class AuditTerms(Record):
    """How thoroughly, and how many tasks at a time. `cpus_max` is what the engine has."""

    repeats: int = 2
    controls: int = 8
    in_flight: int = 2
    cpus_max: float = 1.0


class Watcher(Protocol):
    """Who wants to see an audit live."""

    def started(self, name: str) -> None: ...

    def gate(self, name: str, result: GateResult) -> None: ...

    def finished(self, task: AuditedTask) -> None: ...


@dataclass(frozen=True)
class Bench:
    """The tools of an audit. `stand_ins` names local images for public ones that this engine lacks."""

    builder: ImageBuilder
    sandbox: Sandbox
    stand_ins: Mapping[str, str] = field(default_factory=dict)


async def audit(
    directory: str, tasks: Sequence[Found], bench: Bench, terms: AuditTerms, watcher: Watcher
) -> AuditReport:
    """Examine the tasks; results in the order given. Trouble of one task is its result, without a verdict."""
    began = time.monotonic()
    slots = asyncio.Semaphore(terms.in_flight)

    async def one(task: Found) -> AuditedTask:
        async with slots:
            watcher.started(task.name)
            work = _Audit(task, bench, terms, watcher)
            (end,) = await asyncio.gather(work.result(), return_exceptions=True)
            result = end if isinstance(end, AuditedTask) else work.broken(end)
            watcher.finished(result)
            return result

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(task)) for task in tasks]
    return AuditReport(
        directory=directory, tasks=tuple(task.result() for task in running), seconds=round(time.monotonic() - began, 1)
    )


def cut_short(directory: str, tasks: Sequence[Found], ended: Iterable[AuditedTask], seconds: float) -> AuditReport:
    """What an audit that was interrupted has: the tasks that ended, and the others without a verdict."""
    known = {task.path: task for task in ended}
    return AuditReport(
        directory=directory,
        tasks=tuple(known.get(path := printable(str(task.path))) or _interrupted(task.name, path) for task in tasks),
        seconds=round(seconds, 1),
    )


def _interrupted(name: str, path: str) -> AuditedTask:
    reason = "the audit was interrupted before the task had a verdict"
    return AuditedTask(name=name, path=path, accepted=None, component=None, reason=reason, gates=())


class _Audit:
    """One task on its way through the gates. What it holds in memory goes with it."""

    def __init__(self, task: Found, bench: Bench, terms: AuditTerms, watcher: Watcher) -> None:
        self._task = task
        self._bench = bench
        self._terms = terms
        self._watcher = watcher
        self._sandbox = CountingSandbox(bench.sandbox)
        self._gates: list[GateResult] = []
        self._report: ValidationReport | None = None
        self._began = time.monotonic()

    async def result(self) -> AuditedTask:
        """Its verdict, whatever trouble there is on the way."""
        task = await asyncio.to_thread(self._task.load)
        if task.faults:
            self._add(_form(task))
        elif task.obstacles or task.candidate is None:
            return self._verdict(None, "; ".join(task.obstacles))
        else:
            try:
                await self._examine(task, bounded(task.candidate, self._terms.cpus_max))
            except TROUBLE as trouble:
                return self._verdict(None, f"trouble: {trouble}")
        failed = next((gate for gate in self._gates if gate.passed is False), None)
        unsure = next((gate for gate in self._gates if gate.passed is None), None)
        if failed is not None:
            return self._verdict(False, f"{failed.gate.value}: {first_line(failed.evidence)}", failed.component)
        if unsure is not None:
            return self._verdict(None, f"{unsure.gate.value}: {first_line(unsure.evidence)}")
        # Without requirements there is nothing to compare; what else could not be run is said.
        missed = [gate for gate in self._skipped() if gate.gate is not Gate.CONTRACT]
        if self._report is None or self._report.verdict is None:
            why = "; ".join(f"{gate.gate.value}: {gate.why}" for gate in missed)
            return self._verdict(None, why or "no gate ran")
        but = "".join(f" but {gate.gate.value}, which was not run: {gate.why}" for gate in missed)
        return self._verdict(True, f"every gate passed{but}")

    def broken(self, bug: BaseException) -> AuditedTask:
        """What it ended with where this program, not the task, is at fault: no verdict."""
        return self._verdict(None, f"trouble: {type(bug).__name__}: {bug}")

    async def _examine(self, task: Loaded, candidate: Candidate) -> None:
        """G0 needs no image, and a task that fails it is not built; then the build, then everything else."""
        bundle = bundle_of(candidate)
        if not await self._validate(candidate, bundle, READ):
            return
        built = await build_image(task, candidate, builder=self._bench.builder, stand_ins=self._bench.stand_ins)
        if not built.ok:
            self._add(not_built(built))
            return
        try:
            await self._validate(in_image(candidate, built, task), bundle, RUN)
        finally:
            with contextlib.suppress(InfrastructureError):  # what cannot be removed now is swept later
                await self._bench.builder.remove(built.image)

    async def _validate(self, candidate: Candidate, bundle: str, gates: tuple[Gate, ...]) -> bool:
        """Run some of the gates; whether to go on."""
        self._report = await validate(
            candidate,
            bundle=bundle,
            sandbox=self._sandbox,
            repeats=self._terms.repeats,
            controls_max=self._terms.controls,
            observe=observe,
            difference=difference,
            gates=gates,
            told=self._add,
        )
        return all(gate.passed is True for gate in self._report.gates)

    def _add(self, result: GateResult) -> None:
        self._gates.append(result)
        self._watcher.gate(self._task.name, result)

    def _skipped(self) -> tuple[SkippedGate, ...]:
        return self._report.skipped if self._report else ()

    def _verdict(self, accepted: bool | None, reason: str, component: Component | None = None) -> AuditedTask:
        controls = self._report.controls if self._report else ()
        return AuditedTask(
            name=self._task.name,
            path=printable(str(self._task.path)),
            accepted=accepted,
            component=component,
            reason=first_line(reason),
            gates=tuple(self._gates),
            skipped=self._skipped(),
            controls=sum(control.killed is not None for control in controls),
            killed=sum(control.killed is True for control in controls),
            survivors=_survivors(controls),
            container_starts=self._sandbox.starts,
            seconds=round(time.monotonic() - self._began, 1),
        )


def _survivors(controls: Sequence[ControlResult]) -> tuple[str, ...]:
    return tuple(f"{control.path}: {control.what}" for control in controls if control.killed is False)


def _form(task: Loaded) -> GateResult:
    """Faults of form are findings of the static gate."""
    lines = "\n".join(fault.text for fault in task.faults)
    return GateResult(
        gate=Gate.STATIC, passed=False, runs=0, evidence=lines[:EVIDENCE], component=task.faults[0].component
    )


def not_built(built: BuildResult) -> GateResult:
    """What a build that failed says of the task, or of the network."""
    lines = [line.strip() for line in built.log.splitlines() if line.strip()]
    said = built.log[-EVIDENCE:].strip()
    if built.fault is BuildFault.FAILED and _NO_NETWORK.search("\n".join(lines[-_LOG_END:])):
        return GateResult(
            gate=Gate.BUILD,
            passed=None,
            runs=1,
            evidence=f"infrastructure: the build did not reach the network\n{said}",
        )
    return GateResult(
        gate=Gate.BUILD,
        passed=False,
        runs=1,
        evidence=f"the image does not build: {lines[-1] if lines else 'no output'}\n{said}",
        component=Component.ENVIRONMENT,
        reason=Reason.BUILD_LIMIT if built.fault is BuildFault.LIMIT else Reason.BUILD_FAILED,
    )


def in_image(candidate: Candidate, built: BuildResult, task: Loaded) -> Candidate:
    """The task in its image, which says as whom and where the agent works unless the task declares that."""
    return replace(
        candidate,
        image=built.image,
        user=task.user or built.user.partition(":")[0] or "root",
        workdir=task.workdir or built.workdir or "/",
    )


def bounded(candidate: Candidate, cpus_max: float) -> Candidate:
    """With no more CPUs than the engine has: it refuses containers that ask for more."""
    limits = candidate.limits
    return replace(candidate, limits=limits.model_copy(update={"cpus": min(limits.cpus, cpus_max)}))


def bundle_of(candidate: Candidate) -> str:
    """Digest of everything that the gates look at."""
    files = [file.model_dump_json() for file in (*candidate.context, *candidate.solution, *candidate.tests)]
    return digest_of("\0".join([candidate.dockerfile, candidate.instruction, *files]))


def first_line(text: str) -> str:
    """The first line that says something, cut where it is long."""
    line = next((line.strip().removeprefix("- ") for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= REASON else f"{line[: REASON - 1]}…"
