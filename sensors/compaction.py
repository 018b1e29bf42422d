"""Asks for a compaction of the store once an hour: what sensors and reports read is far cheaper to read then."""

from assets.maintenance import compact_store
from sensors.schedules import one_at_a_time

hourly_compaction = one_at_a_time(
    name="hourly_compaction",
    job=compact_store,
    cron_schedule="43 * * * *",
    description="Merges the small files of the store, once an hour.",
)
