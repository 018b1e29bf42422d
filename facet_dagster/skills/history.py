"""What earlier ingests left in the store: how every folder stands, which revisions there are, which features are known.

Reads the log only. Does not belong here: writing it (ingest), and reading skills.
"""

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.columns import column
from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillEntry, SkillIngest

Address = tuple[str, str, str]
Pair = tuple[str, str]


@dataclass
class History:
    """The log as it stands. `order`: collections by when they were first read; `keys`: per id, reading -> key;
    `places`: where a collection was last read from.
    """

    latest: dict[Address, SkillEntry] = field(default_factory=dict)
    keys: dict[str, dict[str, str]] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    ingests: list[SkillIngest] = field(default_factory=list)
    number: int = 0

    def live(self) -> list[SkillEntry]:
        """The entries of all folders that are still there."""
        return [entry for entry in self.latest.values() if entry.state != "removed"]

    def outdated(self, rules: str) -> Counter[str]:
        """Collections with folders that are there and were read under other rules, and how many of these."""
        return Counter(entry.collection for entry in self.live() if entry.rules != rules)

    def next_revision(self, skill_id: str) -> int:
        """A revision that no key of the id has."""
        taken = (int(key.removeprefix(skill_id).lstrip(".") or 0) for key in self.keys.get(skill_id, {}).values())
        return max(taken, default=-1) + 1


def read_history(store: Store) -> History:
    """Everything that the log says, the later entry of a folder before the earlier."""
    history = History(ingests=store.rows(SkillIngest))
    for ingest in history.ingests:
        for collection in ingest.collections:
            history.order.setdefault(collection, len(history.order))
        history.places.update(zip(ingest.collections, ingest.places, strict=False))  # earlier versions kept none
        history.number = max(history.number, ingest.number)
    for entry in store.rows(SkillEntry):  # in the order of ingests
        history.latest[entry.address] = entry
        if entry.skill_key:
            history.keys.setdefault(entry.skill_id, {})[entry.reading] = entry.skill_key
        history.number = max(history.number, entry.ingest)
    return history


def adopt_lost_skills(store: Store, history: History) -> None:
    """Learn of skills that the log does not name: an ingest that was killed left them, and their keys are taken."""
    named = {key for keys in history.keys.values() for key in keys.values()}
    lost = [key for key in store.keys(Skill, "all") if key not in named]
    for skill in store.get_all(Skill, "all", lost).values():
        history.keys.setdefault(skill.skill_id, {}).setdefault(reading_of(skill), skill.key)


def reading_of(skill: Skill) -> str:
    """Digest of a skill without its revision."""
    return skill.model_copy(update={"revision": 0}).digest()[:16]


@dataclass
class Known:
    """Features that need not be computed again: sketches by the digest of the words, similarities by pairs of those."""

    sketches: dict[str, bytes] = field(default_factory=dict)
    pairs: dict[Pair, float] = field(default_factory=dict)


def read_features(store: Store, ingests: list[SkillIngest], version: str) -> Known:
    """What earlier ingests have computed in the same way, under whatever rules: it hangs on the words alone."""
    known = Known()
    for ingest in ingests:
        if ingest.sketched == version:
            # Not pq.read_table: it imports pandas, which takes longer than all the reading.
            table = pq.ParquetFile(pa.BufferReader(store.get_blob(ingest.features))).read(use_threads=False)
            columns = (table[name].to_pylist() for name in ("words", "other", "similarity", "sketch"))
            for words, other, similarity, sketch in zip(*columns, strict=True):
                if other:
                    known.pairs[words, other] = similarity
                else:
                    known.sketches[words] = sketch
    return known


def keep_features(store: Store, sketches: Mapping[str, bytes], pairs: Mapping[Pair, float]) -> str:
    """Keep new features; the address of the blob."""
    table = pa.table(
        {
            "words": column([*sketches, *(words for words, _ in pairs)], pa.string()),
            "other": column([*([""] * len(sketches)), *(other for _, other in pairs)], pa.string()),
            "similarity": column([*([0.0] * len(sketches)), *pairs.values()], pa.float64()),
            "sketch": column([*sketches.values(), *([b""] * len(pairs))], pa.binary()),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return store.put_blob(buffer.getvalue())
