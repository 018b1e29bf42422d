"""The front doors of the domain as the assets see them: modules of the domain, or what a test puts in their place.

A door is called by the command line and by the assets alike. Does not belong here: any work.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from facet_dagster.construction import Watcher
from facet_dagster.evaluation.run import Invigilator
from facet_dagster.ports import Store
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import SeedOutcome
from facet_dagster.records.evaluation import Evaluation
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill, SkillClass, SkillIngest
from facet_dagster.records.terms import IngestTerms
from facet_dagster.seeds.pipeline import SeedResult
from facet_dagster.settings import Settings
from facet_dagster.skills.sources.entry import Source
from facet_dagster.workshop import Workshop

Card = Record | Mapping[str, Any]


class Doors(Protocol):
    """What facet_dagster.pipeline offers; see there for meaning and errors."""

    def skill_sources(self, skills: Path, inbox: Path | None = None) -> list[Source]: ...

    def ingest_skills(
        self,
        sources: Sequence[Source],
        store: Store,
        terms: IngestTerms,
        progress: Callable[[str], None] | None = None,
    ) -> SkillIngest: ...

    async def decide_open(
        self, workshop: Workshop, terms: IngestTerms, progress: Callable[[str], None] | None = None
    ) -> list[SkillClass]: ...

    async def plan_seeds(
        self, skills: Sequence[Skill], workshop: Workshop, progress: Callable[[str], None] | None = None
    ) -> SeedResult: ...

    def find_seeds(self, workshop: Workshop, seed_ids: Sequence[str] | None = None) -> list[ScenarioSeed]: ...

    async def construct_seeds(
        self,
        seeds: Sequence[ScenarioSeed],
        workshop: Workshop,
        watcher: Watcher,
        *,
        selection: frozenset[Component] | None = None,
    ) -> list[SeedOutcome]: ...

    async def roll_out(
        self, seed_id: str, workshop: Workshop, slots: asyncio.Semaphore | None = None
    ) -> list[Trial]: ...


class Examiner(Protocol):
    """What facet_dagster.evaluations offers; see there for meaning and errors."""

    def evaluate_folder(
        self,
        settings: Settings,
        *,
        run_id: str,
        invigilator: Invigilator,
        progress: Callable[[str], None],
        only: Sequence[str] = (),
    ) -> Evaluation: ...


class Results(Protocol):
    """What facet_dagster.results offers; see there for meaning and errors."""

    def build_task_dataset(self, workshop: Workshop) -> Card: ...

    def build_sft_dataset(self, workshop: Workshop) -> Card: ...
