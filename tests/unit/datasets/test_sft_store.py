"""The set as the store knows it: the funnel and every decision can be asked for, the same set is kept once."""

from pathlib import Path

import pytest
from rich.console import Console

from facet_dagster import results
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.sft import make_set
from facet_dagster.datasets.sft import export_sft
from facet_dagster.records.base import now
from facet_dagster.records.rollout import StopReason, Trial, Turn
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.sft import SftSet
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import SftTerms
from facet_dagster.results import make_sft_set, skills_behind
from facet_dagster.settings import Settings
from facet_dagster.yields.views import run_query


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    """Two trials on a task that no longer stands."""
    made = ParquetStore(str(tmp_path / "store"))
    for attempt in (0, 1):
        turn = Turn(
            number=1, prompt="p", raw="r", analysis="", plan="", commands=(), task_complete=True, parse_error=None,
            observation="", prompt_tokens=1, completion_tokens=1, cost_usd=0, at=now(),
        )  # fmt: skip
        made.put(
            Trial(
                seed="a", task="org/a", bundle="b" * 64, attempt=attempt, model="m", recorded=True, reward=1.0,
                stop=StopReason.COMPLETED, grade=None, turns=(turn,), seconds=1, started_at=now(), run_id=f"r{attempt}",
            )
        )  # fmt: skip
    return made


def test_the_newest_set_can_be_asked_for_and_the_same_one_is_kept_once(store, tmp_path):
    root = str(tmp_path / "store")
    assert run_query(root, "sft").empty and run_query(root, "sft_trials").empty
    for _ in range(2):
        card = make_sft_set(store, tmp_path / "sft", SftTerms())
    assert len(store.rows(SftSet)) == 1
    funnel = run_query(root, "sft").set_index("rule")
    assert funnel.loc["task_fallen", "removed"] == 2 and funnel["left"].tolist() == [step.left for step in card.funnel]
    assert run_query(root, "sft_trials")[["attempt", "rule"]].to_numpy().tolist() == [
        [0, "task_fallen"],
        [1, "task_fallen"],
    ]
    make_sft_set(store, tmp_path / "sft", SftTerms(rows_per_task=1))
    assert len(store.rows(SftSet)) == 2
    assert run_query(root, "sft").set_index("rule").loc["task_cap", "asked"] == "at most 1 per task"


def test_only_the_skills_of_seeds_are_read(store, tmp_path, monkeypatch):
    seed = ScenarioSeed(seed_id="a", title="t", skill_ids=("mine",), hypothesis_ids=(), rationale="r")
    skill = Skill(skill_id="mine", source="s", path="p", content_hash="c", name="n", description="d", body="b")
    store.put(seed)
    store.put_all([skill, skill.model_copy(update={"skill_id": "another"})])
    given: list[object] = []
    read: list[object] = []
    whole = ParquetStore.rows

    def export(trials, directory, *, skills, **terms):
        given.append(skills)
        return export_sft(trials, directory, skills=skills, **terms)

    def rows(this, kind, group=None):
        read.append(kind)
        return whole(this, kind, group)

    monkeypatch.setattr(results, "export_sft", export)
    monkeypatch.setattr(ParquetStore, "rows", rows)
    make_sft_set(store, tmp_path / "sft", SftTerms())
    assert given == [{"a": [skill]}]
    assert ScenarioSeed in read and Skill not in read


def test_the_command_makes_the_set_and_shows_the_funnel(store, tmp_path):
    console = Console(record=True, width=200)
    settings = Settings(store=str(tmp_path / "store"), out=tmp_path / "out")
    make_set(settings, console, None)
    shown = console.export_text()
    assert "task_fallen" in shown and "2 trial(s), 2 dialogue(s) -> 0 row(s) for training" in shown
    make_set(settings, console, tmp_path / "elsewhere")
    assert (tmp_path / "out/sft/README.md").read_bytes() == (tmp_path / "elsewhere/README.md").read_bytes()


def test_a_skill_is_named_in_the_revision_that_counts(store, skills):
    old = skills[0].model_copy(update={"licence": "old"})
    new = old.model_copy(update={"licence": "new", "revision": 1})
    seed = ScenarioSeed(seed_id="a", title="t", skill_ids=(old.skill_id,), hypothesis_ids=(), rationale="r")
    for record in (new, old, seed):
        store.put(record)
    assert skills_behind(store) == {"a": [new]}
