"""Asks for a sweep of the container engine once an hour."""

from assets.maintenance import sweep_leftovers
from sensors.schedules import one_at_a_time

hourly_sweep = one_at_a_time(
    name="hourly_sweep",
    job=sweep_leftovers,
    cron_schedule="17 * * * *",
    description="Removes what dead runs left in the container engine, once an hour.",
)
