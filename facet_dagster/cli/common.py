"""What every command needs: the settings, and a console of the right width."""

import os
import uuid
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from facet_dagster.records.call import Role
from facet_dagster.settings import CHAT_ROLES, Settings, load

PIPE_WIDTH = 220
CsvFile = Annotated[Path | None, typer.Option("--csv", help="write the answer as CSV to this file")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="write the answer as JSON to this file")]
Profile = Annotated[Path | None, typer.Option(help="TOML profile of the run, for example data/profiles/full.toml")]


def read_settings(profile: Path | None = None, *, asked: Collection[Role] = CHAT_ROLES) -> Settings:
    """A profile and the environment. Raises SettingsError; see settings.load for `asked`."""
    return load(os.environ, profile, asked=asked)


def new_run_id() -> str:
    """Sorts by time, and is not given twice."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def make_console() -> Console:
    """A console as wide as the terminal; where there is none, wide enough that ids can be copied out of tables."""
    console = Console(soft_wrap=True)
    return console if console.is_terminal else Console(soft_wrap=True, width=PIPE_WIDTH)
