"""Asks for another look at a sample of accepted tasks every night."""

import dagster as dg

from assets.maintenance import revalidate_tasks

nightly_drift = dg.ScheduleDefinition(
    name="nightly_drift",
    job=revalidate_tasks,
    cron_schedule="11 2 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Builds a sample of accepted tasks anew and puts them to the gates, once a night.",
)
