"""Asks for work on seeds: new ones are walked, ends that can change are walked on, accepted tasks get their attempts.

Off by default, since what they ask for costs money. They ask for a bounded number at a time, never for what somebody
works on, and not at all while a person's backfill or `facet run` is under way or the day's budget is spent.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import dagster as dg

from facet_dagster.adapters.wiring import teacher_name
from facet_dagster.records.bundle import Status
from facet_dagster.settings import Settings
from facet_dagster.under_way import is_line_under_way
from facet_dagster.waiting import Ending, endings, graded_attempts
from resources.owners import end_lost_runs
from sensors.asking import MOST_WAITING, Queue, backfill_under_way
from sensors.budget import why_not
from sensors.pausing import pause_of

Choose = Callable[[Queue, dict[str, Ending]], Sequence[str]]
Request = Callable[[Queue, Sequence[str]], Iterator[dg.RunRequest]]
_OFF = dg.DefaultSensorStatus.STOPPED
_EVERY_S = 300  # reading what waits takes half a second of CPU at 8,000 seeds, ten where nothing is compacted


@dg.sensor(
    job_name="construct_all",
    minimum_interval_seconds=_EVERY_S,
    default_status=_OFF,
    description="Asks for a walk of registered seeds that have had none: stretch by stretch, as a backfill would.",
)
def new_seeds(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """A seed whose runs broke down before it came to an end counts as new, three times a day."""

    def choose(queue: Queue, ended: dict[str, Ending]) -> Sequence[str]:
        return [seed for seed in queue.registered if seed not in ended]

    return _ask(context, settings, choose, Queue.request_stretches)


@dg.sensor(
    job_name="repair_seeds",
    minimum_interval_seconds=_EVERY_S,
    default_status=_OFF,
    description="Asks for another walk of seeds that met trouble, or were rejected with fewer rounds than now allowed.",
)
def repairable_seeds(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """Lists, not stretches: what failed lies scattered. The oldest first."""
    rounds = settings.construction.task_repairs

    def choose(queue: Queue, ended: dict[str, Ending]) -> Sequence[str]:
        return [seed for seed, ending in ended.items() if ending.can_go_on(rounds)]

    return _ask(context, settings, choose, lambda queue, seeds: queue.request_lists("walk_listed", seeds))


@dg.sensor(
    job_name="roll_out_listed_seeds",
    minimum_interval_seconds=_EVERY_S,
    default_status=_OFF,
    description="Asks for the teacher's attempts on accepted tasks that have had fewer than the settings want.",
)
def untried_tasks(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """The oldest first."""
    terms = settings.rollouts
    wanted = frozenset(range(terms.attempts))

    def choose(queue: Queue, ended: dict[str, Ending]) -> Sequence[str]:
        tried = graded_attempts(settings.store, teacher_name(settings.models), terms.engine)
        accepted = [seed for seed, ending in ended.items() if ending.status is Status.ACCEPTED]
        return [seed for seed in accepted if wanted - tried.get(seed, frozenset())]

    return _ask(context, settings, choose, lambda queue, seeds: queue.request_lists("roll_out_listed", seeds))


def _ask(
    context: dg.SensorEvaluationContext, settings: Settings, choose: Choose, request: Request
) -> dg.SensorResult | dg.SkipReason:
    if spent := why_not(settings):
        return dg.SkipReason(spent)
    if backfill_under_way(context.instance):
        return dg.SkipReason("a backfill is under way: asks again when it has ended")
    end_lost_runs(context.instance)
    if is_line_under_way(Path(context.instance.root_directory)):
        return dg.SkipReason("`facet run` is at work: asks again when it has ended")
    queue = Queue.look(context.instance, context.sensor_name)
    if queue.waiting >= MOST_WAITING:
        return dg.SkipReason(f"{queue.waiting} runs wait already")
    pause = pause_of(context.instance, context.sensor_name)
    if pause and not pause.over:
        return dg.SkipReason(pause.reason)
    if pause and queue.unfinished:
        return dg.SkipReason(f"one run is tried after trouble ({pause.trouble}): asks again when it has ended")
    waiting = choose(queue, endings(settings.store))
    free = queue.free(waiting)
    if not free:
        left = (
            f"; {given_up} were asked for too often today: see their runs"
            if (given_up := queue.given_up(waiting))
            else ""
        )
        return dg.SkipReason(f"none of {len(queue.registered)} seeds waits{left}")
    # Seeds that lie scattered are many stretches: what is too many for the queue now comes with later ticks.
    most = 1 if pause else MOST_WAITING - queue.waiting
    return dg.SensorResult(run_requests=list(islice(request(queue, free), most)))
