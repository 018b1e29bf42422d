"""Asks for a compaction of the store once an hour: what sensors and reports read is far cheaper to read then."""

import dagster as dg

from assets.maintenance import compact_store

hourly_compaction = dg.ScheduleDefinition(
    name="hourly_compaction",
    job=compact_store,
    cron_schedule="43 * * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Merges the small files of the store, once an hour.",
)
