"""Prices, what counts as spent, and the rows that the ledger leaves."""

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.errors import BudgetSpent
from facet_dagster.records.call import CallId, ChatRequest, Completion, LedgerRow, Message, Role
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
    with pytest.raises(BudgetSpent, match=r"0\.0030 USD of 0\.0030 are spent: raise FACET_BUDGET_USD"):
        resumed.check()
