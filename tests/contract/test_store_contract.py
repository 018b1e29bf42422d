"""What every Store must do: the one in memory and the one on disk, whole, compacted and reopened."""

from collections.abc import Callable
from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Store
from facet_dagster.records.base import digest_of
from facet_dagster.records.seed import Hypothesis, ScenarioSeed
from facet_dagster.records.skill import SkillFault, SkillReject
from facet_dagster.testing.memory_store import MemoryStore

Settle = Callable[[Store], Store]


def _same(store: Store) -> Store:
    return store


def _compacted(store: Store) -> Store:
    assert isinstance(store, ParquetStore)
    store.compact()
    return store


@pytest.fixture(params=["memory", "parquet", "parquet-compacted", "parquet-url"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Store, Settle]:
    if request.param == "memory":
        return MemoryStore(), _same
    if request.param == "parquet-url":
        return ParquetStore(f"memory://{tmp_path}"), _same
    return ParquetStore(str(tmp_path)), _compacted if request.param == "parquet-compacted" else _same


def seed(seed_id: str = "seed-1", title: str = "Größe \n zwei") -> ScenarioSeed:
    return ScenarioSeed(seed_id=seed_id, title=title, skill_ids=("a", "b"), hypothesis_ids=(), rationale="")


def reject(content: str, fault: SkillFault = SkillFault.NO_NAME) -> SkillReject:
    return SkillReject(source="s", path="p", content_hash=digest_of(content), fault=fault, evidence="e")


def test_what_was_put_is_got_back_equal(made: tuple[Store, Settle]) -> None:
    store, settle = made
    store.put(seed())
    assert settle(store).get(ScenarioSeed, "all", "seed-1") == seed()


def test_what_was_never_put_is_none(made: tuple[Store, Settle]) -> None:
    store, settle = made
    assert store.get(ScenarioSeed, "all", "seed-1") is None
    assert store.rows(ScenarioSeed) == []
    store.put(seed())
    assert settle(store).get(ScenarioSeed, "other", "seed-1") is None
    assert store.get(ScenarioSeed, "all", "seed-2") is None
    assert store.rows(ScenarioSeed, "other") == []


def test_the_first_put_of_a_key_stays(made: tuple[Store, Settle]) -> None:
    store, settle = made
    assert store.put(seed(title="first"))
    assert not settle(store).put(seed(title="second"))
    assert [s.title for s in settle(store).rows(ScenarioSeed)] == ["first"]


def test_rows_come_in_the_order_of_their_keys(made: tuple[Store, Settle]) -> None:
    store, settle = made
    for seed_id in ("b", "a-1", "c", "a"):
        store.put(seed(seed_id))
    assert [s.seed_id for s in settle(store).rows(ScenarioSeed)] == ["a", "a-1", "b", "c"]
    assert store.rows(ScenarioSeed, "all") == store.rows(ScenarioSeed)


def test_keys_are_those_of_the_rows(made: tuple[Store, Settle]) -> None:
    store, settle = made
    assert store.keys(ScenarioSeed) == []
    for seed_id in ("b", "a-1", "Größe / zwei", "x" * 300, "~7e~", "a"):
        store.put(seed(seed_id))
    assert settle(store).keys(ScenarioSeed) == [s.key for s in store.rows(ScenarioSeed)]
    store.put(seed("later"))
    assert store.keys(ScenarioSeed, "all") == [s.key for s in store.rows(ScenarioSeed, "all")]
    assert store.keys(ScenarioSeed, "other") == []


def test_fields_come_once_for_each_that_is_new(made: tuple[Store, Settle]) -> None:
    store, settle = made
    seen: set[str] = set()
    store.put(seed("a"))
    store.put_all([seed("b", "two"), seed("c", "three")])
    store = settle(store)
    found = store.fields(ScenarioSeed, ("seed_id", "title"), seen)
    assert sorted(found) == [("a", seed().title), ("b", "two"), ("c", "three")]
    assert store.fields(ScenarioSeed, ("seed_id",), seen) == []
    store.put(seed("d"))
    assert store.fields(ScenarioSeed, ("seed_id",), seen) == [("d",)]
    assert store.fields(SkillReject, ("path",), set()) == []


def test_tables_do_not_mix(made: tuple[Store, Settle]) -> None:
    store, settle = made
    store.put(seed())
    store.put(reject("one"))
    store.put(reject("one", SkillFault.UNSAFE))
    assert len(settle(store).rows(SkillReject)) == 2
    assert len(store.rows(ScenarioSeed)) == 1
    assert store.rows(Hypothesis) == []


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256))])
def test_blobs_are_addressed_by_their_content(data: bytes, made: tuple[Store, Settle]) -> None:
    store, settle = made
    digest = store.put_blob(data)
    assert digest == digest_of(data) == store.put_blob(data)
    assert settle(store).get_blob(digest) == data


def test_a_lost_blob_is_infrastructure_trouble(made: tuple[Store, Settle]) -> None:
    with pytest.raises(InfrastructureError, match="lost"):
        made[0].get_blob("0" * 64)


def test_many_records_are_kept_in_one_go(made: tuple[Store, Settle]) -> None:
    store, settle = made
    assert store.put_all([seed(f"seed-{n}") for n in range(200)]) == 200
    assert settle(store).get(ScenarioSeed, "all", "seed-7") == seed("seed-7")
    assert [row.seed_id for row in store.rows(ScenarioSeed)] == sorted(f"seed-{n}" for n in range(200))
    assert store.put_all([]) == 0


def test_many_records_never_replace_one_that_is_there(made: tuple[Store, Settle]) -> None:
    store, settle = made
    store.put(seed("a", title="single"))
    store.put_all([seed("b", title="first"), seed("b", title="second")])
    again = settle(store).put_all([seed(name, title="later") for name in ("a", "b", "c")])
    assert again == 1
    assert [row.title for row in settle(store).rows(ScenarioSeed)] == ["single", "first", "later"]
    assert not store.put(seed("c", title="last"))


def test_many_records_are_got_by_their_keys(made: tuple[Store, Settle]) -> None:
    store, settle = made
    store.put_all([seed(f"seed-{n}") for n in range(200)])
    store.put(seed("a / b"))
    assert store.get_all(ScenarioSeed, "all", []) == {}
    wanted = ["seed-150", "unknown", "a / b", "seed-3", "seed-150"]
    found = settle(store).get_all(ScenarioSeed, "all", wanted)
    assert list(found) == ["seed-150", "a / b", "seed-3"]
    assert all(found[key] == seed(key) for key in found)
    assert store.get_all(ScenarioSeed, "other", wanted) == {}
