"""What only the store on disk can get wrong: format, atomic files, compaction, crashes, several processes."""

import json
import multiprocessing
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.adapters import store_files
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.store_files import file_name
from facet_dagster.errors import InfrastructureError, SettingsError, StoreTooNew
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.yields.views import run_sql


def outcome(seed: str = "seed-1", sequence: int = 0, evidence: str = "x", run_id: str = "run") -> SeedOutcome:
    return SeedOutcome(
        seed=seed,
        sequence=sequence,
        status=Status.REJECTED,
        first_pass=False,
        rounds=sequence,
        component=Component.SOLUTION,
        reason=Reason.SOLUTION_FAILED,
        evidence=evidence,
        run_id=run_id,
        at=now(),
    )


def singles(root: Path) -> list[Path]:
    return [p for p in root.glob("outcomes/*/*.parquet") if p.parent.name != "_compacted"]


def test_opening_writes_nothing_and_the_first_put_marks_the_format(tmp_path: Path) -> None:
    root = tmp_path / "store"
    store = ParquetStore(str(root))
    assert store.rows(SeedOutcome) == []
    assert not root.exists()
    store.put(outcome())
    assert json.loads((root / "format.json").read_text()) == {"version": 1}


def test_a_newer_store_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text('{"version": 2}')
    with pytest.raises(StoreTooNew, match="format 2, this program knows 1") as caught:
        ParquetStore(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", '{"version": null}', '{"version": "new"}'])
def test_a_broken_mark_is_a_settings_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(SettingsError, match="FACET_STORE"):
        ParquetStore(str(tmp_path))


def test_a_root_that_is_a_file_or_an_unknown_scheme_is_a_settings_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for root in (str(tmp_path / "file"), "nosuchscheme://bucket/store"):
        with pytest.raises(SettingsError):
            ParquetStore(root)


def test_columns_are_the_scalar_fields_and_keep_their_types_without_values(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome().model_copy(update={"component": None, "reason": None}))
    schema = pq.read_schema(singles(tmp_path)[0])
    types = {field.name: str(field.type) for field in schema}
    assert types["component"] == types["reason"] == types["record"] == types["group_"] == types["key_"] == "string"
    assert (types["rounds"], types["first_pass"], types["at"]) == ("int64", "bool", "timestamp[us, tz=UTC]")


def test_a_temporary_file_left_behind_is_ignored(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome())
    (singles(tmp_path)[0].parent / ".half.parquet.123.tmp").write_bytes(b"PAR1 half")
    assert len(store.rows(SeedOutcome)) == 1
    assert store.compact() == 1
    assert len(ParquetStore(str(tmp_path)).rows(SeedOutcome)) == 1


def test_no_temporary_file_is_left_behind(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome())
    store.put_blob(b"data")
    assert [p for p in tmp_path.rglob("*") if p.name.endswith(".tmp")] == []


def test_where_hard_links_are_missing_files_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(store_files.os, "link", no_links)
    store = ParquetStore(str(tmp_path))
    store.put(outcome(evidence="first"))
    store.put(outcome(evidence="second"))
    assert [row.evidence for row in store.rows(SeedOutcome)] == ["first"]
    assert [p for p in tmp_path.rglob("*") if p.name.endswith(".tmp")] == []


def test_a_full_disk_is_infrastructure_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_files.os, "fsync", full)
    with pytest.raises(InfrastructureError, match="No space left on device"):
        store.put(outcome(sequence=1))
    monkeypatch.undo()
    assert [row.sequence for row in store.rows(SeedOutcome)] == [0]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    ParquetStore(str(tmp_path)).put(outcome())
    singles(tmp_path)[0].write_bytes(b"not parquet")
    with pytest.raises(InfrastructureError, match=r"\.parquet is damaged"):
        ParquetStore(str(tmp_path)).rows(SeedOutcome)


def test_a_damaged_blob_is_not_handed_out(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    digest = store.put_blob(b"data")
    (tmp_path / "blobs" / digest[:2] / digest).write_bytes(b"dat")
    with pytest.raises(InfrastructureError, match="damaged"):
        store.get_blob(digest)


def test_compaction_merges_and_nothing_changes_for_readers(tmp_path: Path) -> None:
    store, reader = ParquetStore(str(tmp_path)), ParquetStore(str(tmp_path))
    for seed in ("b", "a"):
        for sequence in range(70):
            store.put(outcome(seed, sequence))
    before = reader.rows(SeedOutcome)
    assert store.compact() == 140
    assert singles(tmp_path) == []
    assert reader.rows(SeedOutcome) == before
    assert reader.rows(SeedOutcome, "a") == before[:70]
    assert ParquetStore(str(tmp_path)).get(SeedOutcome, "b", before[-1].key) == before[-1]
    assert store.compact() == 0


def test_compaction_of_more_than_fits_in_memory_makes_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facet_dagster.adapters.store_tables._MERGED", 1_000)
    store = ParquetStore(str(tmp_path))
    made = [outcome(f"seed-{n}", evidence="x" * 600) for n in range(5)]
    for record in made:
        store.put(record)
    assert store.compact() == 5
    assert singles(tmp_path) == [] and len(list(tmp_path.glob("outcomes/_compacted/*.parquet"))) == 3
    assert ParquetStore(str(tmp_path)).rows(SeedOutcome) == made
    assert ParquetStore(str(tmp_path)).rows(SeedOutcome, "seed-3") == [made[3]]


def test_a_row_that_was_compacted_is_not_written_again(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome(evidence="first"))
    store.compact()
    ParquetStore(str(tmp_path)).put(outcome(evidence="second"))
    assert singles(tmp_path) == []
    assert [row.evidence for row in store.rows(SeedOutcome)] == ["first"]


def test_a_crash_between_merging_and_removing_shows_every_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ParquetStore(str(tmp_path))
    store.put(outcome(sequence=0))
    store.put(outcome(sequence=1))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store_files.StoreFiles, "remove", crash)
    with pytest.raises(KeyboardInterrupt):
        store.compact()
    monkeypatch.undo()
    assert len(singles(tmp_path)) == 2
    reopened = ParquetStore(str(tmp_path))
    assert [row.sequence for row in reopened.rows(SeedOutcome)] == [0, 1]
    assert reopened.compact() == 2
    assert len(list((tmp_path / "outcomes" / "_compacted").iterdir())) == 1, "known rows are not merged again"
    assert [row.sequence for row in reopened.rows(SeedOutcome)] == [0, 1]


def test_a_row_compacted_while_it_is_read_is_still_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, other = ParquetStore(str(tmp_path)), ParquetStore(str(tmp_path))
    reader.put(outcome())
    listing = store_files.StoreFiles.files

    def list_then_compact(files: store_files.StoreFiles, path: str, suffix: str) -> list[str]:
        found = listing(files, path, suffix)
        monkeypatch.setattr(store_files.StoreFiles, "files", listing)
        other.compact()
        return found

    monkeypatch.setattr(store_files.StoreFiles, "files", list_then_compact)
    assert len(reader.rows(SeedOutcome)) == 1
    assert singles(tmp_path) == []


def test_the_store_may_be_a_url() -> None:
    store = ParquetStore("memory://facet-test-store")
    store.put(outcome())
    assert store.get_blob(store.put_blob(b"data")) == b"data"
    store.compact()
    assert len(ParquetStore("memory://facet-test-store").rows(SeedOutcome)) == 1


def _write_many(root: str, run_id: str) -> None:
    store = ParquetStore(root)
    for sequence in range(15):
        store.put(outcome("shared", sequence, evidence=run_id, run_id="same"))
        store.put(outcome("own", sequence, run_id=run_id))
        if sequence % 5 == 4:
            store.compact()


def test_threads_wait_for_the_disk_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread after the other at a disk made a run idle for half its time, and slower still on an object store."""
    store = ParquetStore(str(tmp_path))
    store.put(outcome())
    together, synced = threading.Barrier(2), os.fsync

    def sync(file: int) -> None:
        together.wait(timeout=30)  # broken, and an error, where nobody else comes
        synced(file)

    monkeypatch.setattr(store_files.os, "fsync", sync)
    with ThreadPoolExecutor(2) as pool:
        written = list(pool.map(lambda sequence: store.put(outcome(sequence=sequence)), (1, 2)))
    assert written == [True, True]
    assert [row.sequence for row in store.rows(SeedOutcome)] == [0, 1, 2]


def test_threads_write_read_and_compact_at_once(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))

    def work(thread: int) -> bool:
        for sequence in range(15):
            store.put(outcome("shared", sequence, evidence=str(thread)))
            store.put(outcome(f"own-{thread}", sequence))
            assert store.get(SeedOutcome, "shared", store.keys(SeedOutcome, "shared")[-1]) is not None
            if sequence % 5 == 4:
                store.compact()
        return len(store.rows(SeedOutcome, f"own-{thread}")) == 15

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert len(store.rows(SeedOutcome, "shared")) == 15
    assert len(ParquetStore(str(tmp_path)).rows(SeedOutcome)) == 75


def test_processes_write_and_compact_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), f"run-{n}")) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    store = ParquetStore(str(tmp_path))
    assert len(store.rows(SeedOutcome, "own")) == 30
    assert [row.sequence for row in store.rows(SeedOutcome, "shared")] == list(range(15))


@given(st.text(max_size=400), st.text(max_size=400))
def test_file_names_are_safe_and_distinct(one: str, other: str) -> None:
    name = file_name(one)
    assert name and len(name) <= 180
    assert name[0] not in "._-" and "/" not in name
    assert (file_name(other) == name) == (one == other)


NAMES = st.sampled_from(["a", "b.c", "D-1", "_compacted", "..", "x" * 300, "ü/é"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, st.integers(0, 3)),
        st.tuples(st.sampled_from(["compact", "reopen"]), st.none(), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(STEPS)
def test_any_history_agrees_with_a_dictionary(steps: list[tuple[str, str | None, int | None]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        store, expected = ParquetStore(root), dict[tuple[str, str], SeedOutcome]()
        for number, (step, seed, sequence) in enumerate(steps):
            if step == "put" and seed is not None and sequence is not None:
                record = outcome(seed, sequence, evidence=str(number))
                store.put(record)
                expected.setdefault((record.group, record.key), record)
            elif step == "compact":
                store.compact()
            else:
                store = ParquetStore(root)
            assert store.rows(SeedOutcome) == [expected[a] for a in sorted(expected)]
        for (group, key), record in expected.items():
            assert store.get(SeedOutcome, group, key) == record
            assert record in store.rows(SeedOutcome, group)
        assert store.get(ScenarioSeed, "all", "none") is None


def test_many_records_are_one_file_that_sql_reads(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    store.put_all([outcome(f"seed-{n}") for n in range(3_000)])
    assert len(store.paths(SeedOutcome)) == 1
    store.put(outcome("one-more"))
    counted = run_sql(str(tmp_path), "SELECT count(*) AS n, count(DISTINCT seed) AS seeds FROM outcomes")
    assert counted.iloc[0].tolist() == [3_001, 3_001]
    assert store.compact() == 1
    found = ParquetStore(str(tmp_path)).get(SeedOutcome, "seed-2999", outcome().key)
    assert found is not None and found.seed == "seed-2999"


def test_the_first_of_two_writers_wins_on_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both looked before either had written; there is no rename that could tell them apart."""

    def seed(title: str) -> ScenarioSeed:
        return ScenarioSeed(seed_id="same", title=title, skill_ids=(), hypothesis_ids=(), rationale="")

    slow, fast = ParquetStore("memory://facet-test-race"), ParquetStore("memory://facet-test-race")
    for store in (slow, fast):
        store.put(outcome("earlier", 0))
    files = type(slow.files.fs)
    write = files.pipe_file
    won: list[bool] = []

    def overtaken(self: object, path: str, value: bytes, **how: str) -> None:
        monkeypatch.setattr(files, "pipe_file", write)
        won.append(fast.put(seed("fast")))
        write(self, path, value, **how)

    monkeypatch.setattr(files, "pipe_file", overtaken)
    assert (slow.put(seed("slow")), won) == (False, [True])
    (kept,) = ParquetStore("memory://facet-test-race").rows(ScenarioSeed)
    assert kept.title == "fast"


@pytest.mark.parametrize("said", [FileExistsError("taken"), OSError("PreconditionFailed")])
def test_a_write_that_had_arrived_when_it_was_tried_again_is_our_own(
    said: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the first try is lost; the client tries again and hears that there is such an object."""
    store = ParquetStore(f"memory://facet-test-again-{type(said).__name__}")
    store.put(outcome("earlier"))
    files = type(store.files.fs)
    write = files.pipe_file

    def twice(self: object, path: str, value: bytes, **how: str) -> None:
        write(self, path, value, **how)
        raise said

    monkeypatch.setattr(files, "pipe_file", twice)
    assert store.put(outcome("mine"))


def test_an_object_store_holds_nothing_but_whole_files() -> None:
    store = ParquetStore("memory://facet-test-whole")
    store.put(outcome("seed", 0))
    store.put_blob(b"payload")
    store.compact()
    names = store.files.fs.find("/facet-test-whole")
    assert len(names) == 3 and not [name for name in names if ".tmp" in name], names


def test_an_object_store_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ParquetStore("memory://facet-test-refused")

    def refused(*_: object, **__: object) -> None:
        raise OSError("Access Denied")

    monkeypatch.setattr(type(store.files.fs), "pipe_file", refused)
    with pytest.raises(InfrastructureError, match=r"cannot write /facet-test-refused/format.json: Access Denied"):
        store.put(outcome("seed", 0))
    monkeypatch.undo()
    monkeypatch.setattr(type(store.files.fs), "exists", refused)
    with pytest.raises(InfrastructureError, match="Access Denied"):
        store.put(outcome("seed", 0))
