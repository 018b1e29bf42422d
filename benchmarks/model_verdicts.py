"""How right a model is on the skills that the rules leave open: python benchmarks/model_verdicts.py STORE

Over the hand-labelled skills of tests/fixtures/skill_labels.csv on which the store holds a model's decision: verdicts
against labels, and how often the category is the labelled one, for each part. Such a store comes from reading the
texts with FACET_DECIDE_OPEN=model (the asset `skills`) and an endpoint.
"""

import sys
from collections import Counter, defaultdict

from actionability import PARTS, labels

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.skill import SkillClass


def main(store: str) -> None:
    """Print one line per part that has decisions."""
    known = labels()
    parts: dict[str, list[tuple[SkillClass, dict[str, str]]]] = defaultdict(list)
    for decided in ParquetStore(store).rows(SkillClass, "model"):
        if label := known.get(decided.content_hash):
            parts[label["part"]].append((decided, label))
    for part in PARTS:
        verdicts = Counter((bool(decided.actionable), label["actionable"]) for decided, label in parts[part])
        said, meant = verdicts[True, "yes"] + verdicts[True, "no"], verdicts[True, "yes"] + verdicts[False, "yes"]
        right = verdicts[True, "yes"] + verdicts[False, "no"]
        placed = sum(decided.category == label["category"] for decided, label in parts[part])
        if parts[part]:
            print(
                f"{part}: {len(parts[part])} decided, {right} as labelled; "
                f"yes {said}, of which {verdicts[True, 'yes']} are; "
                f"of {meant} that are, {verdicts[True, 'yes']} found; category {placed} of {len(parts[part])}"
            )


if __name__ == "__main__":
    main(sys.argv[1])
