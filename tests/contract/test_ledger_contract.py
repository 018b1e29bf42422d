"""What every Ledger must do."""

from collections.abc import Callable

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.errors import BudgetSpent
from facet_dagster.ports import Ledger
from facet_dagster.records.call import CallId, ChatRequest, Completion, Message, Role
from facet_dagster.testing.memory_ledger import MemoryLedger
from facet_dagster.testing.memory_store import MemoryStore

Make = Callable[[int | None, float | None], Ledger]
NAMES = dict.fromkeys(Role, "m")
USD_PER_TOKEN = 0.001


def _memory(tokens: int | None, usd: float | None) -> Ledger:
    return MemoryLedger(budget_tokens=tokens, budget_usd=usd, usd_per_token=USD_PER_TOKEN)


def _store(tokens: int | None, usd: float | None) -> Ledger:
    prices = dict.fromkeys(Role, (USD_PER_TOKEN * 1e6, USD_PER_TOKEN * 1e6))
    return StoreLedger(MemoryStore(), names=NAMES, prices=prices, budget_tokens=tokens, budget_usd=usd, run_id="run")


@pytest.fixture(params=[_memory, _store], ids=["memory", "store"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


def write(ledger: Ledger, attempt: int, *, recorded: bool = False) -> None:
    request = ChatRequest(
        call=CallId(station="s.p", subject="seed", attempt=attempt),
        role=Role.AUTHOR,
        messages=(Message(role="user", content="hello"),),
        prompt_hash="p",
    )
    ledger.write(request, Completion(text="a", model="m", prompt_tokens=60, completion_tokens=40, recorded=recorded))


def test_nothing_is_spent_at_first(make: Make) -> None:
    ledger = make(1, 0.01)
    assert ledger.spent() == (0, 0.0)
    ledger.check()


def test_calls_add_up_and_replayed_ones_do_not(make: Make) -> None:
    ledger = make(None, None)
    ledger.spent()
    for attempt in range(3):
        write(ledger, attempt, recorded=attempt == 1)
    assert ledger.spent() == (200, pytest.approx(0.2))
    ledger.check()


@pytest.mark.parametrize(("tokens", "usd"), [(200, None), (None, 0.2), (200, 0.2)])
def test_the_budget_is_a_limit(tokens: int | None, usd: float | None, make: Make) -> None:
    ledger = make(tokens, usd)
    write(ledger, 0)
    ledger.check()
    write(ledger, 1)
    with pytest.raises(BudgetSpent, match="spent"):
        ledger.check()
