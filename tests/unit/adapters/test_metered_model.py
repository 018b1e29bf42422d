"""Nothing is paid for twice, the ledger is written first, the budget ends the run, calls in flight stay few."""

import asyncio

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.errors import BudgetSpent, ModelUnavailable
from facet_dagster.records.call import CallId, ChatRequest, Completion, LedgerRow, Message, Role
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.scripted_model import ScriptedModel

NAMES = dict.fromkeys(Role, "m")


def request(attempt: int = 0, text: str = "hello") -> ChatRequest:
    return ChatRequest(
        call=CallId(station="s.p", subject="seed-1", attempt=attempt),
        role=Role.AUTHOR,
        messages=(Message(role="user", content=text),),
        prompt_hash="p",
    )


class GatedModel:
    """Answers when its gate is opened; counts how many wait at it."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.waiting = 0
        self.most = 0
        self.calls = 0

    async def complete(self, request: ChatRequest) -> Completion:
        self.calls += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.gate.wait()
        self.waiting -= 1
        return Completion(text="ok", model="m", prompt_tokens=1, completion_tokens=1)


def metered(inner: object, store: MemoryStore, *, in_flight: int = 4, tokens: int | None = None) -> MeteredModel:
    ledger = StoreLedger(store, names=NAMES, prices={}, budget_tokens=tokens, budget_usd=None, run_id="r")
    return MeteredModel(inner, store=store, ledger=ledger, names=NAMES, in_flight=in_flight)  # type: ignore[arg-type]


async def test_a_call_is_paid_once_even_by_a_new_process() -> None:
    store, inner = MemoryStore(), ScriptedModel({"s.p": ["one", "two"]})
    first = await metered(inner, store).complete(request())
    again = await metered(inner, store).complete(request())
    assert first == again
    assert len(inner.requests) == 1
    assert [row.completion.text for row in store.rows(LedgerRow)] == ["one"]


async def test_another_attempt_or_text_is_another_call() -> None:
    store, inner = MemoryStore(), ScriptedModel({"s.p": ["one", "two", "three"]})
    model = metered(inner, store)
    asked = [request(), request(attempt=1), request(text="other")]
    assert [(await model.complete(r)).text for r in asked] == ["one", "two", "three"]


async def test_the_same_asked_at_once_is_one_call() -> None:
    store, inner = MemoryStore(), GatedModel()
    model = metered(inner, store)
    tasks = [asyncio.create_task(model.complete(request())) for _ in range(5)]
    await asyncio.sleep(0)
    inner.gate.set()
    answers = await asyncio.gather(*tasks)
    assert inner.calls == 1
    assert {a.text for a in answers} == {"ok"}


async def test_calls_in_flight_are_bounded() -> None:
    store, inner = MemoryStore(), GatedModel()
    model = metered(inner, store, in_flight=2)
    tasks = [asyncio.create_task(model.complete(request(n))) for n in range(6)]
    async with asyncio.timeout(60):
        while inner.most < 2:
            await asyncio.sleep(0.001)
    inner.gate.set()
    await asyncio.gather(*tasks)
    assert inner.calls == 6
    assert inner.most == 2


async def test_a_spent_budget_stops_new_calls_but_not_stored_answers() -> None:
    store, inner = MemoryStore(), ScriptedModel({"s.p": ["one", "two"]})
    model = metered(inner, store, tokens=1)
    await model.complete(request())
    with pytest.raises(BudgetSpent, match="FACET_BUDGET_TOKENS"):
        await model.complete(request(attempt=1))
    assert (await model.complete(request())).text == "one"
    assert len(inner.requests) == 1


async def test_a_failed_call_is_not_stored_and_may_be_made_again() -> None:
    store, inner = MemoryStore(), ScriptedModel({"s.p": [ModelUnavailable("down"), "fine"]})
    model = metered(inner, store)
    with pytest.raises(ModelUnavailable):
        await model.complete(request())
    assert store.rows(LedgerRow) == []
    assert (await model.complete(request())).text == "fine"


def test_one_metered_model_serves_several_event_loops() -> None:
    store, inner = MemoryStore(), ScriptedModel({"s.p": ["one", "two"]})
    model = metered(inner, store, in_flight=1)
    assert [asyncio.run(model.complete(request(n))).text for n in (0, 1)] == ["one", "two"]
