"""The terms under which a seed is worked on: limits, repeats and repair rounds (method pages 3-5)."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from facet_dagster.records.base import Record
from facet_dagster.records.container import Limits

Replies = Literal["json", "xml"]  # how a teacher writes its turns


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
    """Attempts of the teacher on an accepted task. Limits are of one trial; `usd` None is no limit.

    The context is handed over while at least `handover_tokens` of `context_tokens` are still free.
    """

    attempts: int = Field(default=1, ge=1)
    turns: int = Field(default=40, ge=1)
    seconds: float = Field(default=900.0, gt=0)
    tokens: int = Field(default=400_000, ge=1)
    usd: float | None = Field(default=None, gt=0)
    replies: Replies = "json"
    context_tokens: int = Field(default=128_000, ge=1)
    handover_tokens: int = Field(default=8_000, ge=0)
    token_details: bool = False  # ask the endpoint for token ids and logprobs
    in_flight: int = Field(default=8, ge=1)  # trials mostly wait
    engine: Literal["own", "harbor"] = "own"
    harbor: str = "harbor"  # the program, where the engine is Harbor's agent
    harbor_options: tuple[str, ...] = ()  # of `harbor run`, beside those that the terms above make


class SeedingTerms(Record):
    """From skills to seeds."""

    hypotheses_per_skill: int = Field(default=2, ge=1)
    max_seeds: int = Field(default=8, ge=1)
    in_flight: int = Field(default=4, ge=1)
