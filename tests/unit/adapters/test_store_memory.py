"""What a process remembers of the store: no more than it may, the latest rows, and never in place of what is there."""

from pathlib import Path

import pytest

from facet_dagster.adapters import store_files
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.store_memory import LatestRows, Row
from facet_dagster.records.seed import Candidate


def row(text: str) -> Row:
    return ("group", "key"), text


def candidate(name: str) -> Candidate:
    return Candidate(candidate_id=name, hypothesis_ids=(), skill_ids=(), similarity=0.5, kept=True, rationale="because")


def test_the_longest_unused_rows_are_forgotten_first() -> None:
    latest = LatestRows(kept=10)
    latest.keep("a", row("12345"))
    latest.keep("b", row("1234"))
    assert latest.get("a") == row("12345")
    latest.keep("c", row("12"))
    assert [latest.get(path) is not None for path in "abc"] == [True, False, True]


def test_a_row_that_does_not_fit_pushes_nothing_out() -> None:
    latest = LatestRows(kept=10)
    latest.keep("a", row("12345"))
    latest.keep("b", row("1" * 11))
    assert latest.get("a") is not None and latest.get("b") is None


def test_a_row_counts_once() -> None:
    latest = LatestRows(kept=10)
    for _ in range(5):
        latest.keep("a", row("12345"))
    latest.keep("b", row("12345"))
    assert latest.get("a") is not None and latest.get("b") is not None


def test_what_was_written_or_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = ParquetStore(str(tmp_path)), ParquetStore(str(tmp_path))
    writer.put(candidate("a"))
    assert len(reader.rows(Candidate)) == 1
    read = store_files.StoreFiles.read

    def no_rows(files: store_files.StoreFiles, path: str) -> bytes | None:
        assert not path.endswith(".parquet"), "a row was read again"
        return read(files, path)

    monkeypatch.setattr(store_files.StoreFiles, "read", no_rows)
    assert writer.rows(Candidate) == reader.rows(Candidate) == [candidate("a")]
    assert reader.get(Candidate, "all", "a") == candidate("a")


def test_a_row_whose_file_is_gone_is_not_listed(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(candidate("a"))
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    assert store.rows(Candidate) == []


def test_compaction_keeps_what_stands_on_disk_not_what_was_there_before(tmp_path: Path) -> None:
    first, other = ParquetStore(str(tmp_path)), ParquetStore(str(tmp_path))
    first.put(candidate("a"))
    (file,) = tmp_path.rglob("a.parquet")
    file.unlink()
    made_again = candidate("a").model_copy(update={"rationale": "made again"})
    assert other.put(made_again)
    first.compact()
    assert ParquetStore(str(tmp_path)).rows(Candidate) == [made_again]
