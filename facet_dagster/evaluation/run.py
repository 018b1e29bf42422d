"""An evaluation: every model's attempts at every task of a folder, several at a time; what is graded is not repeated.

Belongs here: which attempts are missing, in which order they are made, what trouble ends them. One attempt: attempt.py.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from facet_dagster.attempts import keep_cut, limits_of
from facet_dagster.audit.load import Found, Loaded
from facet_dagster.audit.run import bounded, bundle_of
from facet_dagster.errors import BudgetSpent, InfrastructureError, ModelError, ModelUnavailable
from facet_dagster.evaluation.attempt import Attempt, Examinee, error_trial, subject_of
from facet_dagster.evaluation.image import CannotPrepare, prepared
from facet_dagster.ports import ImageBuilder, Sandbox, Store
from facet_dagster.records.base import digest_of
from facet_dagster.records.call import CallId, ChatRequest, Message, Role
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.side_by_side import to_their_ends
from facet_dagster.validation.candidate import Candidate

IN_A_ROW = 4  # trials of a model that end with trouble of the endpoint: it is gone
BUILDS = 2  # at a time
TROUBLE = (InfrastructureError, OSError, ValueError)  # of one task
ENDS_ALL = (BudgetSpent, ModelError)  # concerns every trial: no further one is begun


@dataclass(frozen=True)
class Hall:
    """The tools of an evaluation. `journals` is a folder for trials on their way; the others: audit.run.Bench."""

    builder: ImageBuilder
    sandbox: Sandbox
    store: Store
    examinees: Sequence[Examinee]
    run_id: str
    journals: Path
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    cpus_max: float = 1.0


class Invigilator(Protocol):
    """Who wants to see an evaluation live. Every trial that counts is told once, `again` where it was made earlier."""

    def planned(self, tasks: int, trials: int) -> None: ...

    def at(self, what: str, doing: str) -> None: ...

    def ended(self, trial: EvaluationTrial, *, again: bool) -> None: ...


async def evaluate(
    tasks: Sequence[Found],
    hall: Hall,
    *,
    attempts: int,
    rollouts: RolloutTerms,
    network: bool,
    invigilator: Invigilator,
) -> list[EvaluationTrial]:
    """Make what is missing of `attempts` per task and model; the trials that count.

    A task that cannot be prepared gives trials without a reward; so does trouble of the engine, and of the endpoint
    now and then. Raises, once all trials in flight have ended and are kept: BudgetSpent, ModelError for an endpoint
    that refuses a model or is gone, NoRecording.
    """
    invigilator.planned(len(tasks), len(tasks) * len(hall.examinees) * attempts)
    work = _Evaluation(hall, attempts, rollouts, network, invigilator)
    # Tasks are opened ahead of the trials, so that some are built while others are worked on, but not all at once.
    each = len(hall.examinees) * attempts
    ahead = asyncio.Semaphore(BUILDS + -(-rollouts.in_flight // each))

    async def one(task: Found) -> None:
        async with ahead:
            await work.task(task)

    await to_their_ends(one(task) for task in tasks)
    return work.trials


class _Evaluation:
    """One evaluation on its way."""

    def __init__(
        self, hall: Hall, attempts: int, rollouts: RolloutTerms, network: bool, invigilator: Invigilator
    ) -> None:
        self._hall = hall
        self._attempts = attempts
        self._limits = limits_of(rollouts)
        self._network = network
        self._invigilator = invigilator
        self._slots = asyncio.Semaphore(rollouts.in_flight)
        self._builds = asyncio.Semaphore(BUILDS)
        self._greeting: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._greeted: set[str] = set()
        self._in_a_row: Counter[str] = Counter()
        self._over = False
        self.trials: list[EvaluationTrial] = []

    async def task(self, found: Found) -> None:
        """All attempts at one task."""
        if self._over:
            return
        try:
            await self._task(found)
        except ENDS_ALL:
            self._over = True
            raise

    async def _task(self, found: Found) -> None:
        task = await asyncio.to_thread(found.load)
        wrong = "; ".join([*(fault.text for fault in task.faults), *task.obstacles])
        if wrong or task.candidate is None:
            await self._unprepared(task, digest_of(f"{task.path}\0{wrong}"), wrong or "it cannot be read")
            return
        candidate = bounded(task.candidate, self._hall.cpus_max)
        content = bundle_of(candidate)
        network = self._network and task.network
        bundle = digest_of(f"{content}\0{self._limits.model_dump_json()}\0{network}")
        missing = await asyncio.to_thread(self._missing, task.name, content, bundle)
        if not missing:
            return
        for examinee in dict.fromkeys(attempt.examinee for attempt in missing):
            await self._greet(examinee)
        if self._over:  # while this task waited for an answer, another got none
            return
        try:
            await self._make(missing, task, candidate, network)
        except ModelError:  # some kinds of it are OSErrors, too
            raise
        except CannotPrepare as trouble:
            await self._failed(missing, str(trouble))
        except TROUBLE as trouble:
            await self._failed(missing, f"trouble: {trouble}")

    async def _make(self, missing: Sequence[Attempt], task: Loaded, candidate: Candidate, network: bool) -> None:
        hall = self._hall
        preparing = prepared(task, candidate, builder=hall.builder, sandbox=hall.sandbox, stand_ins=hall.stand_ins)
        async with AsyncExitStack() as stack:
            async with self._builds:
                self._invigilator.at(task.name, "building")
                placed = await stack.enter_async_context(preparing)
            # One attempt's end does not throw away what the others have paid for.
            await to_their_ends(self._attempt(attempt, placed, network) for attempt in missing)

    async def _attempt(self, attempt: Attempt, placed: Candidate, network: bool) -> None:
        async with self._slots:
            if self._over:
                return
            self._invigilator.at(f"{placed.name} {attempt.examinee.name} #{attempt.number}", "working")
            try:
                trial = await attempt.make(placed, self._hall.sandbox, self._limits, network=network)
            except ENDS_ALL:
                self._over = True
                raise
        self._ended(trial)
        model = attempt.examinee.name
        self._in_a_row[model] = self._in_a_row[model] + 1 if trial.by_model else 0
        if self._in_a_row[model] >= IN_A_ROW:
            self._over = True
            raise ModelUnavailable(f"{IN_A_ROW} trials of {model} in a row: {trial.error}")

    def _missing(self, name: str, content: str, bundle: str) -> list[Attempt]:
        """The attempts without a grade; what dead processes left half done is kept first."""
        missing = []
        for examinee in self._hall.examinees:
            subject = subject_of(name, content, examinee.name)
            keep_cut(subject, self._hall.journals, self._hall.store, EvaluationTrial)
            rows = self._hall.store.rows(EvaluationTrial, subject)
            done = {row.attempt: row for row in rows if row.bundle == bundle and row.reward is not None}
            for number in range(self._attempts):
                if number in done:
                    self._ended(done[number], again=True)
                else:
                    attempt = Attempt(
                        examinee,
                        name,
                        subject,
                        bundle,
                        number,
                        self._hall.run_id,
                        self._hall.store,
                        self._hall.journals,
                    )
                    missing.append(attempt)
        return missing

    async def _unprepared(self, task: Loaded, bundle: str, why: str) -> None:
        await self._failed(await asyncio.to_thread(self._missing, task.name, bundle, bundle), why)

    async def _failed(self, missing: Sequence[Attempt], why: str) -> None:
        ended = {(trial.seed, trial.attempt) for trial in self.trials}
        for attempt in missing:
            if (attempt.subject, attempt.number) not in ended:
                trial = error_trial(attempt, why)
                await asyncio.to_thread(self._hall.store.put, trial)
                self._ended(trial)

    def _ended(self, trial: EvaluationTrial, *, again: bool = False) -> None:
        self.trials.append(trial)
        self._invigilator.ended(trial, again=again)

    async def _greet(self, examinee: Examinee) -> None:
        """Ask once whether the endpoint knows the model, before anything is built for it. Raises ModelError."""
        async with self._greeting[examinee.name]:
            if self._over or examinee.recorded or examinee.name in self._greeted:
                return
            greeting = ChatRequest(
                call=CallId(station="evaluation.greeting", subject=f"evaluation-{self._hall.run_id}"),
                role=Role.TEACHER,
                messages=(Message(role="user", content=f"Answer with the word ready. ({uuid4().hex})"),),
                prompt_hash="",
                max_tokens=16,
            )
            await examinee.model.complete(greeting)
            self._greeted.add(examinee.name)
