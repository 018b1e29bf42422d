"""Answers of DuckDB as tables for the terminal."""

import pandas as pd
from rich.table import Table

from facet_dagster.cli.plain import plain
from facet_dagster.yields.views import is_missing, run_query


def frame_table(store: str, query: str) -> Table:
    """The answer to a ready question as a table for the terminal."""
    return shown_frame(run_query(store, query))


def shown_frame(frame: pd.DataFrame) -> Table:
    """A frame as a table for the terminal."""
    table = Table(*[str(column) for column in frame.columns], box=None)
    for row in frame.itertuples(index=False):
        table.add_row(*[_cell(value) for value in row])
    return table


def _cell(value: object) -> str:
    if is_missing(value):
        return ""
    return f"{value:g}" if isinstance(value, float) else plain(str(value))
