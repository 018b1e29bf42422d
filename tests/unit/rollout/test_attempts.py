"""Before a seed is rolled out, what a dead process left of its trials is kept and marked."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from facet_dagster import attempts
from facet_dagster.attempts import limits_of, roll_out
from facet_dagster.errors import BudgetSpent, EngineLost
from facet_dagster.records.call import Role
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.rollout.journal import journal
from facet_dagster.rollout.trial import begin
from facet_dagster.testing.memory_ledger import MemoryLedger
from facet_dagster.testing.memory_store import MemoryStore
from tests.unit.rollout.test_atif import turn


def workshop(out, **terms):
    return SimpleNamespace(out=out, store=MemoryStore(), rollouts=RolloutTerms(**terms))


async def test_a_cut_trial_is_kept_once_and_marked(tmp_path):
    there = workshop(tmp_path)
    for _ in range(2):  # killed twice at the same attempt: both tries are kept
        with journal(tmp_path / "open-trials", begin("org/s", "s", "b" * 64, 0, model="m", run_id="r")) as kept:
            kept.add(turn(1, "ls\n"))
    for _ in range(2):
        assert await roll_out("s", there) == []
    cut = there.store.rows(Trial, "s")
    assert [(t.stop, t.reward, len(t.turns)) for t in cut] == [(StopReason.CUT, None, 1)] * 2
    assert not list(tmp_path.rglob("*.jsonl"))


async def test_another_seeds_trials_are_left_alone(tmp_path):
    with journal(tmp_path / "open-trials", begin("org/s", "s", "b" * 64, 0, model="m", run_id="r")) as kept:
        kept.add(turn(1))
    await roll_out("other", workshop(tmp_path))
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


class Bench:
    """An accepted task that needs nothing built; `images` counts how often one was asked for."""

    def __init__(self, workshop):
        self.workshop, self.images = workshop, 0
        self.seed = SimpleNamespace(seed_id="s")

    def body(self, kind, component):
        return SimpleNamespace(bundle="b" * 64, name="org/s", rounds={})

    async def ensure_image(self):
        self.images += 1


@pytest.fixture
def bench(tmp_path, monkeypatch):
    there = workshop(tmp_path, attempts=3)
    there.ledger, there.harbor, there.model_names = SimpleNamespace(check=lambda: None), None, {Role.TEACHER: "m"}
    bench = Bench(there)
    monkeypatch.setattr(attempts, "accepted_bench", lambda seed, workshop: bench)
    return bench


async def test_what_harbors_agent_asked_is_in_the_ledger_once():
    ledger, store = MemoryLedger(usd_per_token=0.5), MemoryStore()
    job = Path(__file__).parents[2] / "fixtures" / "jobs" / "made"
    trials, _ = attempts.import_jobs(job, store, job)
    for trial in trials:
        attempts._paid_by_harbor(trial, ledger)
    paid = sum(trial.tokens for trial in trials)
    assert paid > 0 and ledger.spent() == (paid, paid * 0.5)
    assert len({request.fingerprint("m") for request, _ in ledger.calls}) == sum(len(trial.calls) for trial in trials)


async def test_a_spent_budget_starts_nothing_and_leaves_nothing(bench, tmp_path):
    def spent():
        raise BudgetSpent("spent")

    bench.workshop.ledger.check = spent
    with pytest.raises(BudgetSpent):
        await roll_out("s", bench.workshop)
    assert bench.images == 0 and not list(tmp_path.rglob("*.jsonl"))


async def test_a_bug_in_one_attempt_lets_the_others_come_to_their_ends(bench, monkeypatch):
    ended = []

    async def attempt(_bench, _task, number):
        await asyncio.sleep(0)
        if number == 0:
            raise ZeroDivisionError
        ended.append(number)

    monkeypatch.setattr(attempts, "_attempt", attempt)
    with pytest.raises(ZeroDivisionError):
        await roll_out("s", bench.workshop)
    assert ended == [1, 2]


async def test_each_attempt_looks_for_its_image_which_may_be_lost_with_an_engine(bench, monkeypatch):
    ended = []

    async def attempt(_bench, _task, number):
        if number == 0:
            raise EngineLost("the engine a answers no longer")
        ended.append((number, bench.images))

    monkeypatch.setattr(attempts, "_attempt", attempt)
    with pytest.raises(EngineLost):
        await roll_out("s", bench.workshop, asyncio.Semaphore(1))
    assert ended == [(1, 2), (2, 3)]


def test_the_terms_of_a_run_are_the_limits_of_its_trials(tmp_path):
    limits = limits_of(workshop(tmp_path, turns=7, usd=0.5, replies="xml", token_details=True).rollouts)
    assert (limits.turns, limits.usd, limits.replies, limits.token_details) == (7, 0.5, "xml", True)
    assert limits.schema_version == 1
