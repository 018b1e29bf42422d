"""The front doors that the command line and the Dagster assets both call: one per group of the asset graph.

Belongs here: which records go into the store, how many things are in flight. Does not belong here: how a
station works, and anything about Dagster or terminals.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from facet_dagster.attempts import roll_out as roll_out  # a front door, too
from facet_dagster.construction import Watcher, construct
from facet_dagster.errors import SettingsError
from facet_dagster.ports import Store
from facet_dagster.records.bundle import SeedOutcome
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill, SkillClass, SkillIngest
from facet_dagster.records.terms import IngestTerms
from facet_dagster.seeds.pipeline import SeedResult, make_seeds
from facet_dagster.side_by_side import to_their_ends
from facet_dagster.skills.classify import classify
from facet_dagster.skills.history import read_history
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.reading import rules_version
from facet_dagster.skills.sources.detect import open_source
from facet_dagster.skills.sources.entry import Source
from facet_dagster.skills.sources.inbox import InboxSource, reopen
from facet_dagster.skills.usable import categories_of, open_skills, skills_by_id
from facet_dagster.workshop import Workshop


def skill_sources(skills: Path, inbox: Path | None = None) -> list[Source]:
    """What the settings name: the source of skills, and everything in the inbox. Raises SettingsError."""
    return [open_source(skills), *([InboxSource(inbox)] if inbox else [])]


def ingest_skills(
    sources: Sequence[Source], store: Store, terms: IngestTerms, progress: Callable[[str], None] | None = None
) -> SkillIngest:
    """Sources to skills and rejects in the store; only what is new or has changed is worked on.

    Where the rules have changed, what other sources gave is read again first, from where it was. What cannot be read
    there stays as it stands, and `progress` is told.
    """
    say = progress or (lambda line: None)
    history = read_history(store)
    given = {source.name for source in sources}
    others = [name for name in history.outdated(rules_version()) if name not in given]
    for name in others:
        try:
            ingest([reopen(name, history.places.get(name, ""))], store, workers=terms.workers, say=say)
        except SettingsError as error:
            say(f"{name} was read under earlier rules and cannot be read again: {error}")
    return ingest(sources, store, workers=terms.workers, say=say, history=None if others else history)


async def decide_open(
    workshop: Workshop, terms: IngestTerms, progress: Callable[[str], None] | None = None
) -> list[SkillClass]:
    """A model's answers on the kept skills that the rules leave open; none where the rules alone are to decide."""
    if terms.decide_open == "rules":
        return []
    undecided = open_skills(workshop.store)
    if progress:
        progress(f"asking about {len(undecided):,} skills that the rules leave open")
    classes = await classify(undecided, workshop.asker, workshop.store, batch=terms.batch, in_flight=terms.in_flight)
    still = [each for each in classes if each.actionable is None]
    if progress and still:
        progress(f"{len(still):,} of them stay open and are asked about again; the first: {still[0].evidence}")
    return classes


async def plan_seeds(
    skills: Sequence[Skill], workshop: Workshop, progress: Callable[[str], None] | None = None
) -> SeedResult:
    """Hypotheses, retrieval and judge: skills to scenario seeds."""
    return await make_seeds(
        skills,
        workshop.asker,
        workshop.embedder,
        workshop.store,
        terms=workshop.seeding,
        categories=categories_of(workshop.store),
        progress=progress,
    )


def find_seeds(workshop: Workshop, seed_ids: Sequence[str] | None = None) -> list[ScenarioSeed]:
    """Seeds by id (all without). Raises SettingsError for an unknown one."""
    return seeds_in(workshop.store, seed_ids)


def seeds_in(store: Store, seed_ids: Sequence[str] | None = None) -> list[ScenarioSeed]:
    """As find_seeds, of a store."""
    known = {seed.seed_id: seed for seed in store.rows(ScenarioSeed)}
    if seed_ids is None:
        return list(known.values())
    for seed_id in seed_ids:
        if seed_id not in known:
            raise SettingsError(f"unknown seed {seed_id!r}: `facet seeds` lists the {len(known)} there are")
    return [known[seed_id] for seed_id in seed_ids]


async def construct_seeds(
    seeds: Sequence[ScenarioSeed],
    workshop: Workshop,
    watcher: Watcher,
    *,
    selection: frozenset[Component] | None = None,
) -> list[SeedOutcome]:
    """Walk seeds side by side, `seeds_in_flight` at a time; one seed's end never touches another's.

    Even a bug that one seed brings to light is raised only when the others have ended.
    """
    skills = skills_by_id(workshop.store, [skill_id for seed in seeds for skill_id in seed.skill_ids])
    slots = asyncio.Semaphore(workshop.construction.seeds_in_flight)

    async def walk(seed: ScenarioSeed) -> SeedOutcome:
        async with slots:
            of_seed = [skills[skill_id] for skill_id in seed.skill_ids]
            return await construct(seed, of_seed, workshop, watcher, selection=selection)

    return await to_their_ends(walk(seed) for seed in seeds)
