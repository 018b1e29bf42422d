"""Asks for a compaction of the store once a day."""

import dagster as dg

from assets.maintenance import compact_store

daily_compaction = dg.ScheduleDefinition(
    name="daily_compaction",
    job=compact_store,
    cron_schedule="43 3 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Merges the small files of the store, once a day.",
)
