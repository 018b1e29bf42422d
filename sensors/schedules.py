"""Schedules of housekeeping: one run of a job at a time, so that nothing piles up behind a line that works."""

import dagster as dg

from resources.owners import end_lost_runs
from sensors.asking import UNFINISHED


def one_at_a_time(name: str, job: dg.JobDefinition, cron_schedule: str, description: str) -> dg.ScheduleDefinition:
    """A schedule, off by default, that asks for its job unless a run of it has not ended."""

    def ask(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        end_lost_runs(context.instance)
        if is_under_way(context.instance, job.name):
            return dg.SkipReason(f"a run of {job.name} has not ended")
        return dg.RunRequest()

    return dg.ScheduleDefinition(
        name=name,
        job=job,
        cron_schedule=cron_schedule,
        execution_fn=ask,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=description,
    )


def is_under_way(instance: dg.DagsterInstance, job_name: str) -> bool:
    """Whether a run of a job waits or works."""
    return instance.get_runs_count(dg.RunsFilter(job_name=job_name, statuses=UNFINISHED)) > 0
