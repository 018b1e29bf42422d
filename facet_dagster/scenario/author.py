"""One author per seed: asks the questions of this station with the seed's identity and round.

Belongs here: what all questions of the station share. What is asked stands in modules, references and consistency.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.outcome import Component, Rejected

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True)
class Author:
    """Asks on behalf of one seed in one round."""

    asker: Asker
    seed_id: str
    round: int

    async def ask(
        self, prompt: str, answer: type[A], check: Callable[[A], Sequence[str]] | None = None, **variables: Any
    ) -> A | Rejected:
        """The answer to `scenario/<prompt>`. Raises what the model raises."""
        return await self._ask(prompt, answer, check, variables, Role.AUTHOR, attempt=0)

    async def have_judged(
        self,
        prompt: str,
        answer: type[A],
        check: Callable[[A], Sequence[str]] | None,
        *,
        attempt: int,
        **variables: Any,
    ) -> A | Rejected:
        """As `ask`, of the judge. `attempt` tells apart what is judged more than once in a round."""
        return await self._ask(prompt, answer, check, variables, Role.JUDGE, attempt=attempt)

    async def _ask(
        self,
        prompt: str,
        answer: type[A],
        check: Callable[[A], Sequence[str]] | None,
        variables: dict[str, Any],
        role: Role,
        attempt: int,
    ) -> A | Rejected:
        question = Question(
            prompt=f"scenario/{prompt}",
            variables=variables,
            answer=answer,
            call=CallId(station=f"scenario.{prompt}", subject=self.seed_id, round=self.round, attempt=attempt),
            component=Component.SCENARIO,
            role=role,
            check=check,
            temperature=0.0 if role is Role.JUDGE else 0.7,
        )
        return await self.asker.ask(question)


def empty_fields(record: BaseModel, *names: str) -> list[str]:
    """One problem per named field that holds nothing: an empty text or list, or an empty entry of a list."""
    problems = []
    for name in names:
        value = getattr(record, name)
        entries = [value] if isinstance(value, str) else list(value)
        if not entries or not all(entry.strip() for entry in entries):
            problems.append(f"{name} is empty or has an empty entry")
    return problems
