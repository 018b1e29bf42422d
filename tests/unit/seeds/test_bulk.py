"""Many records to a file, and none lost to trouble; a killed run pays for none of them again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.base import StoredRecord
from facet_dagster.records.call import ChatRequest, Role
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds.bulk import LONGEST_S, MOST, Bulk
from facet_dagster.seeds.pipeline import make_seeds
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.scripted_model import ScriptedModel

NAMES = {Role.AUTHOR: "m", Role.JUDGE: "m"}


def hypothesis(number: int) -> Hypothesis:
    return Hypothesis(
        hypothesis_id=f"skill-{number}", skill_id="skill", context="c", goal="g", initial_state="i", final_state="f"
    )


class Clock:
    """Seconds that pass when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_many_records_are_few_files(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    with Bulk[Hypothesis](store) as bulk:
        for number in range(3 * MOST + 1):
            bulk.add(hypothesis(number))
    assert len(store.rows(Hypothesis)) == 3 * MOST + 1
    assert len(store.paths(Hypothesis)) == 4


def test_none_waits_for_long_while_others_come() -> None:
    store, clock = MemoryStore(), Clock()
    bulk = Bulk[Hypothesis](store, clock)
    bulk.add(hypothesis(1), hypothesis(2))
    clock.now = LONGEST_S / 2
    bulk.add(hypothesis(3))
    assert store.rows(Hypothesis) == []
    clock.now = LONGEST_S
    bulk.add(hypothesis(4))
    assert len(store.rows(Hypothesis)) == 4
    clock.now += 1
    bulk.add(hypothesis(5))
    assert len(store.rows(Hypothesis)) == 4  # it waits for its own time


def test_trouble_loses_none() -> None:
    store = MemoryStore()
    with pytest.raises(RuntimeError, match="trouble"), Bulk[Hypothesis](store) as bulk:
        bulk.add(hypothesis(1))
        raise RuntimeError("trouble")
    assert store.rows(Hypothesis) == [hypothesis(1)]


class Dropping(MemoryStore):
    """Loses what is written in bulk, as a process does that is killed while records wait."""

    drops = True

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        return 0 if self.drops else super().put_all(records)


async def test_a_run_that_was_killed_while_records_waited_pays_for_nothing_again() -> None:
    def drafts(request: ChatRequest) -> dict[str, Any]:
        draft = {"context": "c", "initial_state": "i", "final_state": "f"}
        return {"hypotheses": [{**draft, "goal": "one"}, {**draft, "goal": "two"}]}

    def verdict(request: ChatRequest) -> dict[str, Any]:
        fours = dict.fromkeys(("relevant", "complementary", "non_redundant", "executable"), True)
        return {**fours, "reason": "because", "title": "Three plain words"}

    skill = Skill(skill_id="a", source="s", path="a", content_hash="a", name="n", description="d", body="b")
    skills = [skill.model_copy(update={"skill_id": name}) for name in "abcd"]
    store, scripted = Dropping(), ScriptedModel({"seeds.hypotheses": drafts, "seeds.judge": verdict})
    ledger = StoreLedger(store, run_id="r", names=NAMES, prices={}, budget_tokens=None, budget_usd=None)
    model = MeteredModel(scripted, store=store, ledger=ledger, names=NAMES, in_flight=2)
    terms = SeedingTerms(max_seeds=3)
    first = await make_seeds(skills, Asker(model), HashEmbedder(), store, terms=terms)
    asked = len(scripted.requests)
    assert store.rows(Hypothesis) == [] and store.rows(Candidate) == [] and len(store.rows(ScenarioSeed)) == 3
    store.drops = False
    assert await make_seeds(skills, Asker(model), HashEmbedder(), store, terms=terms) == first
    assert len(scripted.requests) == asked
    assert len(store.rows(Hypothesis)) == 8 and len(store.rows(Candidate)) == len(first.candidates)
