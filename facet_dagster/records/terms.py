"""The terms under which a seed is worked on: limits, repeats and repair rounds (method pages 3-5)."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from facet_dagster.records.base import Record
from facet_dagster.records.container import Limits


class Scheme(StrEnum):
    """In which order instruction, solution and verifier are written (method 4)."""

    FORWARD = "forward"  # instruction, solution, executed, then the verifier from what it changed
    REVERSE = "reverse"  # instruction, verifier, then the solution
    JOINT = "joint"  # all three in one call


class ConstructionTerms(Record):
    """From a seed to an accepted task. Times in seconds."""

    scheme: Scheme = Scheme.FORWARD
    environment_repairs: int = 3
    task_repairs: int = 5
    repeats: int = Field(default=2, ge=1)
    controls: int = Field(default=8, ge=0)  # negative controls per validation, at most
    alternative: bool = False  # G7: an independent solution per validation, at the price of its calls
    seeds_in_flight: int = Field(default=4, ge=1)
    build_timeout_s: float = 900.0
    solve_timeout_s: float = 300.0
    grade_timeout_s: float = 300.0
    limits: Limits = Limits()


class RolloutTerms(Record):
    """Attempts of the teacher on an accepted task."""

    attempts: int = Field(default=1, ge=1)
    turns: int = Field(default=40, ge=1)
    seconds: float = 900.0
    tokens: int = 400_000
    in_flight: int = Field(default=8, ge=1)  # trials mostly wait


class IngestTerms(Record):
    """From sources to skills."""

    workers: int | None = Field(default=None, ge=1)  # processes; None: as many as the machine has CPUs
    decide_open: Literal["rules", "model"] = "rules"  # who decides what the rules leave open; by rules, it stays
    batch: int = Field(default=20, ge=1)  # skills that a model is asked about in one call
    in_flight: int = Field(default=4, ge=1)


class SeedingTerms(Record):
    """From skills to seeds."""

    hypotheses_per_skill: int = Field(default=2, ge=1)
    neighbours: int = Field(default=3, ge=1)  # other skills that are retrieved per hypothesis
    max_skills: int = Field(default=2, ge=2, le=3)  # of one seed
    skill_share: int = Field(default=3, ge=1)  # candidates of one skill before all others had their turn
    category_share: int = Field(default=32, ge=1)  # the same of one category of the taxonomy
    seeds_per_skill: int = Field(default=3, ge=1)  # kept seeds that one skill may be in, at most
    max_seeds: int = Field(default=8, ge=1)
    in_flight: int = Field(default=4, ge=1)
