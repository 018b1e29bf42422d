"""The index of a folder of exported tasks: one row per task, beside the task directories themselves.

The folder is a dataset for Harbor as it is (`harbor run -p FOLDER`). Does not belong here: writing the tasks.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.datasets.folder import write_whole
from facet_dagster.records.bundle import Task

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("bundle", pa.string()),
        ("tests", pa.int64()),
        ("repair_round", pa.int64()),  # the highest round among its components; 0 is a first pass
        ("directory", pa.string()),
    ]
)


def export_dataset(directory: Path, tasks: Sequence[Task]) -> Path:
    """Write `tasks.parquet` and `README.md` into the folder of the tasks; returns the index, ordered by task name."""
    rows = [
        {
            "name": task.name,
            "bundle": task.bundle,
            "tests": task.tests,
            "repair_round": max(task.rounds.values(), default=0),
            "directory": task.directory,
        }
        for task in sorted(tasks, key=lambda task: task.name)
    ]
    buffer = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), buffer, compression="zstd")
    index = directory / "tasks.parquet"
    write_whole(index, buffer.getvalue())
    write_whole(directory / "README.md", _readme(sorted(tasks, key=lambda task: task.name)).encode())
    return index


def _readme(tasks: Sequence[Task]) -> str:
    lines = [
        "# Verified terminal tasks",
        "",
        f"{len(tasks)} task(s). Each folder is a task in Harbor's format, the whole is a dataset: `harbor run -p .`",
        "Where a task comes from stands in its `task.toml` under `[metadata]`; `tasks.parquet` lists them all.",
    ]
    if tasks:
        lines += ["", "| task | tests | folder |", "|---|---|---|"]
        lines += [f"| {task.name} | {task.tests} | {Path(task.directory).name} |" for task in tasks]
    return "\n".join(lines) + "\n"
