"""Draw skills to label by hand, blind: python benchmarks/label_sample.py SHARED SEED COUNT > digests.txt 2> known.csv

English, valid, not yet labelled skills of SHARED/corpus/skills-20k.parquet, equally many of each verdict of the rules
and of the largest source and the others, in random order. A digest shows what a labeller needs, not what the rules say.
On standard error, in the same order, stand the columns of tests/fixtures/skill_labels.csv that are known by then
(hash, source, path, stratum, weight): they give the verdicts away, so look at them after the labels are written down.
"""

import random
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from actionability import labels

from facet_dagster.records.base import digest_of
from facet_dagster.skills.access import screen_access
from facet_dagster.skills.actionable import judge_by_rules
from facet_dagster.skills.decode import decode
from facet_dagster.skills.front_matter import Front, read_front_matter
from facet_dagster.skills.language import language_of
from facet_dagster.skills.markdown import Body, view
from facet_dagster.skills.refusal import Refusal, excerpt
from facet_dagster.skills.screen import screen_safety, screen_size
from facet_dagster.skills.secrets import mask_secrets

POOL = 3_000
"""Rows of the corpus that are looked at; the weights refer to them."""


@dataclass(frozen=True)
class Drawn:
    """One skill of the pool, with the stratum that it stands in."""

    content_hash: str
    source: str
    path: str
    front: Front
    body: Body
    siblings: tuple[str, ...]
    verdict: str


def main(shared: Path, seed: int, count: int) -> None:
    """Print the digests and, on standard error, the known columns."""
    chance = random.Random(seed)
    rows = pq.read_table(shared / "corpus" / "skills-20k.parquet").to_pylist()
    largest = Counter(row["repo"] for row in rows).most_common(1)[0][0]
    known, strata = set(labels()), defaultdict[tuple[str, bool], list[Drawn]](list)
    for row in chance.sample(rows, POOL):
        if (drawn := _read(row)) and drawn.content_hash not in known:
            known.add(drawn.content_hash)
            strata[drawn.verdict, drawn.source == largest].append(drawn)
    chosen = []
    for (verdict, is_largest), members in sorted(strata.items()):
        part = members[: max(1, count // len(strata))]
        name = f"{verdict}-{'largest' if is_largest else 'other'}"
        chosen += [(drawn, name, len(members) / len(part)) for drawn in part]
    chance.shuffle(chosen)
    for number, (drawn, _, _) in enumerate(chosen):
        print(f"#{number} {_digest(drawn)}")
    for drawn, stratum, weight in chosen:
        print(f"{drawn.content_hash},{drawn.source},{drawn.path},,{stratum},{weight:.3f},,", file=sys.stderr)


def _read(row: dict[str, object]) -> Drawn | None:
    data = str(row["text"] or "").encode()
    decoded = decode(data)
    if row["symlink_target"] or not data or isinstance(decoded, Refusal):
        return None
    text = mask_secrets(decoded.text)[0]
    front = read_front_matter(text)
    if isinstance(front, Refusal) or screen_safety(text):
        return None
    body, siblings = view(front.body.strip()), tuple(row["sibling_files"] or ())  # type: ignore[arg-type]  # the sample has texts
    if screen_size(body) or {language_of(body.prose), language_of(front.values.description)} != {"en"}:
        return None
    judged = judge_by_rules(front.values.name, front.values.description, body, siblings).verdict
    verdict = "no" if screen_access(body.text) else judged
    return Drawn(digest_of(data), str(row["repo"]), str(row["path"]), front, body, siblings, verdict)


def _digest(drawn: Drawn) -> str:
    words = " ".join(drawn.body.outside.split())
    heads = [line.lstrip("# ") for line in drawn.body.outside.split("\n") if line.startswith("#")]
    code = [f"[{block.language}] {excerpt(block.text, 300)}" for block in drawn.body.blocks[:6]]
    return "\n  ".join(
        [
            f"{drawn.front.values.name} :: {excerpt(drawn.front.values.description, 330)}",
            f"begins: {words[:550]}",
            f"middle: {words[len(words) // 2 :][:250]}",
            f"headings: {excerpt(' | '.join(heads), 330)}",
            f"{len(drawn.body.blocks)} blocks: {excerpt(' || '.join(code), 900)}",
            f"{len(drawn.body.text)} characters; beside it: {', '.join(drawn.siblings[:5]) or 'nothing'}",
        ]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
