"""`facet behaviour`: how the store's models work in the terminal, beside the paper's figures. No engine needed."""

from pathlib import Path

from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.files import check_target, write_file
from facet_dagster.cli.tables import shown_frame
from facet_dagster.errors import SettingsError
from facet_dagster.settings import Settings
from facet_dagster.yields.behaviour import figures_table, top_table, transition_table
from facet_dagster.yields.trials import behaviour_of, json_of


def report_behaviour(settings: Settings, console: Console, models: list[str] | None, json_file: Path | None) -> None:
    """Print the tables; raises SettingsError where the store has no trial (of these models)."""
    check_target(json_file)
    found = behaviour_of(ParquetStore(settings.store), models or ())
    if not found:
        raise SettingsError(f"no trial in {settings.store}: `facet run` or `facet evaluate` first")
    for title, frame in (
        ("figures", figures_table(found)),
        ("what follows on what", transition_table(found)),
        ("most frequent commands", top_table(found)),
    ):
        console.print(f"[bold]{title}[/]")
        console.print(shown_frame(frame.round(3)))
    if json_file is not None:
        write_file(json_file, json_of(found))
