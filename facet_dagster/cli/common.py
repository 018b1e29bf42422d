"""What every command needs: the settings, and a console of the right width."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from facet_dagster.settings import Settings, load

PIPE_WIDTH = 220
Profile = Annotated[Path | None, typer.Option(help="TOML profile of the run, for example data/profiles/full.toml")]


def read_settings(profile: Path | None = None) -> Settings:
    """A profile and the environment. Raises SettingsError."""
    return load(os.environ, profile)


def make_console() -> Console:
    """A console as wide as the terminal; where there is none, wide enough that ids can be copied out of tables."""
    console = Console(soft_wrap=True)
    return console if console.is_terminal else Console(soft_wrap=True, width=PIPE_WIDTH)
