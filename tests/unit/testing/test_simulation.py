"""The simulated world keeps its book: every kind of fate ends on the real stations as it is written."""

from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.errors import ModelUnavailable
from facet_dagster.pipeline import construct_seeds, roll_out
from facet_dagster.records.bundle import ComponentVersion, Status
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.testing.fates import Fault, Rates, fate_of
from facet_dagster.testing.simulated_workshop import differences, simulated_settings, simulated_workshop
from resources.watching import NoOnlooker

GOOD = Rates(unscripted=0, builds_at_once=1, excluded=0, valid_at_once=1, solved=1, trouble=0)


def seeds_in(store: ParquetStore, count: int) -> list[ScenarioSeed]:
    store.put(Skill(skill_id="s-1", source="t", path="s", content_hash="0" * 64, name="s", description="d", body="b"))
    seeds = [
        ScenarioSeed(seed_id=f"seed-{n}", title="Orders", skill_ids=("s-1",), hypothesis_ids=(), rationale="r")
        for n in range(count)
    ]
    for seed in seeds:
        store.put(seed)
    return seeds


def green(store: ParquetStore, component: Component) -> set[str]:
    """Seeds whose newest version of a component can be used, as Dagster would show it."""
    last = {v.seed: v for v in store.rows(ComponentVersion) if v.component is component}
    return {seed for seed, version in last.items() if version.rejected is None}


def mended(**changes: float) -> Rates:
    return Rates(**{**{field: getattr(GOOD, field) for field in GOOD.__dataclass_fields__}, **changes})


@pytest.mark.parametrize(
    ("rates", "status", "reason"),
    [
        (GOOD, Status.ACCEPTED, None),
        (mended(unscripted=1), Status.REJECTED, Reason.INCONSISTENT),
        (mended(builds_at_once=0, builds_after_repair=1), Status.ACCEPTED, None),
        (mended(builds_at_once=0, builds_after_repair=0), Status.REJECTED, Reason.BUILD_FAILED),
        (mended(excluded=1), Status.REJECTED, Reason.ANSWER_UNUSABLE),
        (mended(valid_at_once=0, valid_after_repair=1), Status.ACCEPTED, None),
        (mended(valid_at_once=0, valid_after_repair=0), Status.REJECTED, Reason.REPAIRS_EXHAUSTED),
    ],
)
async def test_every_fate_ends_as_the_book_says(
    tmp_path: Path, rates: Rates, status: Status, reason: Reason | None
) -> None:
    workshop = simulated_workshop(simulated_settings(tmp_path, 1), rates, "run")
    assert isinstance(workshop.store, ParquetStore)
    seeds = seeds_in(workshop.store, 6)
    outcomes = await construct_seeds(seeds, workshop, NoOnlooker())
    assert {(outcome.status, outcome.reason) for outcome in outcomes} == {(status, reason)}
    assert differences(workshop.store, rates, lambda c: green(workshop.store, c), first_walk=True) == []


async def test_trouble_is_met_once_and_then_the_seed_goes_its_way(tmp_path: Path) -> None:
    rates = mended(trouble=1)
    workshop = simulated_workshop(simulated_settings(tmp_path, 1), rates, "run")
    assert isinstance(workshop.store, ParquetStore)
    seeds = seeds_in(workshop.store, 2)
    stalled = await construct_seeds(seeds, workshop, NoOnlooker())
    assert {outcome.status for outcome in stalled} == {Status.PENDING}
    assert ModelUnavailable.__name__ in stalled[0].evidence
    await construct_seeds(seeds, workshop, NoOnlooker())
    assert differences(workshop.store, rates, lambda c: green(workshop.store, c), first_walk=False) == []


@pytest.mark.parametrize(("solved", "reward"), [(1.0, 1.0), (0.0, 0.0)])
async def test_the_teacher_solves_or_fails_as_fated(tmp_path: Path, solved: float, reward: float) -> None:
    rates = mended(solved=solved)
    workshop = simulated_workshop(simulated_settings(tmp_path, 1), rates, "run")
    assert isinstance(workshop.store, ParquetStore)
    (seed,) = seeds_in(workshop.store, 1)
    await construct_seeds([seed], workshop, NoOnlooker())
    (trial,) = await roll_out(seed.seed_id, workshop)
    assert trial.reward == reward and len(trial.turns) == fate_of(seed.seed_id, rates).turns


def test_the_rates_are_those_of_the_funnel() -> None:
    """Over many seeds, within three standard deviations of the paper's Table 5."""
    rates = Rates()
    fates = [fate_of(f"seed-{n}", rates) for n in range(5_000)]
    assert sum(f.accepted for f in fates) / len(fates) == pytest.approx(6_078 / 7_852, abs=0.018)
    first = sum(f.accepted and f.repairs == 0 for f in fates) / len(fates)
    assert first == pytest.approx(2_856 / 7_852, abs=0.021)
    built = [f for f in fates if f.scripted and f.builds <= 3]
    assert len(built) / len(fates) == pytest.approx(7_504 / 7_852, abs=0.009)
    rounds = [sum(f.repairs == n for f in built) for n in range(1, 7)]
    assert rounds[:5] == sorted(rounds[:5], reverse=True), "each round wins the same share of what is left"
    assert {f.fault for f in fates} == set(Fault)
