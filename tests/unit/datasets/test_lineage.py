"""Lineages are what shared skills link; splits go between groups, near the share, and depend on nothing else."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.datasets.lineage import lineages, split_seeds

seeds = st.dictionaries(st.sampled_from("abcdefgh"), st.sets(st.sampled_from("uvwxyz"), max_size=3), max_size=8)


def linked(skills):
    """Brute force: the transitive closure of sharing a skill."""
    reach = {(one, other) for one, other in product(skills, skills) if one == other or skills[one] & skills[other]}
    for middle, one, other in product(skills, skills, skills):
        if (one, middle) in reach and (middle, other) in reach:
            reach.add((one, other))
    return reach


@given(seeds)
def test_a_lineage_is_a_chain_of_shared_skills_called_after_its_first_seed(skills):
    found, reach = lineages(skills), linked(skills)
    for one, other in product(skills, skills):
        assert (found[one] == found[other]) == ((one, other) in reach)
    assert all(found[seed] == min(other for other in skills if found[other] == found[seed]) for seed in skills)


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9)),
    st.floats(0, 0.9),
    st.sampled_from(["seed", "lineage"]),
    st.integers(0, 3),
)
def test_a_split_keeps_groups_whole_and_near_the_share(rows, share, by, split_seed):
    lineage = {seed: "abcd"["abcdefgh".index(seed) // 2] for seed in rows}
    sides = split_seeds(rows, lineage, share=share, by=by, split_seed=split_seed)
    again = split_seeds(dict(reversed(rows.items())), lineage, share=share, by=by, split_seed=split_seed)
    assert sides == again and sides.keys() == rows.keys()
    group = lineage if by == "lineage" else {seed: seed for seed in rows}
    assert all(sides[one] == sides[other] for one, other in product(rows, rows) if group[one] == group[other])
    taken = sum(rows[seed] for seed in rows if sides[seed] == "validation")
    smallest = min((sum(rows[s] for s in rows if group[s] == g) for g in set(group.values())), default=0)
    assert taken <= max(share * sum(rows.values()) + 1e-9, smallest)
    assert bool(taken) == (share > 0 and len({group[seed] for seed in rows}) > 1)


@pytest.mark.parametrize("split_seed", range(3))
def test_another_draw_is_another_split(split_seed):
    rows = dict.fromkeys("abcdefghij", 1)
    sides = [split_seeds(rows, {}, share=0.3, by="seed", split_seed=n) for n in (split_seed, split_seed + 1)]
    assert sides[0] != sides[1]
    assert [sum(side == "validation" for side in each.values()) for each in sides] == [3, 3]
