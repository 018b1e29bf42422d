"""The ledger in the store: one durable row per call, and the sums of what the run and the day have paid."""

import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import date, datetime
from threading import Lock

from facet_dagster.errors import BudgetSpent
from facet_dagster.ports import Store
from facet_dagster.records.base import now
from facet_dagster.records.call import ChatRequest, Completion, LedgerRow, Role

OTHERS_S = 5.0  # what other processes have paid is read this often, or more rarely where reading takes long
_SHARE = 20  # of the time, at most one part in so many is spent on reading
_FIELDS = ("fingerprint", "run_id", "at", "prompt_tokens", "completion_tokens", "cost_usd", "recorded")


class StoreLedger:
    """Ledger of one run. `prices` are US dollars per million tokens (prompt, completion) by role.

    `names` are the model names that requests are addressed by (the same as MeteredModel's); None as a budget
    is no limit. Calls of the same run in the store, made by another process, count; for the budgets of a day (UTC)
    those of all runs do, in the stores `beside`, too, some `others_s` seconds later (0: each time that somebody asks).
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
        day_tokens: int | None = None,
        day_usd: float | None = None,
        others_s: float = OTHERS_S,
        beside: Sequence[Store] = (),
    ) -> None:
        self._names = names
        self._prices = prices
        self._run = _Limit("this run", "FACET_BUDGET", budget_tokens, budget_usd)
        self._day = _Limit("all runs today (UTC)", "FACET_BUDGET_DAY", day_tokens, day_usd)
        self._run_id = run_id
        self._store = store
        self._account = _Account([(each, set()) for each in (store, *beside)], others_s)

    def beside(self, names: Mapping[Role, str], prices: Mapping[Role, tuple[float, float]]) -> "StoreLedger":
        """The ledger of other models at their own prices, on the account and the budget of this run."""
        other = copy(self)
        other._names, other._prices = names, prices
        return other

    def spent(self) -> tuple[int, float]:
        """Tokens and US dollars that this run has paid for."""
        return self._account.of(self._run_id)

    def check(self) -> None:
        """Raise BudgetSpent when a limit of the run or of the day is reached."""
        if self._run:
            self._run.check(*self._account.of(self._run_id))
        if self._day:
            self._day.check(*self._account.of(now().date()))

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
        self._account.add(row)

    def cost(self, role: Role, completion: Completion) -> float:
        """US dollars of one completion by the prices of its role; a replayed one costs nothing."""
        if completion.recorded:
            return 0.0
        prompt, answer = self._prices.get(role, (0.0, 0.0))
        return (completion.prompt_tokens * prompt + completion.completion_tokens * answer) / 1_000_000


@dataclass(frozen=True)
class _Limit:
    """Tokens and US dollars that may be spent, by whom, and the variables that set them."""

    whose: str
    variable: str
    tokens: int | None
    usd: float | None

    def __bool__(self) -> bool:
        return self.tokens is not None or self.usd is not None

    def check(self, tokens: int, usd: float) -> None:
        """Raise BudgetSpent where that is as much."""
        if self.tokens is not None and tokens >= self.tokens:
            raise BudgetSpent(
                f"{tokens} tokens of {self.tokens} are spent by {self.whose}: raise {self.variable}_TOKENS to go on"
            )
        if self.usd is not None and usd >= self.usd:
            raise BudgetSpent(
                f"{usd:.4f} USD of {self.usd:.4f} are spent by {self.whose}: raise {self.variable}_USD to go on"
            )


@dataclass
class _Account:
    """What was paid by each run and on each day (UTC). Read when somebody asks, and again for what others add."""

    stores: Sequence[tuple[Store, set[str]]]  # with the files of it that are counted
    others_s: float
    counted: set[str] = field(default_factory=set)
    sums: dict[str | date, tuple[int, float]] = field(default_factory=dict)  # of runs and days: tokens, US dollars
    read_again: float | None = None  # on the monotonic clock; None: nothing was read yet
    lock: Lock = field(default_factory=Lock)

    def of(self, whom: str | date) -> tuple[int, float]:
        """Tokens and US dollars of a run, by its id, or of a day."""
        with self.lock:
            self._read()
            return self.sums.get(whom, (0, 0.0))

    def add(self, row: LedgerRow) -> None:
        """A call of this process; it counts at once."""
        with self.lock:
            if self.read_again is not None:
                self._count(*(getattr(row, name) for name in _FIELDS))

    def _read(self) -> None:
        began = time.monotonic()
        if self.read_again is not None and began < self.read_again:
            return
        for store, seen in self.stores:
            for values in store.fields(LedgerRow, _FIELDS, seen):
                self._count(*values)
        ended = time.monotonic()
        pause = max(self.others_s, _SHARE * (ended - began)) if self.others_s else 0.0
        self.read_again = ended + pause

    def _count(
        self, fingerprint: str, run_id: str, at: datetime, prompt: int, completion: int, usd: float, recorded: bool
    ) -> None:
        if recorded or fingerprint in self.counted:
            return
        self.counted.add(fingerprint)
        for whom in (run_id, at.date()):
            tokens, dollars = self.sums.get(whom, (0, 0.0))
            self.sums[whom] = (tokens + prompt + completion, dollars + usd)
