"""The front door to the model's decision: asked only where the setting wants it, and only about what is open."""

from pathlib import Path
from typing import Any

import pytest

from facet_dagster import pipeline
from facet_dagster.ports import Store
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.skill import Skill, SkillClass, SkillEntry
from facet_dagster.records.terms import IngestTerms
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    nothing: Any = None
    store = MemoryStore()
    for name, actionable in (("open", None), ("decided", True)):
        skill = Skill(skill_id=name, source="s", path=name, content_hash=name, name=name, description="d", body="b")
        store.put(skill)
        store.put(
            SkillEntry(
                ingest=1,
                collection="s",
                source="s",
                path=name,
                state="kept",
                fingerprint=name,
                content_hash=name,
                skill_id=name,
                skill_key=name,
                actionable=actionable,
                sign="e",
            )
        )
    return Workshop(
        model=nothing, embedder=nothing, builder=nothing, sandbox=nothing, store=store, ledger=nothing, run_id="r",
        out=tmp_path, organisation="o", model_names={},
    )  # fmt: skip


async def test_the_model_is_asked_about_the_open_ones_only_where_it_is_wanted(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], int, int]] = []

    async def classify(
        skills: list[Skill], asker: Asker, store: Store, *, batch: int, in_flight: int
    ) -> list[SkillClass]:
        asked.append(([skill.name for skill in skills], batch, in_flight))
        return []

    monkeypatch.setattr(pipeline, "classify", classify)
    said: list[str] = []
    assert await pipeline.decide_open(workshop, IngestTerms()) == []
    assert asked == []
    await pipeline.decide_open(workshop, IngestTerms(decide_open="model", batch=7), said.append)
    assert asked == [(["open"], 7, 4)]
    assert said == ["asking about 1 skills that the rules leave open"]
