"""Asks for the removal of old run logs once a day."""

import dagster as dg

from assets.pruning import prune_run_logs

daily_pruning = dg.ScheduleDefinition(
    name="daily_pruning",
    job=prune_run_logs,
    cron_schedule="29 4 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Removes run logs older than two weeks, once a day; materialisations are kept.",
)
