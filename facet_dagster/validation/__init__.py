"""Grading and the gates: build, no-op, oracle; three-valued verdicts."""
