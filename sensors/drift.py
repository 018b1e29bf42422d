"""Asks for another look at a sample of accepted tasks every night."""

from assets.maintenance import revalidate_tasks
from sensors.schedules import one_at_a_time

nightly_drift = one_at_a_time(
    name="nightly_drift",
    job=revalidate_tasks,
    cron_schedule="11 2 * * *",
    description="Builds a sample of accepted tasks anew and puts them to the gates, once a night.",
)
