"""What becomes of each seed of a simulation: drawn by its id at the rates of FACET's funnel, so that there is a book.

Belongs here: rates, the draw, and what store and Dagster must say of a seed in the end. How a fate is brought about
stands in simulated_model.py and simulated_sandbox.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from facet_dagster.makers import WRITTEN
from facet_dagster.records.base import digest_of
from facet_dagster.records.bundle import Status
from facet_dagster.records.outcome import Component, Reason


class Fault(StrEnum):
    """What is wrong with a bundle until it is mended."""

    SOLUTION = "solution"  # solve.sh ends with an error
    WRONG = "wrong"  # a test demands what the solution rightly does not make
    BLIND = "blind"  # the tests are content with the untouched container
    WEAK = "weak"  # the tests are content with a spoilt output


@dataclass(frozen=True)
class Rates:
    """Shares of those that get so far. The defaults are the paper's (its Table 5, and its figures of rollouts).

    The paper tells what all repairs together won, not round by round: each round wins the same share of what is left.
    `trouble` is what is to be tried again; the paper counts it for rollouts only.
    """

    unscripted: float = 11 / 7_852  # seeds without a first build
    builds_at_once: float = 6_630 / 7_841
    builds_after_repair: float = 874 / 1_211  # of those that did not build at once, within 3 repairs
    excluded: float = 58 / 7_504  # of the built: never come to validation
    valid_at_once: float = 2_856 / 7_446
    valid_after_repair: float = 3_222 / 4_590  # of those that were not valid at once, within 5 rounds
    solved: float = 0.2094  # attempts of the teacher
    trouble: float = 8 / 6_074
    kept_candidates: float = 0.6  # by the judge of the seeds; the paper does not say

    def builds(self, draw: float) -> int:
        """Failing builds before the one that holds; 4 where none does."""
        return _rounds(draw, self.builds_at_once, self.builds_after_repair, 3)

    def repairs(self, draw: float) -> int:
        """Rounds of repair before the bundle is valid; 6 where it never is."""
        return _rounds(draw, self.valid_at_once, self.valid_after_repair, 5)


@dataclass(frozen=True)
class Fate:
    """One seed's. `builds` and `repairs` as Rates has them."""

    scripted: bool
    builds: int
    excluded: bool
    repairs: int
    fault: Fault
    solved: bool
    turns: int
    trouble: bool  # the model does not answer once while the solution is written
    rollout_trouble: bool  # the engine fails once while the teacher works

    @property
    def made(self) -> tuple[Component, ...]:
        """The components that can be used in the end."""
        if not self.scripted:
            return ()
        if self.builds > 3:
            return WRITTEN[:1]
        if self.excluded:
            return WRITTEN[:2]
        if self.repairs > 5:
            return WRITTEN[:3] if self.fault is Fault.SOLUTION else (*WRITTEN, Component.VALIDATION)
        return tuple(Component)

    @property
    def stalls(self) -> bool:
        """Whether the first walk meets the trouble."""
        return self.trouble and self.scripted and self.builds <= 3 and not self.excluded

    def book(self, *, first_walk: bool) -> tuple[Status, bool, int, Reason | None]:
        """Status, valid at the first pass, rounds, and reason, as the last outcome of the store must have them."""
        if first_walk and self.stalls:
            return Status.PENDING, False, 0, None
        if not self.scripted:
            return Status.REJECTED, False, 0, Reason.INCONSISTENT
        if self.builds > 3:
            return Status.REJECTED, False, 0, Reason.BUILD_FAILED
        if self.excluded:
            return Status.REJECTED, False, 0, Reason.ANSWER_UNUSABLE
        if self.repairs > 5:
            return Status.REJECTED, False, 5, Reason.REPAIRS_EXHAUSTED
        return Status.ACCEPTED, self.repairs == 0, self.repairs, None

    def made_by(self, *, first_walk: bool) -> tuple[Component, ...]:
        """The components whose cells are green."""
        return WRITTEN[:3] if first_walk and self.stalls else self.made

    @property
    def accepted(self) -> bool:
        return Component.TASK in self.made


def fate_of(seed_id: str, rates: Rates) -> Fate:
    """Always the same for the same seed and rates."""
    draws = dict(zip((field.name for field in fields(Fate)), _draws(seed_id), strict=False))
    return Fate(
        scripted=draws["scripted"] >= rates.unscripted,
        builds=rates.builds(draws["builds"]),
        excluded=draws["excluded"] < rates.excluded,
        repairs=rates.repairs(draws["repairs"]),
        fault=list(Fault)[int(draws["fault"] * len(Fault))],
        solved=draws["solved"] < rates.solved,
        turns=8 + int(draws["turns"] * 8),
        trouble=draws["trouble"] < rates.trouble,
        rollout_trouble=draws["rollout_trouble"] < rates.trouble,
    )


def _draws(text: str) -> Iterator[float]:
    """Numbers of [0, 1) that nothing but the text decides."""
    for number in range(len(fields(Fate))):
        yield int(digest_of(f"{number} {text}")[:13], 16) / 16**13


def _rounds(draw: float, at_once: float, later: float, most: int) -> int:
    if draw < at_once:
        return 0
    missed = 1 - (draw - at_once) / (1 - at_once)  # of those that failed at first, uniform in (0, 1]
    if missed <= 1 - later:
        return most + 1
    left_by_each = max(1 - later, 1e-9) ** (1 / most)
    return min(most, 1 + math.floor(math.log(missed) / math.log(left_by_each)))
