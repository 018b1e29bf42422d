"""The ledger in the store: one durable row per call, and the sum of what the run has paid."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from threading import Lock

from facet_dagster.errors import BudgetSpent
from facet_dagster.ports import Store
from facet_dagster.records.base import now
from facet_dagster.records.call import ChatRequest, Completion, LedgerRow, Role


class StoreLedger:
    """Ledger of one run. `prices` are US dollars per million tokens (prompt, completion) by role.

    `names` are the model names that requests are addressed by (the same as MeteredModel's); None as a budget
    is no limit. Calls of the same run in the store, made by an earlier process, count.
    """

    def __init__(
        self,
        store: Store,
        *,
        names: Mapping[Role, str],
        prices: Mapping[Role, tuple[float, float]],
        budget_tokens: int | None,
        budget_usd: float | None,
        run_id: str,
    ) -> None:
        self._store = store
        self._names = names
        self._prices = prices
        self._budget_tokens = budget_tokens
        self._budget_usd = budget_usd
        self._run_id = run_id
        self._account = _Account()

    def beside(self, names: Mapping[Role, str], prices: Mapping[Role, tuple[float, float]]) -> "StoreLedger":
        """The ledger of other models at their own prices, on the account and the budget of this run."""
        other = copy(self)
        other._names, other._prices = names, prices
        return other

    def spent(self) -> tuple[int, float]:
        """Tokens and US dollars that this run has paid for."""
        paid = self._known().values()
        return sum(tokens for tokens, _ in paid), sum(usd for _, usd in paid)

    def check(self) -> None:
        """Raise BudgetSpent when a limit of the run is reached."""
        if self._budget_tokens is None and self._budget_usd is None:
            return
        tokens, usd = self.spent()
        if self._budget_tokens is not None and tokens >= self._budget_tokens:
            raise BudgetSpent(f"{tokens} tokens of {self._budget_tokens} are spent: raise FACET_BUDGET_TOKENS to go on")
        if self._budget_usd is not None and usd >= self._budget_usd:
            raise BudgetSpent(f"{usd:.4f} USD of {self._budget_usd:.4f} are spent: raise FACET_BUDGET_USD to go on")

    def write(self, request: ChatRequest, completion: Completion) -> None:
        """Put the call in the store. A replayed call costs nothing."""
        row = LedgerRow(
            fingerprint=request.fingerprint(self._names[request.role]),
            call=request.call,
            role=request.role,
            station=request.call.station,
            subject=request.call.subject,
            round=request.call.round,
            prompt_hash=request.prompt_hash,
            opening_hash=request.opening_hash(),
            model=completion.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            cost_usd=self.cost(request.role, completion),
            seconds=completion.seconds,
            recorded=completion.recorded,
            at=now(),
            run_id=self._run_id,
            completion=completion,
            estimated=completion.estimated,
            reported_usd=completion.reported_usd,
        )
        self._store.put(row)
        if self._account.paid is not None:
            self._account.paid.update(_paid(row))

    def cost(self, role: Role, completion: Completion) -> float:
        """US dollars of one completion by the prices of its role; a replayed one costs nothing."""
        if completion.recorded:
            return 0.0
        prompt, answer = self._prices.get(role, (0.0, 0.0))
        return (completion.prompt_tokens * prompt + completion.completion_tokens * answer) / 1_000_000

    def _known(self) -> dict[str, tuple[int, float]]:
        """What was paid, read from the store the first time that somebody asks."""
        account = self._account
        with account.lock:
            if account.paid is None:
                rows = [row for row in self._store.rows(LedgerRow) if row.run_id == self._run_id]
                account.paid = {fingerprint: sum_ for row in rows for fingerprint, sum_ in _paid(row).items()}
            return dict(account.paid)


@dataclass
class _Account:
    """What a run has paid by fingerprint, once that was read from the store."""

    paid: dict[str, tuple[int, float]] | None = None
    lock: Lock = field(default_factory=Lock)


def _paid(row: LedgerRow) -> dict[str, tuple[int, float]]:
    return {} if row.recorded else {row.fingerprint: (row.prompt_tokens + row.completion_tokens, row.cost_usd)}
