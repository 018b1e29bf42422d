"""The terms under which seeds are worked on and sets are made: limits, repeats, repairs, selection (method 3-6)."""

from enum import StrEnum
from pathlib import Path
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
    starts: int | None = Field(default=None, ge=1)  # containers that start at a time; None: two per CPU of the engine
    engine: Literal["own", "harbor"] = "own"
    harbor: str = "harbor"  # the program, where the engine is Harbor's agent
    harbor_options: tuple[str, ...] = ()  # of `harbor run`, beside those that the terms above make


class EvaluationTerms(Record):
    """Models scored on a folder of Harbor tasks. The limits of one attempt are those of the rollouts."""

    tasks: Path | None = None  # None: the tasks that were exported
    models: tuple[str, ...] = ()  # as the endpoint calls them; none: the teacher
    attempts: int = Field(default=3, ge=1)
    network: bool = False  # let tasks that ask for the network (also by saying nothing) have it


class DriftTerms(Record):
    """Accepted tasks looked at again (quality page: drift)."""

    sample: int = Field(default=10, ge=0)  # tasks of one look; those that were looked at longest ago
    repeats: int = Field(default=3, ge=1)  # no-op and oracle runs of each


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


class SftTerms(Record):
    """Which trials become rows of an SFT set, and how they are split (method 6). None leaves a rule off."""

    failure_share: float = Field(default=0.0, ge=0, lt=1)  # of all rows, at most; 0: complete successes only
    parse_clean_only: bool = False  # leave out trials with a turn that was not understood
    mask_parse_errors: bool = False  # keep such turns, but train on none of them
    max_tokens: int | None = Field(default=None, ge=1)  # of the whole dialogue
    tokenizer: Path | None = None  # the student's tokenizer.json, or its folder; None: characters / 4, an estimate
    benchmarks: tuple[Path, ...] = ()  # benchmark tasks whose words must not be in a row: folders or files
    common_grams: int = Field(default=10, ge=1)  # 13-grams in more benchmark tasks than this are boilerplate
    near_duplicate: float | None = Field(default=None, gt=0, le=1)  # Jaccard similarity of the model's own text
    rows_per_task: int | None = Field(default=None, ge=1)
    rows_per_skill: int | None = Field(default=None, ge=1)
    rows_per_lineage: int | None = Field(default=None, ge=1)  # lineage: seeds linked by shared skills
    validation_share: float = Field(default=0.0, ge=0, lt=1)  # of the rows, about; 0: no validation files
    split_by: Literal["seed", "lineage"] = "seed"
    split_seed: int = 0
    cutoff: int = Field(default=32_768, ge=1)  # tokens, of the training files that are written beside the set
