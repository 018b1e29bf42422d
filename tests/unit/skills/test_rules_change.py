"""After the rules have changed everything is judged again, and only the newest verdict counts anywhere."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from rich.console import Console

from facet_dagster import pipeline
from facet_dagster.cli.skills import show_stats, tell_why
from facet_dagster.ports import Store
from facet_dagster.records.base import StoredRecord
from facet_dagster.records.skill import Family, Skill, SkillClass, SkillEntry, SkillFault, SkillIngest
from facet_dagster.records.terms import IngestTerms
from facet_dagster.skills import ingest as ingesting
from facet_dagster.skills import stats, workers
from facet_dagster.skills.actionable import Actionability
from facet_dagster.skills.history import read_history
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.reading import Judged, Text, judge
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.detect import open_source
from facet_dagster.skills.sources.inbox import InboxSource
from facet_dagster.skills.stats import stats_of
from facet_dagster.skills.usable import categories_of, open_skills, usable_skills
from facet_dagster.testing.memory_store import MemoryStore
from tests.unit.skills.test_skills_history import text, write

R = TypeVar("R", bound=StoredRecord)
TOPICS = ("columns", "backups", "certificates", "filenames")


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A source of two skills, and another of two."""
    for number, topic in enumerate(TOPICS):
        write(tmp_path / f"source{number // 2}", topic, text(topic))
    return tmp_path / "source0", tmp_path / "source1"


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> "Rules":
    return Rules(monkeypatch)


class Rules:
    """The rules of another version of the program."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._say({})

    def _say(self, verdicts: dict[str, Actionability | Refusal]) -> None:
        def other(data: bytes, size: int, siblings: tuple[str, ...]) -> Judged:
            judged = judge(data, size, siblings)
            said = verdicts.get(judged.result.name) if isinstance(judged.result, Text) else None
            if isinstance(said, Refusal):
                return Judged(said, judged.language)
            if said is None or not isinstance(judged.result, Text):
                return judged
            return Judged(replace(judged.result, actionability=said), judged.language)

        self._patch.setattr(workers, "judge", other)

    def change(self, version: str, **verdicts: Actionability | Refusal) -> None:
        self._say(verdicts)
        for module in (ingesting, stats, pipeline):
            self._patch.setattr(module, "rules_version", lambda: version)


def read(store: Store, *roots: Path, said: list[str] | None = None) -> SkillIngest:
    sources = [open_source(root) for root in roots]
    return pipeline.ingest_skills(sources, store, IngestTerms(workers=1), said.append if said is not None else None)


OPEN = Actionability("open", Family.DATA, "databases", "the sign of other rules")


def test_only_the_newest_verdict_counts(roots: tuple[Path, Path], rules: Rules) -> None:
    store = MemoryStore()
    read(store, *roots)
    assert stats_of(store).open == 0 and open_skills(store) == []
    rules.change("second", columns=OPEN, backups=Refusal(SkillFault.NOT_ACTIONABLE, "says who"))
    read(store, *roots)
    now = stats_of(store)
    assert (now.open, now.kept, now.categories["databases"]) == (1, 3, 1)
    assert [skill.name for skill in open_skills(store)] == ["columns"]
    (skill,) = open_skills(store)
    assert categories_of(store)[skill.skill_id] == "databases"
    assert sorted(each.name for each in usable_skills(store)) == ["certificates", "columns", "filenames"]
    console = Console(record=True, width=150)
    tell_why(store, "columns", console)
    tell_why(store, "backups", console)
    said = console.export_text()
    assert said.count("by rule") == 1 and "open, data / databases, by rule: the sign of other rules" in said
    assert "not_actionable: says who" in said
    assert {each.revision for each in store.rows(Skill)} == {0} and store.rows(SkillClass) == []


def test_what_another_source_gave_is_judged_again_as_well(roots: tuple[Path, Path], rules: Rules) -> None:
    store, inbox = MemoryStore(), roots[0].parent / "inbox"
    write(inbox / "member", "recipes", text("recipes"))
    read(store, roots[0])
    ingest([InboxSource(inbox)], store)
    rules.change("second", columns=OPEN, recipes=OPEN)
    assert stats_of(store).outdated == {"source0": 2, "inbox": 1}
    done = read(store, roots[1])
    assert (done.collections, done.found, done.kept) == (("source1",), 2, 5)
    assert [skill.name for skill in open_skills(store)] == ["columns", "recipes"]
    assert stats_of(store).outdated == {}
    assert len(store.rows(SkillIngest)) == 5
    read(store, roots[1])
    assert len(store.rows(SkillIngest)) == 6  # nothing is read again twice


def test_a_source_that_cannot_be_read_again_stays_as_it_stands_and_is_named(
    roots: tuple[Path, Path], rules: Rules
) -> None:
    store, said = MemoryStore(), list[str]()
    read(store, *roots)
    shutil.rmtree(roots[0])
    rules.change("second", filenames=OPEN)
    done = read(store, roots[1], said=said)
    assert done.kept == 4
    assert stats_of(store).outdated == {"source0": 2}
    assert any("source0 was read under earlier rules" in line and "does not exist" in line for line in said)
    roots[0].mkdir()  # a disk that is not mounted
    said.clear()
    assert read(store, roots[1], said=said).kept == 4
    assert any("no skills at" in line for line in said)
    console = Console(record=True, width=150)
    show_stats(store, console)
    assert "2 folders of source0 were read under earlier rules" in console.export_text()


def test_an_entry_of_an_earlier_version_is_told_from_one_of_now(roots: tuple[Path, Path], rules: Rules) -> None:
    store, old = MemoryStore(), MemoryStore()
    read(store, *roots)
    bare = {"rules": "", "sign": "", "actionable": None, "family": None, "category": None}
    old.put_all([entry.model_copy(update=bare) for entry in store.rows(SkillEntry)])
    old.put_all([each.model_copy(update={"places": (), "sketched": ""}) for each in store.rows(SkillIngest)])
    old.put_all(store.rows(Skill))
    said: list[str] = []
    rules.change("second")
    assert read(old, roots[1], said=said).kept == 4
    assert any("did not note where from" in line for line in said)
    assert {entry.collection: bool(entry.by_rule) for entry in read_history(old).live()} == {
        "source0": False,
        "source1": True,
    }
    assert read(old, *roots).fresh == 2
    assert stats_of(old).outdated == {} and all(entry.by_rule for entry in read_history(old).live())


class _Bulk(MemoryStore):
    """Counts how skills are fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[int] = []

    def get(self, kind: type[R], group: str, key: str) -> R | None:
        assert kind is not Skill, "skills are fetched together"
        return super().get(kind, group, key)

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        wanted = list(keys)
        if kind is Skill and wanted:
            self.fetched.append(len(wanted))
        found = {key: MemoryStore.get(self, kind, group, key) for key in wanted}
        return {key: record for key, record in found.items() if record is not None}


def test_the_bodies_of_other_sources_are_fetched_together(
    roots: tuple[Path, Path], rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _Bulk()
    read(store, roots[0])
    write(roots[1], "copy", text(TOPICS[0], "One more line."))
    rules.change("second")
    ingest([open_source(roots[1])], store)
    assert store.fetched == [1]  # the one that is nearly the same; sketches do not hang on the rules
    monkeypatch.setattr(ingesting, "features_version", lambda: "other")
    write(roots[1], "recipes", text("recipes"))
    store.fetched.clear()
    ingest([open_source(roots[1])], store)
    assert store.fetched == [5]  # all that stands and was not read now
    assert stats_of(store).reasons == {"near_duplicate": 1}
