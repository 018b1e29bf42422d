"""The decorator around every model: pays for no call twice, stays in the budget, keeps calls in flight few."""

import asyncio
from collections.abc import Mapping
from weakref import WeakValueDictionary

from facet_dagster.adapters.per_loop import PerLoop
from facet_dagster.ports import ChatModel, Ledger, Store
from facet_dagster.records.call import ChatRequest, Completion, LedgerRow, Role
from facet_dagster.side_by_side import uninterrupted


class MeteredModel:
    """ChatModel that answers from the store what was answered before, and writes the ledger before it returns.

    A process that is killed loses at most the calls in flight. `names` must be those that the ledger goes by.
    Raises BudgetSpent besides what the inner model raises.
    """

    def __init__(
        self, inner: ChatModel, *, store: Store, ledger: Ledger, names: Mapping[Role, str], in_flight: int
    ) -> None:
        self._inner = inner
        self._store = store
        self._ledger = ledger
        self._names = names
        self._in_flight = PerLoop(lambda: asyncio.Semaphore(in_flight))
        self._asked = PerLoop(WeakValueDictionary[str, asyncio.Lock])

    async def complete(self, request: ChatRequest) -> Completion:
        """The stored answer, or a new one; two who ask the same at the same time share one call."""
        fingerprint = request.fingerprint(self._names[request.role])
        locks = self._asked.get()
        lock = locks.setdefault(fingerprint, asyncio.Lock())
        async with lock:
            stored = await asyncio.to_thread(self._store.get, LedgerRow, request.call.subject, fingerprint)
            if stored is not None:
                return stored.completion
            async with self._in_flight.get():
                await asyncio.to_thread(self._ledger.check)  # it may read what other processes have paid
                completion = await self._inner.complete(request)
                # What is paid is kept, whoever is cancelled.
                await uninterrupted(asyncio.to_thread(self._ledger.write, request, completion))
                return completion
