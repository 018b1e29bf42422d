"""Asks for a sweep of the container engine once an hour."""

import dagster as dg

from assets.maintenance import sweep_leftovers

hourly_sweep = dg.ScheduleDefinition(
    name="hourly_sweep",
    job=sweep_leftovers,
    cron_schedule="17 * * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Removes what dead runs left in the container engine, once an hour.",
)
