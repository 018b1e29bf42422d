"""`facet export OUT`: the accepted tasks, trajectories and the SFT set, copied from where the run wrote them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from facet_dagster.errors import SettingsError
from facet_dagster.settings import Settings

PARTS = ("tasks", "trajectories", "sft")


def export_all(settings: Settings, out: Path) -> Iterator[str]:
    """Copy every part that is there; one line per part. Raises SettingsError where there is nothing to export."""
    present = [part for part in PARTS if (settings.out / part).is_dir()]
    if not present:
        raise SettingsError(f"nothing to export in {settings.out}: run `facet run` first")
    if out.exists() and not out.is_dir():
        raise SettingsError(f"{out} is a file: name a folder to write to")
    for part in present:
        shutil.copytree(settings.out / part, out / part, dirs_exist_ok=True)
        yield f"{part:<13} {out / part}"
