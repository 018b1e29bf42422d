"""A ledger in memory, for tests of what asks and pays."""

from facet_dagster.errors import BudgetSpent
from facet_dagster.records.call import ChatRequest, Completion, Role


class MemoryLedger:
    """Keeps every call in `calls`; a token costs `usd_per_token`. None as a budget is no limit."""

    def __init__(
        self, *, budget_tokens: int | None = None, budget_usd: float | None = None, usd_per_token: float = 0.0
    ) -> None:
        self.calls: list[tuple[ChatRequest, Completion]] = []
        self._budget_tokens = budget_tokens
        self._budget_usd = budget_usd
        self._usd_per_token = usd_per_token

    def spent(self) -> tuple[int, float]:
        """Tokens and US dollars of the calls that were not replayed."""
        paid = [completion for _, completion in self.calls if not completion.recorded]
        tokens = sum(self._tokens(completion) for completion in paid)
        return tokens, tokens * self._usd_per_token

    def check(self) -> None:
        """Raise BudgetSpent when a limit is reached."""
        tokens, usd = self.spent()
        if self._budget_tokens is not None and tokens >= self._budget_tokens:
            raise BudgetSpent(f"{tokens} tokens of {self._budget_tokens} are spent")
        if self._budget_usd is not None and usd >= self._budget_usd:
            raise BudgetSpent(f"{usd:.4f} USD of {self._budget_usd:.4f} are spent")

    def cost(self, role: Role, completion: Completion) -> float:
        """The same price for every role."""
        return 0.0 if completion.recorded else self._tokens(completion) * self._usd_per_token

    @staticmethod
    def _tokens(completion: Completion) -> int:
        return completion.prompt_tokens + completion.completion_tokens

    def write(self, request: ChatRequest, completion: Completion) -> None:
        """Keep the call."""
        self.calls.append((request, completion))
