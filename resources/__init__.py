"""Dagster resources: typed settings in, plain domain object out."""
