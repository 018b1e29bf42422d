"""Projections from the ledger of seeds that have ended."""

from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.base import now
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.call import LedgerRow, Role
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.testing.paper_store import fill
from facet_dagster.yields.planning import plan, waiting

PRICES = {Role.AUTHOR: (1.0, 2.0), Role.TEACHER: (3.0, 4.0)}


def test_as_many_seeds_as_have_ended_cost_what_these_did(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store, 8)
    found = plan(str(tmp_path), 8, PRICES, seeds_in_flight=2, trials_in_flight=1, attempts=1)
    rows = store.rows(LedgerRow)
    usd = sum((r.prompt_tokens * PRICES[r.role][0] + r.completion_tokens * PRICES[r.role][1]) / 1e6 for r in rows)
    total = found.stations[-1]
    assert (total.station, found.history, found.unpriced) == ("all stations", 8, ())
    assert total.calls.expected == pytest.approx(len(rows))
    assert total.tokens.expected == pytest.approx(sum(r.prompt_tokens + r.completion_tokens for r in rows))
    assert total.usd.expected == pytest.approx(usd) == pytest.approx(sum(s.usd.expected for s in found.stations[:-1]))
    assert total.usd.low is not None and total.usd.high is not None
    assert 0 <= total.usd.low < total.usd.expected < total.usd.high
    assert found.hours is not None and found.hours.expected > 0


def test_without_a_price_the_ledgers_own_figures_count(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store, 3)
    found = plan(str(tmp_path), 6, {}, seeds_in_flight=1, trials_in_flight=1, attempts=1)
    assert found.stations[-1].usd.expected == pytest.approx(2 * sum(row.cost_usd for row in store.rows(LedgerRow)))
    assert found.unpriced == ("author", "teacher")


def test_one_seed_gives_no_interval_and_none_gives_nothing(tmp_path: Path) -> None:
    fill(ParquetStore(str(tmp_path / "one")), 1)
    one = plan(str(tmp_path / "one"), 5, PRICES, seeds_in_flight=1, trials_in_flight=1, attempts=1)
    assert one.stations[-1].calls.expected > 0 and one.stations[-1].usd.low is None
    none = plan(str(tmp_path / "none"), 5, PRICES, seeds_in_flight=1, trials_in_flight=1, attempts=1)
    assert (none.history, none.stations, none.hours) == (0, (), None)


def test_rollouts_not_made_yet_are_projected_from_those_that_were(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store, 12)
    tried = {trial.seed for trial in store.rows(Trial)}
    rolled = [row for row in store.rows(LedgerRow) if row.station.startswith("rollout.")]
    accepted = SeedOutcome(
        seed="new", sequence=0, status=Status.ACCEPTED, first_pass=True, rounds=0, run_id="r", at=now()
    )  # fmt: skip
    rejected = accepted.model_copy(update={"seed": "bad", "status": Status.REJECTED})
    for outcome in (accepted, rejected):
        store.put(outcome)
    found = plan(str(tmp_path), 14, {}, seeds_in_flight=1, trials_in_flight=1, attempts=3)
    (station,) = [each for each in found.stations if each.station == "rollout"]
    assert station.calls.expected == pytest.approx(3 * len(rolled) * (len(tried) + 1) / len(tried))
    assert (found.tried, found.untried) == (len(tried), 1)
    assert found.stations[-1].calls.expected == pytest.approx(sum(s.calls.expected for s in found.stations[:-1]))


def test_where_no_rollout_was_made_none_is_projected(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(ParquetStore(str(tmp_path / "full")), 4)
    for kind in (LedgerRow, ComponentVersion, SeedOutcome):
        for row in ParquetStore(str(tmp_path / "full")).rows(kind):
            if not (isinstance(row, LedgerRow) and row.station.startswith("rollout.")):
                store.put(row)
    found = plan(str(tmp_path), 4, {}, seeds_in_flight=1, trials_in_flight=1, attempts=1)
    assert found.tried == 0 < found.untried
    assert "rollout" not in {each.station for each in found.stations}


def test_who_waits(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store, 12)
    early = SeedOutcome(
        seed="seed-00000", sequence=99, status=Status.REJECTED, first_pass=False, rounds=2, run_id="r", at=now()
    )  # fmt: skip
    late = early.model_copy(update={"seed": "seed-00001", "rounds": 5})
    for outcome in (early, late, late.model_copy(update={"seed": "seed-00002", "status": Status.PENDING})):
        store.put(outcome)
    store.put(ScenarioSeed(seed_id="new", title="t", skill_ids=("a",), hypothesis_ids=(), rationale=""))
    there = waiting(str(tmp_path), task_repairs=5)
    assert (there.not_begun, there.pending) == (1, 1)
    assert 0 < there.used_up < there.rejected
    assert waiting(str(tmp_path), task_repairs=6).used_up == 0
