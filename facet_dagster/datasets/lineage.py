"""Which seeds belong together because they share skills, and on which side of a split each of them stands.

A split never goes through a seed: rows of one task on both sides would measure memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from facet_dagster.records.base import digest_of
from facet_dagster.records.sft import Split


def lineages(skills: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The lineage of each seed, from the skills of each: seeds that a chain of shared skills links have the same.

    A lineage is called after the first of its seeds in the order of their ids.
    """
    above = {seed: seed for seed in skills}

    def root(seed: str) -> str:
        while above[seed] != seed:
            above[seed] = above[above[seed]]
            seed = above[seed]
        return seed

    first: dict[str, str] = {}
    for seed in sorted(skills):
        for skill in skills[seed]:
            one, other = sorted((root(seed), root(first.setdefault(skill, seed))))
            above[other] = one
    return {seed: root(seed) for seed in skills}


def split_seeds(
    rows: Mapping[str, int],
    lineage: Mapping[str, str],
    *,
    share: float,
    by: Literal["seed", "lineage"],
    split_seed: int,
) -> dict[str, Split]:
    """Train or validation for each seed, from the number of rows of each. Depends on names and numbers alone.

    Groups (seeds, or whole lineages) are taken for validation in an order drawn by `split_seed`, as long as they
    fit into `share` of the rows. Where none fits, the smallest is taken; a single group is never split.
    """
    groups = {seed: seed if by == "seed" else lineage[seed] for seed in rows}
    sizes = Counter[str]()
    for seed, number in rows.items():
        sizes[groups[seed]] += number
    if share == 0 or len(sizes) < 2:
        return dict.fromkeys(rows, "train")
    drawn = sorted(sizes, key=lambda group: digest_of(f"{split_seed}\0{group}"))
    room, taken = share * sum(sizes.values()), set[str]()
    for group in drawn:
        if sizes[group] <= room:
            taken.add(group)
            room -= sizes[group]
    if not taken:
        taken = {min(drawn, key=lambda group: sizes[group])}
    return {seed: "validation" if groups[seed] in taken else "train" for seed in rows}
