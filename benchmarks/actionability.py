"""How right the rules on actionability are, and how fast: python benchmarks/actionability.py SHARED [PART ...]

Over the hand-labelled skills of tests/fixtures/skill_labels.csv whose texts stand below SHARED (`skills/`, a folder
tree, and `corpus/skills-20k.parquet`): precision, recall, the table of verdicts against labels, and how often the
category is the labelled one, for each part. The rules were tuned on `dev`; `dev2` was kept out of sight
until a first evaluation and then used as well; `test` was drawn and labelled after the rules were done.
"""

import csv
import platform
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from facet_dagster.records.base import digest_of
from facet_dagster.skills.access import screen_access
from facet_dagster.skills.actionable import Actionability, judge_by_rules
from facet_dagster.skills.decode import decode
from facet_dagster.skills.front_matter import read_front_matter
from facet_dagster.skills.markdown import view
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.secrets import mask_secrets
from facet_dagster.skills.taxonomy import CATEGORIES

LABELS = Path(__file__).parents[1] / "tests" / "fixtures" / "skill_labels.csv"
PARTS = ("dev", "dev2", "dev3", "test")


@dataclass(frozen=True)
class Sample:
    """One labelled skill and what the rules say of it. `weight` is how many skills of the corpus it stands for."""

    name: str
    part: str
    stratum: str
    weight: float
    actionable: str  # "yes" | "no", by hand
    category: str  # by hand
    judged: Actionability  # "no" as well where the skill needs somebody's account
    seconds: float  # of the rules on actionability and place


def labels() -> dict[str, dict[str, str]]:
    """The labels by content hash."""
    with LABELS.open(encoding="utf-8", newline="") as stream:
        return {row["content_hash"]: row for row in csv.DictReader(stream)}


def samples(shared: Path) -> list[Sample]:
    """The labelled skills whose text is found below `shared`."""
    wanted, found = labels(), {}
    for data, siblings in _texts(shared):
        label = wanted.get(key := digest_of(data))
        if label and key not in found:
            found[key] = _sample(data, siblings, label)
    return list(found.values())


def _texts(shared: Path) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    for file in sorted((shared / "skills").glob("*/SKILL.md")):
        beside = (path for path in sorted(file.parent.rglob("*")) if path.is_file() and path != file)
        yield file.read_bytes(), tuple(path.relative_to(file.parent).as_posix() for path in beside)
    parquet = pq.ParquetFile(shared / "corpus" / "skills-20k.parquet")
    for rows in parquet.iter_batches(2_000, columns=["text", "sibling_files"]):
        for row in rows.to_pylist():
            yield (row["text"] or "").encode(), tuple(row["sibling_files"] or ())


def _sample(data: bytes, siblings: tuple[str, ...], label: dict[str, str]) -> Sample:
    decoded = decode(data)
    assert not isinstance(decoded, Refusal)
    front = read_front_matter(mask_secrets(decoded.text)[0])
    assert not isinstance(front, Refusal)
    body, values = view(front.body.strip()), front.values
    began = time.process_time()
    judged = judge_by_rules(values.name, values.description, body, siblings)
    seconds = time.process_time() - began
    if refusal := screen_access(body.text):
        judged = Actionability("no", judged.family, judged.category, refusal.evidence)
    weight = float(label["weight"])
    return Sample(
        values.name, label["part"], label["stratum"], weight, label["actionable"], label["category"], judged, seconds
    )


@dataclass(frozen=True)
class Scores:
    """Shares between 0 and 1. Precision and recall are those of the verdict "yes"."""

    precision: float
    recall: float
    no_precision: float
    lost: float  # actionable skills that the rules refuse
    open_share: float
    category: float
    family: float
    table: Counter[tuple[str, str]]  # (verdict, label)


def scores(chosen: Sequence[Sample]) -> Scores:
    """Scores over a part of the sample."""
    table = Counter((each.judged.verdict, each.actionable) for each in chosen)
    return Scores(
        precision=_share(table["yes", "yes"], _total(table, verdict="yes")),
        recall=_share(table["yes", "yes"], _total(table, label="yes")),
        no_precision=_share(table["no", "no"], _total(table, verdict="no")),
        lost=_share(table["no", "yes"], _total(table, label="yes")),
        open_share=_share(_total(table, verdict="open"), table.total()),
        category=_mean(each.judged.category == each.category for each in chosen),
        family=_mean(each.judged.family == CATEGORIES[each.category] for each in chosen),
        table=table,
    )


def _total(table: Counter[tuple[str, str]], *, verdict: str = "", label: str = "") -> int:
    return sum(n for (said, is_), n in table.items() if verdict in {"", said} and label in {"", is_})


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Iterable[bool]) -> float:
    return statistics.fmean(values)


def main(shared: Path, parts: Sequence[str]) -> None:
    """Print the tables."""
    found = [each for each in samples(shared) if each.part in parts]
    print(f"machine: {platform.platform()}; {len(found)} labelled skills")
    for part in parts:
        chosen = [each for each in found if each.part == part]
        result = scores(chosen)
        print(f"\n## {part} ({len(chosen)})\n\n| rules | label yes | label no |\n|---|---|---|")
        for verdict in ("yes", "open", "no"):
            print(f"| {verdict} | {result.table[verdict, 'yes']} | {result.table[verdict, 'no']} |")
        print(f"\nyes: precision {result.precision:.3f}, recall {result.recall:.3f}; no: precision", end=" ")
        print(f"{result.no_precision:.3f}, lost {result.lost:.3f}; open {result.open_share:.3f}")
        print(f"category {result.category:.3f}, family {result.family:.3f}")
        _print_weighted([each for each in chosen if each.stratum != "shared"])
        for each in sorted(chosen, key=lambda each: each.name):
            if {each.judged.verdict, each.actionable} == {"yes", "no"}:
                print(f"- {each.name}: label {each.actionable}, rules {each.judged.verdict} ({each.judged.evidence})")
    times = [each.seconds * 1000 for each in found]
    print(f"\nrules: median {statistics.median(times):.2f} ms, largest {max(times):.2f} ms of CPU time per skill")


def _print_weighted(chosen: Sequence[Sample]) -> None:
    """The corpus as a whole, from the strata's weights."""
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for each in chosen:
        weights[each.judged.verdict, each.actionable] += each.weight
    whole = sum(weights.values())
    shares = {
        verdict: sum(n for (said, _), n in weights.items() if said == verdict) for verdict in ("yes", "open", "no")
    }
    said = ", ".join(f"{verdict} {share / whole:.2f}" for verdict, share in shares.items())
    precision = _share(weights["yes", "yes"], shares["yes"])
    actionable = weights["yes", "yes"] + weights["open", "yes"] + weights["no", "yes"]
    print(
        f"corpus, by weight ({len(chosen)}): {said}; actionable {actionable / whole:.2f}; "
        f"precision of yes {precision:.2f}, recall {_share(weights['yes', 'yes'], actionable):.2f}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or PARTS)
