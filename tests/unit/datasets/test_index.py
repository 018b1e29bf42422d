"""The index beside exported tasks."""

import pyarrow.parquet as pq

from facet_dagster.datasets.index import export_dataset
from facet_dagster.records.bundle import Task


def test_tasks_are_listed_by_name(tmp_path):
    tasks = [
        Task(name=f"org/{seed}", bundle="b" * 64, rounds=rounds, tests=3, directory=f"tasks/{seed}")
        for seed, rounds in (("b", {"verifier": 2, "scenario": 0}), ("a", {}))
    ]
    index = export_dataset(tmp_path, tasks)
    rows = pq.read_table(index).to_pylist()
    assert [(row["name"], row["repair_round"]) for row in rows] == [("org/a", 0), ("org/b", 2)]
    assert "| org/a | 3 | a |" in (tmp_path / "README.md").read_text()


def test_no_task_is_a_valid_index(tmp_path):
    assert pq.read_table(export_dataset(tmp_path, [])).num_rows == 0
    assert "0 task(s)" in (tmp_path / "README.md").read_text()
