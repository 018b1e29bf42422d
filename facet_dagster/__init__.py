"""FACET on Dagster: agent skills become verified terminal tasks. See docs/architecture.md."""
