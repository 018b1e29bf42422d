"""`facet yields` and `facet sql`: answers of the store as a table, and as CSV or JSON where a file is named."""

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Column, Table

from facet_dagster.cli.files import check_target, write_file
from facet_dagster.cli.plain import plain
from facet_dagster.cli.tables import shown_frame
from facet_dagster.errors import SettingsError
from facet_dagster.yields.questions import questions
from facet_dagster.yields.report import report_html
from facet_dagster.yields.views import ask, run_query


def name_all(console: Console) -> None:
    """Every ready question and what it answers."""
    table = Table(Column("facet yields …", no_wrap=True), Column("answers", overflow="fold"), box=None)
    for each in questions():
        table.add_row(each.name, plain(each.about))
    console.print(table)


def answer(store: str, name: str, console: Console, csv_file: Path | None, json_file: Path | None) -> None:
    """The answer to a ready question. Raises SettingsError and InfrastructureError."""
    _check(csv_file, json_file)
    _give(run_query(store, name), console, csv_file, json_file)


def answer_sql(store: str, select: str, console: Console, csv_file: Path | None, json_file: Path | None) -> None:
    """The answer to one SELECT. Raises SettingsError and InfrastructureError."""
    _check(csv_file, json_file)
    _give(ask(store, select), console, csv_file, json_file)


def write_report(store: str, console: Console, html_file: Path) -> None:
    """The report as one page. Raises SettingsError and InfrastructureError."""
    check_target(html_file)
    write_file(html_file, report_html(store, store.rstrip("/").rpartition("/")[2]))
    console.print(str(html_file), highlight=False, markup=False)


def _check(*files: Path | None) -> None:
    for file in files:
        check_target(file)


def _give(frame: pd.DataFrame, console: Console, csv_file: Path | None, json_file: Path | None) -> None:
    console.print(shown_frame(frame))
    if csv_file is not None:
        write_file(csv_file, frame.to_csv(index=False).encode())
    if json_file is not None:
        try:
            written = frame.to_json(orient="records", date_format="iso", indent=1, default_handler=str)
        except OverflowError as error:  # pandas calls bytes so that are no UTF-8
            raise SettingsError("a value is no text: ask for it in another type, as JSON has no bytes") from error
        write_file(json_file, written.encode() + b"\n")
