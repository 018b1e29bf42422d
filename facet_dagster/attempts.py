"""The attempts of the teacher on accepted tasks: which are still to be made, side by side, each kept as it goes.

A front door like pipeline.py, for the command line and the Dagster assets. What happens in one attempt: rollout/.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from facet_dagster.jobs import TaskRef, import_job, is_graded, task_digest
from facet_dagster.makers import Bench
from facet_dagster.ports import Ledger, Store
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.base import digest_of
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import Handover, Trial, Turn
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.rollout.agent import Keep
from facet_dagster.rollout.journal import cut_trials, forget, journal
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.side_by_side import to_their_ends
from facet_dagster.tasks import accepted_bench, export_accepted
from facet_dagster.validation.grade import grade
from facet_dagster.validation.kit import contents_of_tests
from facet_dagster.workshop import Workshop

T = TypeVar("T", bound=Trial)


async def roll_out(seed_id: str, workshop: Workshop, slots: asyncio.Semaphore | None = None) -> list[Trial]:
    """The teacher's attempts on a seed's accepted task (none without one). Graded attempts are not repeated.

    Attempts are made side by side, as many as `slots` (of the whole run) allow. One that a dead process left half done
    is kept as cut and made again; what it had paid for is taken from the store.
    """
    slots = slots or asyncio.Semaphore(workshop.rollouts.in_flight)
    keep_cut(seed_id, open_trials(workshop), workshop.store)
    bench = accepted_bench(seed_id, workshop)
    if bench is None:
        return []
    task = bench.body(Task, Component.TASK)
    done = _graded(bench, task)
    missing = [attempt for attempt in range(workshop.rollouts.attempts) if attempt not in done]
    if missing and workshop.harbor is not None:  # the task as it now stands, whole before anybody reads it
        export_accepted(bench, task.rounds, workshop.store.rows(ComponentVersion, seed_id))
    ensuring = asyncio.Lock()

    async def one(attempt: int) -> Trial:
        async with slots:
            await _affordable(workshop)
            async with ensuring:  # before each: its engine may have been lost, and the image with it
                await bench.ensure_image()
            made = _by_harbor if workshop.harbor is not None else _attempt
            return await made(bench, task, attempt)

    # One attempt's end, even by a bug, does not throw away what the others have paid for.
    made = await to_their_ends(one(attempt) for attempt in missing)
    done.update({trial.attempt: trial for trial in made})
    return [done[attempt] for attempt in sorted(done)]


async def _affordable(workshop: Workshop) -> None:
    """Raise BudgetSpent before anything is started that could not make its first call."""
    await asyncio.to_thread(workshop.ledger.check)


def open_trials(workshop: Workshop) -> Path:
    """Where trials are kept while they are on their way."""
    return workshop.out / "open-trials"


def keep_cut(seed_id: str, folder: Path, store: Store, kind: type[Trial] = Trial) -> None:
    """Keep, as records of `kind`, the trials of a seed whose process died."""
    for trial in cut_trials(folder, seed_id):
        store.put(kind.model_validate(trial.model_dump()))
        forget(folder, trial)


async def kept(begun: T, folder: Path, store: Store, run: Callable[[Keep], Awaitable[T]]) -> T:
    """Run a trial: every turn is in its journal below `folder` at once, and the whole in the store at the end."""
    with journal(folder, begun) as lines:

        async def keep(done: Turn | Handover) -> None:
            await asyncio.to_thread(lines.add, done)

        trial = await run(keep)
        await asyncio.to_thread(store.put, trial)
        forget(folder, trial)
    return trial


def _graded(bench: Bench, task: Task) -> dict[int, Trial]:
    workshop = bench.workshop
    teacher, engine = workshop.model_names[Role.TEACHER], workshop.rollouts.engine
    mine = [t for t in workshop.store.rows(Trial, bench.seed.seed_id) if t.bundle == task.bundle and t.model == teacher]
    return {t.attempt: t for t in mine if t.grade is not None and t.engine == engine}


async def _attempt(bench: Bench, task: Task, attempt: int) -> Trial:
    workshop, seed_id = bench.workshop, bench.seed.seed_id
    terms = workshop.construction
    grade_image = partial(
        grade,
        name=seed_id,
        tests=contents_of_tests(bench.body(Verifier, Component.VERIFIER)),
        sandbox=workshop.sandbox,
        limits=terms.limits,
        timeout_s=terms.grade_timeout_s,
    )
    teacher = workshop.model_names[Role.TEACHER]
    begun = begin(task.name, seed_id, task.bundle, attempt, model=teacher, run_id=workshop.run_id)

    async def run(keep: Keep) -> Trial:
        return await run_trial(
            begun,
            bench.instruction,
            bench.environment,
            model=workshop.model,
            sandbox=workshop.sandbox,
            limits=terms.limits,
            settings=limits_of(workshop.rollouts),
            grade=grade_image,
            cost_of=partial(workshop.ledger.cost, Role.TEACHER),
            keep=keep,
        )

    return await kept(begun, open_trials(workshop), workshop.store, run)


async def _by_harbor(bench: Bench, task: Task, attempt: int) -> Trial:
    """As _attempt, by Harbor's agent on the exported task. Trouble without a job folder is raised.

    The job is named by what is attempted, so that one whose process died after it was paid for is found again.
    """
    workshop, seed_id = bench.workshop, bench.seed.seed_id
    assert workshop.harbor is not None
    teacher = workshop.model_names[Role.TEACHER]
    name = f"{seed_id}-{attempt:03d}-{digest_of(f'{task.bundle} {teacher}')[:12]}"
    job = await workshop.harbor.run(
        workshop.tasks / task.directory, model=teacher, jobs=workshop.out / "jobs", name=name, whole=is_graded
    )
    ref = TaskRef(seed=seed_id, task=task.name, bundle=task.bundle)
    (trial,) = import_job(job, {task.name: ref})
    trial = trial.model_copy(update={"attempt": attempt, "model": teacher, "run_id": workshop.run_id})
    await asyncio.to_thread(_paid_by_harbor, trial, workshop.ledger)
    await asyncio.to_thread(workshop.store.put, trial)
    return trial


def _paid_by_harbor(trial: Trial, ledger: Ledger) -> None:
    """The calls of an agent that asked the endpoint by itself, in the ledger afterwards."""
    for turn, call in enumerate(trial.calls):
        request = ChatRequest(
            call=CallId(station="rollout.harbor", subject=trial.seed, attempt=trial.attempt, turn=turn),
            role=Role.TEACHER,
            messages=(Message(role="user", content=call.prompt),),
            prompt_hash=digest_of(""),  # the prompts are Harbor's
            basis=trial.bundle,
        )
        completion = Completion(
            text=call.raw,
            model=trial.model,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
        )
        ledger.write(request, completion)


def import_jobs(folder: Path, store: Store, tasks: Path) -> tuple[list[Trial], list[str]]:
    """Keep the trials of a job folder made elsewhere; importing it again changes nothing.

    `tasks` is where our tasks are exported. A trial belongs to the bundle that was exported last only where Harbor's
    digest of its task is that of the folder; the names of the others come second: such a trial is kept with Harbor's
    checksum as its bundle, and no set takes it for one on the current task.
    """
    last = {v.body.name: (v.group, v.body) for v in store.rows(ComponentVersion) if isinstance(v.body, Task)}
    known = {
        name: TaskRef(seed=seed, task=name, bundle=task.bundle, folder=task_digest(tasks / task.directory))
        for name, (seed, task) in last.items()
    }
    trials = import_job(folder, known)
    for trial in trials:
        store.put(trial)
    strange = {t.task for t in trials if t.task in known and t.bundle != known[t.task].bundle}
    return trials, sorted(strange)


def limits_of(terms: RolloutTerms) -> TrialLimits:
    """The limits of one trial that the terms of rollouts set."""
    shared = TrialLimits.model_fields.keys() & RolloutTerms.model_fields.keys() - {"schema_version"}
    return TrialLimits(**{name: getattr(terms, name) for name in shared})
