"""Ingest over time: what is new is read, what is gone is marked; many ingests end as one that reads all at once."""

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.ports import Store
from facet_dagster.records.base import StoredRecord
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill, SkillClass, SkillEntry, SkillFault, SkillIngest, SkillReject
from facet_dagster.skills import ingest as ingesting
from facet_dagster.skills import workers
from facet_dagster.skills.history import read_history
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.reading import judge
from facet_dagster.skills.sources.detect import open_source
from facet_dagster.skills.sources.inbox import InboxSource
from facet_dagster.skills.stats import stats_of
from facet_dagster.skills.usable import open_skills, skills_by_id, usable_skills
from facet_dagster.tasks import load_bench
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.workshop import Workshop

R = TypeVar("R", bound=StoredRecord)

TOPICS = ("invoices", "backups", "certificates", "schedules", "invitations", "recipes")


def text(topic: str, extra: str = "") -> str:
    lines = "\n".join(f"{n}. Compare the {topic} of day {n} with their {topic} sum in row {n * 7}." for n in range(30))
    return (
        f"---\nname: {topic}\ndescription: Sorts {topic} of a table in the shell.\n---\n# {topic}\n\n"
        f"```bash\nsort -u {topic}.csv | head -5\n```\n\n{lines}\n{extra}\n"
    )


def write(root: Path, name: str, data: str) -> Path:
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "SKILL.md").write_text(data)
    return root / name


def read(store: Store, *roots: Path, names: Sequence[str] = ()) -> SkillIngest:
    given = names or [root.name for root in roots]
    return ingest([open_source(root, name) for root, name in zip(roots, given, strict=True)], store)


def standing(store: Store) -> dict[tuple[str, str], tuple[str, SkillFault | None, str]]:
    return {(e.collection, e.path): (e.state, e.fault, e.cluster) for e in read_history(store).live()}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts that went through the rules."""
    seen: list[bytes] = []

    def counting(data: bytes, size: int, siblings: tuple[str, ...]) -> object:
        seen.append(data)
        return judge(data, size, siblings)

    monkeypatch.setattr(workers, "judge", counting)
    return seen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for topic in TOPICS[:3]:
        write(tmp_path / "mine", topic, text(topic))
    return tmp_path / "mine"


def test_what_has_not_changed_is_not_read_again(root: Path, judged: list[bytes]) -> None:
    store = MemoryStore()
    first = read(store, root)
    before = (store.rows(Skill), store.rows(SkillEntry), len(judged))
    second = read(store, root)
    assert (store.rows(Skill), store.rows(SkillEntry), len(judged)) == before
    assert (first.fresh, second.fresh, second.found, second.kept) == (3, 0, 3, 3)
    assert first.versions == second.versions


def test_one_text_is_judged_once_however_often_it_is_found(root: Path, judged: list[bytes]) -> None:
    for copy in ("copy-1", "copy-2"):
        write(root, copy, text(TOPICS[0]))
    store = MemoryStore()
    read(store, root)
    assert len(judged) == 3
    ends = [end[:2] for (_, path), end in sorted(standing(store).items()) if path in ("copy-1", "copy-2", TOPICS[0])]
    assert ends == [("kept", None), ("refused", SkillFault.DUPLICATE), ("refused", SkillFault.DUPLICATE)]


def test_new_changed_removed_and_returned(root: Path, judged: list[bytes]) -> None:
    store = MemoryStore()
    read(store, root)
    judged.clear()
    write(root, TOPICS[3], text(TOPICS[3]))
    write(root, TOPICS[0], text(TOPICS[4]))
    shutil.rmtree(root / TOPICS[1])
    done = read(store, root)
    assert (done.fresh, done.removed, done.kept) == (2, 1, 3)
    assert sorted(judged) == sorted([text(TOPICS[3]).encode(), text(TOPICS[4]).encode()])
    assert sorted(skill.name for skill in usable_skills(store)) == ["certificates", "invitations", "schedules"]
    assert len(store.rows(Skill)) == 5  # history is kept
    write(root, TOPICS[1], text(TOPICS[1]))
    read(store, root)
    assert "backups" in {skill.name for skill in usable_skills(store)}
    assert len(store.rows(Skill)) == 5  # the skill that came back is the one there was
    states = [entry.state for entry in store.rows(SkillEntry) if entry.path == TOPICS[1]]
    assert states == ["kept", "removed", "kept"]


def test_another_sibling_is_another_revision_of_the_same_skill(root: Path) -> None:
    store = MemoryStore()
    read(store, root)
    (root / TOPICS[0] / "run.py").write_text("print()")
    read(store, root)
    (now,) = [skill for skill in usable_skills(store) if skill.name == TOPICS[0]]
    assert (now.siblings, now.revision, now.key) == (("run.py",), 1, f"{now.skill_id}.0001")
    assert store.get(Skill, "all", now.skill_id) is not None
    (root / TOPICS[0] / "run.py").unlink()
    read(store, root)
    (again,) = [skill for skill in usable_skills(store) if skill.name == TOPICS[0]]
    assert (again.siblings, again.revision) == ((), 0)


def test_other_rules_read_everything_again(root: Path, judged: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    read(store, root)
    monkeypatch.setattr(ingesting, "rules_version", lambda: "other")
    done = read(store, root)
    assert (done.fresh, done.rules, len(judged)) == (3, "other", 6)
    assert {skill.revision for skill in store.rows(Skill)} == {0}  # the result was the same


def test_a_copy_takes_the_place_of_a_survivor_that_has_gone(root: Path) -> None:
    store, other = MemoryStore(), root.parent / "theirs"
    write(other, "same", text(TOPICS[0]))
    read(store, root)
    read(store, other)
    kept = {skill.name: skill.skill_id for skill in usable_skills(store)}[TOPICS[0]]
    assert standing(store)["theirs", "same"] == ("refused", SkillFault.DUPLICATE, kept)
    shutil.rmtree(root / TOPICS[0])
    read(store, root)  # the other source is not read, and its copy is usable all the same
    (heir,) = [skill for skill in usable_skills(store) if skill.name == TOPICS[0]]
    assert (heir.source, heir.path) == ("theirs", "same")
    assert standing(store)["theirs", "same"] == ("kept", None, heir.skill_id)


def test_a_better_copy_takes_the_place_of_a_survivor(root: Path) -> None:
    store = MemoryStore()
    read(store, root)
    better = write(root, "z-better", text(TOPICS[0], extra="One more line of another kind."))
    (better / "LICENSE").write_text("MIT License")
    read(store, root)
    stands = standing(store)
    assert stands["mine", "z-better"][0] == "kept"
    assert stands["mine", TOPICS[0]] == ("refused", SkillFault.NEAR_DUPLICATE, stands["mine", "z-better"][2])
    (reject,) = [each for each in store.rows(SkillReject) if each.path == TOPICS[0]]
    assert reject.evidence.startswith("Jaccard similarity 0.9") and reject.cluster == stands["mine", "z-better"][2]


def test_many_ingests_end_as_one_does(tmp_path: Path) -> None:
    parts, roots = MemoryStore(), [tmp_path / name for name in ("a", "b")]
    for number, topic in enumerate(TOPICS):
        write(roots[number % 2], topic, text(topic))
        write(roots[(number + 1) % 2], f"copy-{topic}", text(topic, extra=f"Line of copy {number}."))
        read(parts, *roots)
    whole = MemoryStore()
    read(whole, *roots)
    assert standing(parts) == standing(whole)
    assert [skill.skill_id for skill in usable_skills(parts)] == [skill.skill_id for skill in usable_skills(whole)]
    assert stats_of(parts).clusters == stats_of(whole).clusters == {2: 6}


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    rows = [
        {"repo": f"r{n % 3}", "path": f"p{n}/SKILL.md", "text": text(f"topic{n % 450}", "x" * (n // 450))}
        for n in range(500)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "corpus.parquet")
    logs = []
    for number in (1, 2):
        store = MemoryStore()
        ingest([open_source(tmp_path / "corpus.parquet")], store, workers=number)
        logs.append((store.rows(SkillEntry), store.rows(SkillReject), store.rows(Skill)))
    assert logs[0] == logs[1]
    assert len(logs[0][0]) == 500


def test_a_source_that_breaks_off_leaves_the_store_as_it_was(root: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    read(store, root)
    before = store.rows(SkillEntry)
    (tmp_path / "bad.jsonl").write_text("not json")
    with pytest.raises(SettingsError):
        read(store, root, tmp_path / "bad.jsonl")
    assert store.rows(SkillEntry) == before and len(store.rows(SkillIngest)) == 1


def test_a_skill_that_a_model_refused_is_not_usable(root: Path) -> None:
    store = MemoryStore()
    read(store, root)
    skill = usable_skills(store)[0]
    store.put(
        SkillClass(content_hash=skill.content_hash, actionable=False, decided_by="model", evidence="a sofa is needed")
    )
    assert skill.skill_id not in {each.skill_id for each in usable_skills(store)}
    assert skill.skill_id not in {each.skill_id for each in open_skills(store)}
    assert stats_of(store).funnel[-1] == ("not refused by a model", 2)


def test_two_ingests_at_once_do_not_mix(root: Path) -> None:
    class Late(MemoryStore):
        def put(self, record: object) -> bool:
            if isinstance(record, SkillIngest):
                super().put(record.model_copy(update={"rules": "of the other"}))
            return super().put(record)  # type: ignore[arg-type]

    store = Late()
    with pytest.raises(SettingsError, match="another ingest"):
        read(store, root)
    assert store.rows(SkillEntry) == []


def test_counts_of_what_there_is(root: Path) -> None:
    write(root, "empty", "")
    write(root, "no-front", "# Title\n\nText without any front matter at all.")
    write(root, "copy", text(TOPICS[0]))
    store = MemoryStore()
    read(store, root)
    stats = stats_of(store)
    assert dict(stats.funnel)["found"] == 6
    assert [count for _, count in stats.funnel] == [6, 6, 4, 4, 4, 4, 4, 3, 3, 3]
    assert (stats.kept, stats.refused, stats.removed) == (3, 3, 0)
    assert stats.reasons == {"empty_body": 1, "no_front_matter": 1, "duplicate": 1}
    assert stats.clusters == {2: 1}
    assert stats.share(SkillFault.DUPLICATE) == pytest.approx(1 / 6)


def test_a_fingerprint_covers_all_that_the_rules_see(root: Path) -> None:
    (entry, *_) = open_source(root).entries()
    base = ingesting._fingerprint(entry, "h", "r")
    changed = [
        ingesting._fingerprint(replace(entry, **{name: value}), "h", "r")
        for name, value in (
            ("siblings", ("a",)),
            ("notes", ("a",)),
            ("target", "a"),
            ("size", 1),
            ("siblings_cut", True),
        )
    ]
    assert len({base, *changed, ingesting._fingerprint(entry, "h", "s"), ingesting._fingerprint(entry, "i", "r")}) == 8


def test_a_worker_that_is_killed_is_one_line_of_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Killed(ThreadPoolExecutor):
        def __init__(self, count: int, **_: object) -> None:
            super().__init__(count)

        def submit(self, *_: object) -> Future[object]:  # type: ignore[override]
            future = Future[object]()
            future.set_exception(BrokenProcessPool("one died"))
            return future

    write(tmp_path / "mine", "sums", text("sums"))
    monkeypatch.setattr(workers, "ProcessPoolExecutor", Killed)
    monkeypatch.setattr(workers, "POOL_FROM", 0)
    with pytest.raises(InfrastructureError, match="FACET_INGEST_WORKERS=1") as caught:
        ingest([open_source(tmp_path / "mine")], MemoryStore(), workers=2)
    assert "\n" not in str(caught.value)


def test_two_dumps_of_the_inbox_do_not_take_turns(tmp_path: Path, judged: list[bytes]) -> None:
    for name, topics in (("a", TOPICS[:2]), ("b", TOPICS[2:4])):
        # Both dumps have other texts at the same paths of the same repository; `b` has one more.
        rows = [{"repo": "o/r", "path": f"{number}/SKILL.md", "text": text(each)} for number, each in enumerate(topics)]
        rows += [{"repo": "o/r", "path": "own/SKILL.md", "text": text(TOPICS[4])}] if name == "b" else []
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    store = MemoryStore()
    ingests, kept = [], []
    for _ in range(4):
        ingests.append(ingest([InboxSource(tmp_path)], store))
        kept.append([skill.name for skill in sorted(usable_skills(store), key=lambda skill: skill.path)])
    assert [each.fresh for each in ingests] == [5, 0, 0, 0]
    assert kept == [[*TOPICS[:2], TOPICS[4]]] * 4
    assert len(judged) == 3
    refused = [entry for entry in store.rows(SkillReject) if entry.source == "b.jsonl"]
    assert sorted(each.path for each in refused) == ["o/r/0", "o/r/1"]
    assert {each.evidence for each in refused} == {"a.jsonl of the inbox has this folder of o/r already"}
    (tmp_path / "a.jsonl").unlink()
    assert ingest([InboxSource(tmp_path)], store).refused == 0
    assert sorted(skill.name for skill in usable_skills(store)) == sorted(TOPICS[2:5])


class _Counting(MemoryStore):
    """Counts the readings of whole tables."""

    def __init__(self) -> None:
        super().__init__()
        self.whole: list[str] = []

    def rows(self, kind: type[R], group: str | None = None) -> list[R]:
        self.whole.append(kind.table)
        return super().rows(kind, group)


def test_skills_by_id_are_the_revisions_that_count(root: Path) -> None:
    store = _Counting()
    read(store, root)
    ids = [skill.skill_id for skill in usable_skills(store)]
    store.whole.clear()
    found = skills_by_id(store, [*ids[1:], ids[0], "unknown"])
    assert list(found) == [*ids[1:], ids[0]]
    assert store.whole == []
    beside = root / TOPICS[0] / "notes.md"
    beside.write_text("x")
    read(store, root)
    (changed,) = [skill.skill_id for skill in usable_skills(store) if skill.name == TOPICS[0]]
    assert skills_by_id(store, ids)[changed].revision == 1
    without_log = MemoryStore()
    without_log.put_all(store.rows(Skill))
    beside.unlink()
    read(store, root)  # the first reading is back
    assert skills_by_id(store, ids)[changed].revision == 0
    assert skills_by_id(without_log, ids)[changed].revision == 1
    store.whole.clear()
    seed = ScenarioSeed(seed_id="s", title="t", skill_ids=(changed, ids[0]), hypothesis_ids=(), rationale="")
    bench = load_bench(seed, cast(Workshop, SimpleNamespace(store=store)))
    assert [(skill.skill_id, skill.revision) for skill in bench.skills] == [(changed, 0), (ids[0], 0)]
    assert "skills" not in store.whole


class _Killed(Exception):
    """What ends an ingest in the middle."""


class _Dying(MemoryStore):
    """Ends an ingest before it has a number: its skills are there, its log is not."""

    dies = True

    def put(self, record: StoredRecord) -> bool:
        if self.dies and isinstance(record, SkillIngest):
            raise _Killed
        return super().put(record)


@pytest.mark.parametrize("first_too", [True, False])
def test_a_killed_ingest_leaves_no_revision_that_another_is_taken_for(root: Path, first_too: bool) -> None:
    store = _Dying()
    store.dies = first_too
    for sibling in ("a.py", "b.py"):
        with suppress(_Killed):
            read(store, root)
        (root / TOPICS[0] / sibling).write_text("print()")
        store.dies = True
    with pytest.raises(_Killed):
        read(store, root)
    (root / TOPICS[0] / "a.py").unlink()
    store.dies = False
    read(store, root)
    (now,) = [skill for skill in usable_skills(store) if skill.name == TOPICS[0]]
    assert now.siblings == ("b.py",)
    found = [skill for skill in store.rows(Skill) if skill.skill_id == now.skill_id]
    assert [skill.siblings for skill in found] == [(), ("a.py",), ("a.py", "b.py"), ("b.py",)]
    assert len({skill.key for skill in found}) == 4
