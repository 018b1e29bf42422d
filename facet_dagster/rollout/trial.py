"""One attempt of the teacher on one accepted task, in a clean container, graded after its processes have ended.

Trouble never becomes a grade: where model or engine failed, the trial is kept with reward None. Model calls are
made durable by the model that is passed in, so a trial that was killed starts again and pays for nothing twice.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from facet_dagster.errors import InfrastructureError, ModelError, NoRecording
from facet_dagster.ports import ChatModel, Container, Sandbox
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.base import now
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.validation import GradeReport
from facet_dagster.rollout.agent import Agent, Clock, CostOf, Keep, free, keep_nothing
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.terminal import Terminal

Grade = Callable[[str], Awaitable[GradeReport]]
STATION = "rollout.teacher"


def begin(task: str, seed: str, bundle: str, attempt: int, *, model: str, run_id: str) -> Trial:
    """A trial of which nothing has happened yet."""
    return Trial(
        seed=seed,
        task=task,
        bundle=bundle,
        attempt=attempt,
        model=model,
        recorded=False,
        stop=StopReason.INFRASTRUCTURE,
        reward=None,
        grade=None,
        turns=(),
        seconds=0.0,
        started_at=now(),
        run_id=run_id,
    )


async def run_trial(
    begun: Trial,
    instruction: Instruction,
    environment: Environment,
    *,
    model: ChatModel,
    sandbox: Sandbox,
    limits: Limits,
    settings: TrialLimits,
    grade: Grade,
    cost_of: CostOf = free,
    clock: Clock = time.monotonic,
    keep: Keep = keep_nothing,
) -> Trial:
    """Let the teacher work on the task, then grade what it left. `grade` takes the image of that state.

    `seconds` are of the work alone, without what it waited for a container or a call; `keep` is given every turn when
    it is done. A replay ends where its recording does. Raises BudgetSpent and NoRecording.
    """
    spec = ContainerSpec(image=environment.image, seed=begun.seed, purpose="rollout", limits=limits)
    outcome = _Outcome()

    async def work(container: Container) -> StopReason:
        call = CallId(station=STATION, subject=begun.seed, attempt=begun.attempt)
        agent = Agent(
            model, Terminal(container), call=call, settings=settings, basis=begun.bundle,
            cost_of=cost_of, clock=clock, keep=keep,
        )  # fmt: skip
        started = clock()
        outcome.agent = agent
        try:
            if environment.materials.services:
                await _services(container)
            return await agent.work(instruction.text)
        except NoRecording:
            if not agent.turns:
                raise
            return StopReason.RECORDING_ENDED
        except ModelError as trouble:
            outcome.trouble = str(trouble)
            return StopReason.MODEL_TROUBLE
        finally:
            outcome.seconds = clock() - started - agent.queued_s

    await _attempt(outcome, work, spec, sandbox, grade)
    return _ended(begun, outcome)


def _ended(begun: Trial, outcome: "_Outcome") -> Trial:
    report, agent = outcome.report, outcome.agent
    return begun.model_copy(
        update={
            "recorded": agent is not None and agent.recorded,
            "stop": outcome.stop,
            "reward": report.reward if report else None,
            "grade": report,
            "turns": tuple(agent.turns) if agent else (),
            "handovers": tuple(agent.handovers) if agent else (),
            "seconds": outcome.seconds,
            "trouble": outcome.trouble,
        }
    )


async def _services(container: Container) -> None:
    """Wait until the services of the task serve: the teacher starts where the probes of the environment started."""
    waited = await container.run(wait_for_services())
    if not waited.ok:
        raise InfrastructureError("the services of the task do not start")


@dataclass
class _Outcome:
    """What came of the attempt so far; without an agent the container did not even start."""

    agent: Agent | None = None
    stop: StopReason = StopReason.INFRASTRUCTURE
    report: GradeReport | None = None
    seconds: float = 0.0
    trouble: str = ""


async def _attempt(
    outcome: _Outcome,
    work: Callable[[Container], Awaitable[StopReason]],
    spec: ContainerSpec,
    sandbox: Sandbox,
    grade: Grade,
) -> None:
    """Work, freeze, grade. The frozen image is discarded whatever happens; what cannot be is swept later."""
    image: str | None = None
    try:
        async with sandbox.open(spec) as container:
            outcome.stop = await work(container)
            if outcome.stop is not StopReason.MODEL_TROUBLE:
                image = await container.freeze()
        if image is not None:
            outcome.report = await grade(image)
    except InfrastructureError as trouble:
        outcome.stop, outcome.trouble = StopReason.INFRASTRUCTURE, str(trouble)
    finally:
        if image is not None:
            with contextlib.suppress(InfrastructureError):
                await sandbox.discard(image)
