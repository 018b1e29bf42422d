"""Dagster sensors and schedules: they discover and request, they never work."""
