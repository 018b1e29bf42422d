"""`facet ui`: Dagster's webserver and daemon on the instance that `facet run` uses, bound to loopback."""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from facet_dagster.definitions import open_instance
from facet_dagster.errors import SettingsError
from facet_dagster.settings import PROJECT, Settings


def serve(settings: Settings, profile: Path | None, port: int) -> NoReturn:
    """Become `dagster dev`. Raises SettingsError where there is no checkout."""
    workspace = PROJECT / "workspace.yaml"
    dagster = shutil.which("dagster", path=str(Path(sys.executable).parent))
    if not workspace.is_file() or dagster is None:
        raise SettingsError("the Dagster layer runs from a checkout: start this from there, after `make install`")
    with open_instance(settings.dagster_home):
        pass  # writes the instance's configuration where it is missing
    environment = {**os.environ, "DAGSTER_HOME": str(settings.dagster_home.resolve())}
    if profile is not None:
        environment["FACET_PROFILE"] = str(profile.resolve())
    command = [dagster, "dev", "-w", str(workspace), "-h", "127.0.0.1", "-p", str(port)]
    # Signals that a parent ignored (nohup, make &) would make Dagster deaf to both INT and TERM.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(PROJECT)
    os.execve(dagster, command, environment)  # Dagster takes this process over, its signals with it
