"""Prices, what counts as spent, and the rows that the ledger leaves."""

from datetime import timedelta
from pathlib import Path

import pytest

from facet_dagster.adapters import ledger as ledgers
from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.store_files import StoreFiles
from facet_dagster.adapters.wiring import open_models
from facet_dagster.errors import BudgetSpent, InfrastructureError
from facet_dagster.records.base import now
from facet_dagster.records.call import CallId, ChatRequest, Completion, LedgerRow, Message, Role
from facet_dagster.records.terms import Scheme
from facet_dagster.scheme_stores import store_of, stores_beside
from facet_dagster.settings import Budget, Settings
from facet_dagster.testing.memory_store import MemoryStore

NAMES = {Role.AUTHOR: "author-model", Role.JUDGE: "judge-model", Role.TEACHER: "teacher-model"}


def request(role: Role = Role.AUTHOR, attempt: int = 0) -> ChatRequest:
    return ChatRequest(
        call=CallId(station="solution.write", subject="seed-1", round=2, attempt=attempt),
        role=role,
        messages=(Message(role="user", content="hello"),),
        prompt_hash="p",
    )


def completion(*, recorded: bool = False) -> Completion:
    return Completion(text="a", model="served", prompt_tokens=1_000, completion_tokens=100, recorded=recorded)


def ledger(store: MemoryStore, run_id: str = "run-1", usd: float | None = None) -> StoreLedger:
    prices = {Role.AUTHOR: (2.0, 10.0)}
    return StoreLedger(store, names=NAMES, prices=prices, budget_tokens=None, budget_usd=usd, run_id=run_id)


def test_a_row_says_who_asked_what_and_what_it_cost() -> None:
    store = MemoryStore()
    ledger(store).write(request(), completion())
    (row,) = store.rows(LedgerRow)
    assert row.fingerprint == request().fingerprint("author-model")
    assert (row.station, row.subject, row.round) == ("solution.write", "seed-1", 2)
    assert row.model == "served"
    assert row.cost_usd == pytest.approx(0.003)
    assert row.opening_hash == request().opening_hash()


def test_a_role_without_a_price_costs_nothing_but_its_tokens_count() -> None:
    store = MemoryStore()
    book = ledger(store)
    book.write(request(Role.TEACHER), completion())
    assert book.spent() == (1_100, 0.0)


def test_replayed_calls_and_other_runs_are_not_spent() -> None:
    store = MemoryStore()
    ledger(store, "run-0").write(request(attempt=1), completion())
    book = ledger(store)
    book.write(request(attempt=2), completion(recorded=True))
    assert book.spent() == (0, 0.0)
    assert [row.cost_usd for row in store.rows(LedgerRow) if row.recorded] == [0.0]


def test_what_an_earlier_process_of_the_run_paid_counts() -> None:
    store = MemoryStore()
    ledger(store).write(request(), completion())
    resumed = ledger(store, usd=0.003)
    assert resumed.spent() == (1_100, pytest.approx(0.003))
    with pytest.raises(BudgetSpent, match=r"0\.0030 USD of 0\.0030 are spent by this run: raise FACET_BUDGET_USD"):
        resumed.check()


def test_a_read_that_failed_forgets_nothing_that_was_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that were read before the failure are read again."""
    for attempt in range(3):
        of_a_day(ParquetStore(str(tmp_path)), "run-1").write(request(attempt=attempt), completion())
    book, read, reads = of_a_day(ParquetStore(str(tmp_path)), "run-1"), StoreFiles.read, list[str]()

    def fails_once(self: StoreFiles, path: str) -> bytes | None:
        reads.append(path)
        if len(reads) == 3:
            raise InfrastructureError("cannot read: timed out")
        return read(self, path)

    monkeypatch.setattr(StoreFiles, "read", fails_once)
    with pytest.raises(InfrastructureError, match="timed out"):
        book.spent()
    assert book.spent() == (3_300, pytest.approx(0.009))


def of_a_day(store: ParquetStore, run_id: str, **limits: object) -> StoreLedger:
    prices = {Role.AUTHOR: (2.0, 10.0)}
    free = {"budget_tokens": None, "budget_usd": None, "others_s": 0.0}
    return StoreLedger(store, names=NAMES, prices=prices, run_id=run_id, **(free | limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"day_usd": 0.006}, r"USD of 0\.0060 are spent by all runs today \(UTC\): raise FACET_BUDGET_DAY_USD"),
        ({"day_tokens": 2_200}, r"2200 tokens of 2200 .* raise FACET_BUDGET_DAY_TOKENS"),
    ],
)
def test_the_budget_of_a_day_counts_all_runs_and_says_so(tmp_path: Path, limits: dict[str, float], said: str) -> None:
    store = ParquetStore(str(tmp_path))
    mine, other = of_a_day(store, "run-1", **limits), of_a_day(ParquetStore(str(tmp_path)), "run-2")
    mine.write(request(), completion())
    mine.check()
    other.write(request(attempt=1), completion(recorded=True))
    other.write(request(attempt=2), completion())
    store.compact()
    with pytest.raises(BudgetSpent, match=said):
        mine.check()
    assert mine.spent() == (1_100, pytest.approx(0.003))


def test_the_budget_of_a_day_counts_the_stores_of_the_other_schemes(tmp_path: Path) -> None:
    main, joint = ParquetStore(str(tmp_path)), ParquetStore(store_of(str(tmp_path), Scheme.JOINT))
    book = of_a_day(main, "run-1", day_tokens=2_200, beside=[joint])
    of_a_day(joint, "run-2").write(request(attempt=1), completion())
    book.write(request(), completion())
    with pytest.raises(BudgetSpent, match="2200 tokens of 2200"):
        book.check()
    assert book.spent() == (1_100, pytest.approx(0.003))


def test_what_a_scheme_was_paid_counts_for_the_next_command_on_the_main_store(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path), budget=Budget(day_tokens=1_100))
    store = ParquetStore(settings.store)
    opened = open_models(settings, ["teacher-model"], store, "run-1")["teacher-model"]
    of_a_day(ParquetStore(store_of(settings.store, Scheme.REVERSE)), "run-2").write(request(), completion())
    with pytest.raises(BudgetSpent, match="1100 tokens of 1100"):
        opened.ledger.check()


def test_without_a_limit_for_the_day_the_stores_of_the_schemes_are_left_alone(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path))
    damaged = Path(store_of(settings.store, Scheme.JOINT)) / "format.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('{"version": 99}')
    opened = open_models(settings, ["teacher-model"], ParquetStore(settings.store), "run-1")["teacher-model"]
    opened.ledger.check()


@pytest.mark.parametrize("root", ["/data/store", "/data/store/", "s3://bucket/store"])
def test_each_schemes_store_knows_those_of_the_others(root: str) -> None:
    for scheme in Scheme:
        beside = {store_of(root.rstrip("/"), other) for other in Scheme if other is not scheme}
        assert set(stores_beside(store_of(root, scheme))) == beside


def test_the_next_day_begins_with_nothing_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = of_a_day(ParquetStore(str(tmp_path)), "run-1", day_tokens=1)
    book.write(request(), completion())
    with pytest.raises(BudgetSpent):
        book.check()
    tomorrow = now() + timedelta(days=1)
    monkeypatch.setattr(ledgers, "now", lambda: tomorrow)
    book.check()


def test_others_are_not_read_before_their_time(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    book = of_a_day(store, "run-1", day_tokens=1, others_s=3_600.0)
    book.check()
    of_a_day(ParquetStore(str(tmp_path)), "run-2").write(request(attempt=2), completion())
    book.check()
    book.write(request(), completion())
    with pytest.raises(BudgetSpent, match="1100 tokens of 1"):
        book.check()
