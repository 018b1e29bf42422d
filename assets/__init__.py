"""Dagster assets: one file per layer of the graph, thin bodies."""
