"""How fast skills are read, and how well copies are found: python benchmarks/ingest.py CORPUS.parquet [ROWS]

CORPUS is a dump of public skills (columns repo, path, text, …). Three things are measured, each in a process of its
own and an empty store: the corpus as it is; the same again with 1% of the texts changed; and ROWS rows (116,000 by
default, half of them first) made of the corpus by repeating it with edits, so that it is known which rows are exact
copies, which are near ones and which are neither. Memory is that of the process and of its workers at their peaks,
added up. On a shared machine the seconds of CPU say more than those of the clock.
"""

import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.skill import Skill, SkillEntry, SkillFault
from facet_dagster.skills.duplicates import NEAR, features_of, similarity
from facet_dagster.skills.history import read_history
from facet_dagster.skills.ingest import ingest
from facet_dagster.skills.sources.dump import DumpSource

WORKERS = 2
KINDS = ("original", "exact", "near", "apart-1", "apart-2", "apart-3")
SCHEMA = pa.schema(
    [
        ("repo", pa.string()),
        ("path", pa.string()),
        ("licence", pa.string()),
        ("text", pa.string()),
        ("symlink_target", pa.string()),
        ("sibling_files", pa.list_(pa.string())),
    ]
)


def main(corpus: Path, rows: int) -> None:
    """Print a line per measurement, beside what is wanted."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; {WORKERS} workers")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        same, changed = place / "corpus.parquet", place / "changed" / "corpus.parquet"
        _write(same, _as_it_is(corpus))
        changed.parent.mkdir()
        _write(changed, _one_in_a_hundred(corpus))
        first = _measured(same, place / "store", "the corpus", "<= 40 s, <= 1.5 GB")
        again = _measured(changed, place / "store", "1% changed", "<= 10% of the first")
        print(f"  second run / first: {again['wall'] / first['wall']:.1%} wall, {again['cpu'] / first['cpu']:.1%} CPU")
        for count, wanted in ((rows // 2, ""), (rows, "<= 300 s, <= 3 GB at 116,000 rows; near-linear")):
            made, store = place / f"made-{count}" / "corpus.parquet", place / f"store-{count}"
            made.parent.mkdir()
            _write(made, _made(corpus, count))
            _measured(made, store, "made set", wanted)
        _found(ParquetStore(str(store)))


def _measured(dump: Path, store: Path, title: str, wanted: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--one", dump, store], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{title}: {figures['found']:,.0f} rows in {figures['wall']:.1f} s ({figures['cpu']:.1f} s of CPU), "
        f"{figures['gb']:.2f} GB; {figures['fresh']:,.0f} read, {figures['kept']:,.0f} kept "
        f"{f'[wanted {wanted}]' if wanted else ''}",
        flush=True,
    )
    return figures


def _one(dump: Path, store: Path) -> None:
    began, used = time.monotonic(), _cpu()
    done = ingest([DumpSource(dump, "corpus")], ParquetStore(str(store)), workers=WORKERS)
    wall = time.monotonic() - began
    own, workers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "wall": wall,
        "cpu": _cpu() - used,
        "gb": (own.ru_maxrss + WORKERS * workers.ru_maxrss) / (1 << 20),
        "found": done.found,
        "fresh": done.fresh,
        "kept": done.kept,
    }
    print(json.dumps(figures))


def _cpu() -> float:
    """Seconds of CPU so far, of this process and of its workers that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append({name: row[name] for name in SCHEMA.names})
            if len(batch) == 2_000:
                writer.write_table(pa.Table.from_pylist(batch, schema=SCHEMA))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema=SCHEMA))


def _as_it_is(corpus: Path) -> Iterator[dict[str, Any]]:
    for batch in pq.ParquetFile(corpus).iter_batches(500, columns=SCHEMA.names):
        yield from batch.to_pylist()


def _one_in_a_hundred(corpus: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(_as_it_is(corpus)):
        yield {**row, "text": f"{row['text']}\nAnother line, number {number}.\n"} if number % 100 == 0 else row


def _made(corpus: Path, count: int) -> Iterator[dict[str, Any]]:
    """The corpus again and again; the kind of a row is the first part of its path."""
    made = 0
    for kind in KINDS:
        rng = random.Random(kind)
        for row in _as_it_is(corpus):
            if made == count:
                return
            made += 1
            yield {**row, "path": f"{kind}/{row['path']}", "text": _edited(row["text"] or "", kind, rng)}


def _edited(text: str, kind: str, rng: random.Random) -> str:
    head, mark, body = text.partition("\n---\n")
    if kind == "original" or not mark:
        return text
    if kind == "exact":
        return f"{head}{mark}\n{body.replace('  ', ' ')}\n\n"  # other layout, the same words
    words = body.split(" ")
    # One word that is another breaks five shingles: of these few, or of nearly all.
    places = rng.sample(range(len(words)), max(1, len(words) // 70)) if kind == "near" else range(0, len(words), 5)
    for at in places:
        words[at] = f"{words[at]} {kind[:1]}{rng.randrange(10**9)}"
    return f"{head}{mark}{' '.join(words)}"


def _found(store: ParquetStore) -> None:
    """What became of the known copies. A pair counts as found where not both were kept."""
    entries: dict[tuple[str, str, str], SkillEntry] = {}
    for entry in read_history(store).live():
        kind, _, path = entry.path.partition("/")
        if entry.skill_key:
            entries[kind, entry.source, path] = entry
    pairs, found = Counter[str](), Counter[str]()
    apart = merged = 0
    for (kind, source, path), entry in entries.items():
        original = entries.get(("original", source, path))
        if original is None or kind == "original":
            continue
        if kind.startswith("apart"):
            apart += 1
            merged += entry.fault is SkillFault.NEAR_DUPLICATE and not _alike(store, entry, entries)
        elif (kind == "exact" and entry.words == original.words) or (kind == "near" and _near(store, entry, original)):
            pairs[kind] += 1
            found[kind] += not entry.state == original.state == "kept"
    for kind, wanted in (("exact", "100%"), ("near", ">= 95%")):
        share = found[kind] / pairs[kind] if pairs[kind] else 1.0
        print(f"{kind} copies found: {found[kind]:,} of {pairs[kind]:,} ({share:.2%}) [wanted {wanted}]")
    print(f"false merges: {merged:,} of {apart:,} that are no copies ({merged / max(apart, 1):.2%}) [wanted <= 1%]")


def _near(store: ParquetStore, one: SkillEntry, other: SkillEntry) -> bool:
    bodies = [store.get(Skill, "all", entry.skill_key) for entry in (one, other)]
    shingles = [features_of(skill.body).shingles for skill in bodies if skill is not None]
    return similarity(shingles[0], shingles[1]) >= NEAR


def _alike(store: ParquetStore, entry: SkillEntry, entries: dict[tuple[str, str, str], SkillEntry]) -> bool:
    survivor = next(each for each in entries.values() if each.skill_id == entry.cluster)
    return _near(store, entry, survivor)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _one(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 116_000)
