"""Before a seed is rolled out, what a dead process left of its trials is kept and marked."""

from types import SimpleNamespace

from facet_dagster.attempts import limits_of, roll_out
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.rollout.journal import journal
from facet_dagster.rollout.trial import begin
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
    with journal(tmp_path / "open-trials", begin("org/s", "s", "b" * 64, 0, model="m", run_id="r")):
        pass
    await roll_out("other", workshop(tmp_path))
    assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_the_terms_of_a_run_are_the_limits_of_its_trials(tmp_path):
    limits = limits_of(workshop(tmp_path, turns=7, usd=0.5, replies="xml", token_details=True).rollouts)
    assert (limits.turns, limits.usd, limits.replies, limits.token_details) == (7, 0.5, "xml", True)
    assert limits.schema_version == 1
