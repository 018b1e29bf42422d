"""The views over a store: empty, full, at a URL, and during a compaction."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import KINDS, ParquetStore
from facet_dagster.adapters.store_files import StoreFiles
from facet_dagster.adapters.store_format import schema_of
from facet_dagster.errors import SettingsError
from facet_dagster.testing.counted_store import fill
from facet_dagster.yields import views
from facet_dagster.yields.questions import Question, questions
from facet_dagster.yields.views import open_views, run_query, run_sql


@pytest.mark.parametrize("asked", questions(), ids=lambda each: each.name)
def test_every_query_runs_on_an_empty_store_and_says_what_it_answers(asked: Question, tmp_path: Path) -> None:
    frame = run_query(str(tmp_path / "nothing"), asked.name)
    assert len(frame) == {"funnel": 15, "paper": 8}.get(asked.name, 0)
    assert asked.about.endswith(".") and list(asked.columns) == list(frame.columns)
    assert all(asked.columns.values())


def test_an_empty_table_has_the_columns_of_a_full_one(root: str, tmp_path: Path) -> None:
    with open_views(root) as full, open_views(str(tmp_path / "nothing")) as empty:
        for kind in KINDS:
            described: Sequence[list[tuple[object, ...]]] = [
                connection.sql(f"DESCRIBE {kind.table}").fetchall() for connection in (full, empty)
            ]
            assert described[0] == described[1]
            assert [column[0] for column in described[0]] == schema_of(kind).names


def test_a_file_that_vanishes_while_it_is_read_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)

    def open_then_compact(root: str, sql: str) -> object:
        monkeypatch.setattr(views, "open_views", open_views)
        connection = open_views(root, sql)
        store.compact()
        return connection

    monkeypatch.setattr(views, "open_views", open_then_compact)
    assert run_sql(str(tmp_path), "SELECT count(*) AS n FROM seeds")["n"].tolist() == [3]


def test_a_row_that_stands_in_two_files_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    monkeypatch.setattr(StoreFiles, "remove", lambda *_: None)
    store.compact()
    assert run_sql(str(tmp_path), "SELECT count(*) AS n FROM seeds")["n"].tolist() == [3]


def test_a_store_at_a_url_can_be_queried() -> None:
    store = ParquetStore("memory://facet-test-yields")
    fill(store)
    assert run_query("memory://facet-test-yields", "funnel")["count"].tolist()[:3] == [4, 3, 3]


def test_an_unknown_query_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no query 'nope'; known are: accepted_cost, answered, categories"):
        run_query(str(tmp_path), "nope")
