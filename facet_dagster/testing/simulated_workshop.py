"""A workshop over the real store and ledger, with a simulated model and engine: the line as it is, but for the world.

Belongs here: putting it together, and the comparison of what came of it with the book of the fates.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.ports import ChatModel
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.call import Role
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.terms import ConstructionTerms, IngestTerms, RolloutTerms, SeedingTerms
from facet_dagster.settings import Settings
from facet_dagster.testing.fates import Rates, fate_of
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.prose import dump_of_skills
from facet_dagster.testing.simulated_model import SimulatedModel
from facet_dagster.testing.simulated_sandbox import SimulatedBuilder, SimulatedSandbox
from facet_dagster.workshop import Workshop

IN_FLIGHT = 8


def simulated_settings(folder: Path, seeds: int) -> Settings:
    """Settings of a line below `folder` that ends with so many seeds; its skills are written there."""
    skills = folder / "skills.jsonl"
    if not skills.exists():
        with skills.open("w", encoding="utf-8") as lines:
            lines.writelines(dump_of_skills(max(20, seeds)))
    return Settings(
        skills=skills,
        store=str(folder / "store"),
        out=folder / "out",
        dagster_home=folder / "dagster",
        organisation="simulated",
        ingest=IngestTerms(workers=1),
        seeding=SeedingTerms(max_seeds=seeds, in_flight=IN_FLIGHT),
        construction=ConstructionTerms(seeds_in_flight=IN_FLIGHT),
        rollouts=RolloutTerms(in_flight=IN_FLIGHT),
    )


def simulated_workshop(settings: Settings, rates: Rates, run_id: str, model: ChatModel | None = None) -> Workshop:
    """The workshop of one process; `model` in place of the simulated one (an endpoint that simulates)."""
    store = ParquetStore(settings.store)
    names = dict.fromkeys(Role, "simulated")
    ledger = StoreLedger(store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id=run_id)
    sandbox = SimulatedSandbox(rates)
    inner = model or SimulatedModel(rates)
    return Workshop(
        model=MeteredModel(inner, store=store, ledger=ledger, names=names, in_flight=2 * IN_FLIGHT),
        embedder=HashEmbedder(),
        builder=SimulatedBuilder(sandbox),
        sandbox=sandbox,
        store=store,
        ledger=ledger,
        run_id=run_id,
        out=settings.out,
        organisation=settings.organisation,
        model_names=names,
        seeding=settings.seeding,
        construction=settings.construction,
        rollouts=settings.rollouts,
    )


def differences(
    store: ParquetStore, rates: Rates, cells: Callable[[Component], set[str]], *, first_walk: bool
) -> list[str]:
    """What the store's last outcomes and the green `cells` of a component say otherwise than the book, line by line."""
    last = {row.seed: row for row in sorted(store.rows(SeedOutcome), key=lambda row: row.at)}
    seeds = [seed.seed_id for seed in store.rows(ScenarioSeed)]
    found = []
    for seed in seeds:
        row, written = last.get(seed), fate_of(seed, rates).book(first_walk=first_walk)
        said = (row.status, row.first_pass, row.rounds, row.reason) if row else None
        if said != written:
            found.append(f"{seed}: the store says {said}, the book {written}: {row.evidence[:200] if row else ''}")
    for component in Component:
        green = {seed for seed in seeds if component in fate_of(seed, rates).made_by(first_walk=first_walk)}
        found += [
            f"{component.value} of {seed}: green in one of Dagster and the book" for seed in green ^ cells(component)
        ]
    return found


def counts(store: ParquetStore) -> Counter[Status]:
    """Seeds by the status of their last outcome."""
    last = {row.seed: row.status for row in sorted(store.rows(SeedOutcome), key=lambda row: row.at)}
    return Counter(last.values())
