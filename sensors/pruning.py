"""Asks for the removal of old run logs once a day."""

from assets.pruning import prune_run_logs
from sensors.schedules import one_at_a_time

daily_pruning = one_at_a_time(
    name="daily_pruning",
    job=prune_run_logs,
    cron_schedule="29 4 * * *",
    description="Removes run logs older than two weeks, once a day; materialisations are kept.",
)
