"""Retrieval: neighbours among other skills, one proposal per skill set, order and spread."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.records.seed import Hypothesis
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds import nearest
from facet_dagster.seeds.retrieval import Proposal, retrieve


def proposals_of(
    hypotheses: Sequence[Hypothesis], categories: Mapping[str, str] | None = None, **terms: int
) -> list[Proposal]:
    """What is retrieved where the vector of a hypothesis is an angle, given as its context in degrees."""
    angles = np.radians([float(hypothesis.context) for hypothesis in hypotheses])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32).reshape(-1, 2)
    return retrieve(hypotheses, vectors, SeedingTerms.model_validate(terms), categories)


def at(skill: str, ordinal: int, angle: float) -> Hypothesis:
    return Hypothesis(
        hypothesis_id=f"{skill}-{ordinal}",
        skill_id=skill,
        context=str(angle),
        goal="g",
        initial_state="i",
        final_state="f",
    )


def test_neighbours_come_from_other_skills_and_the_most_alike_come_first() -> None:
    hypotheses = [at("a", 1, 0), at("a", 2, 1), at("b", 1, 10), at("c", 1, 60)]
    proposals = proposals_of(hypotheses)
    assert [set(p.skill_ids) for p in proposals] == [{"a", "b"}, {"b", "c"}, {"a", "c"}]
    assert proposals[0].similarity == pytest.approx(np.cos(np.radians(9)), abs=1e-4)


def test_a_skill_set_is_proposed_once_with_its_best_pair() -> None:
    proposals = proposals_of([at("a", 1, 0), at("a", 2, 30), at("b", 1, 31), at("b", 2, 90)])
    assert [p.hypothesis_ids for p in proposals] == [("a-2", "b-1")]


def test_many_hypotheses_of_one_skill_do_not_hide_the_next_skill() -> None:
    hypotheses = [at("a", 1, 0), *(at("b", n, 1) for n in range(1, 9)), at("c", 1, 50), at("d", 1, 80)]
    sets = {frozenset(p.skill_ids) for p in proposals_of(hypotheses, neighbours=2)}
    assert {frozenset("ab"), frozenset("ac")} <= sets
    assert frozenset("ad") not in sets


def test_result_depends_neither_on_input_order_nor_on_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = [at(skill, 1, angle) for skill, angle in zip("abcdef", (0, 0, 7, 7, 20, 90), strict=True)]
    expected = [p.candidate_id for p in proposals_of(hypotheses)]
    monkeypatch.setattr(nearest, "ROWS_AT_ONCE", 2)
    assert [p.candidate_id for p in proposals_of(hypotheses[::-1])] == expected
    assert len(set(expected)) == len(expected)
    assert all(len(c) == 12 and int(c, 16) >= 0 for c in expected)


def test_no_skill_takes_more_than_its_share_before_the_others_had_their_turn() -> None:
    hub = [at("hub", 1, 0), *(at(f"s{n}", 1, n) for n in range(1, 7)), at("x", 1, 120), at("y", 1, 150)]
    proposals = proposals_of(hub, neighbours=8, skill_share=2)
    place = {frozenset(p.skill_ids): n for n, p in enumerate(proposals)}
    used: Counter[str] = Counter()
    for proposal in proposals[: place[frozenset({"x", "y"})]]:
        used.update(proposal.skill_ids)
    assert max(used.values()) <= 2
    assert len(proposals) == 9 * 8 // 2  # what waits is not lost


def test_three_skills_are_as_alike_as_the_one_in_the_middle_is_with_the_farther() -> None:
    proposals = proposals_of([at("a", 1, 0), at("b", 1, 10), at("c", 1, 30)], max_skills=3)
    triple = next(p for p in proposals if len(p.skill_ids) == 3)
    assert triple.skill_ids == ("a", "b", "c")
    assert triple.similarity == pytest.approx(np.cos(np.radians(20)), abs=1e-4)


@pytest.mark.parametrize("hypotheses", [[], [at("a", 1, 0), at("a", 2, 5)]])
def test_fewer_than_two_skills_give_nothing(hypotheses: list[Hypothesis]) -> None:
    assert proposals_of(hypotheses) == []


def test_no_category_takes_more_than_its_share_before_the_others_had_their_turn() -> None:
    near = [at(f"git{n}", 1, n) for n in range(6)]
    far = [at("sql0", 1, 100), at("sql1", 1, 130)]
    categories = {h.skill_id: h.skill_id[:3] for h in (*near, *far)}
    ordered = [p.skill_ids for p in proposals_of([*near, *far], categories, category_share=2, neighbours=1)]
    assert {skill[:3] for skills in ordered[:2] for skill in skills} == {"git"}
    assert ordered[2] == ("sql0", "sql1")
    assert ordered != [p.skill_ids for p in proposals_of([*near, *far], neighbours=1)]
    assert sorted(ordered) == sorted(p.skill_ids for p in proposals_of([*near, *far], neighbours=1))


def test_one_bucket_for_all_that_has_no_category_changes_nothing() -> None:
    hypotheses = [at(f"s{n}", 1, n * n) for n in range(9)]
    assert proposals_of(hypotheses, category_share=1) == proposals_of(hypotheses, category_share=1_000)


SPREAD = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), max_size=24)


def _hypotheses(spread: Sequence[tuple[int, int]]) -> list[Hypothesis]:
    ordinals: Counter[int] = Counter()
    made = []
    for skill, angle in spread:
        ordinals[skill] += 1
        made.append(at(f"s{skill}", ordinals[skill], angle * 4))
    return made


@given(SPREAD, SPREAD, st.sampled_from([2, 3]))
def test_what_is_added_changes_no_candidate_that_stays(
    old: list[tuple[int, int]], new: list[tuple[int, int]], max_skills: int
) -> None:
    hypotheses = _hypotheses(old)
    added = [
        h.model_copy(update={"hypothesis_id": f"new-{h.hypothesis_id}", "skill_id": f"new-{h.skill_id}"})
        for h in _hypotheses(new)
    ]
    before = {p.skill_ids: p for p in proposals_of(hypotheses, max_skills=max_skills)}
    after = {p.skill_ids: p for p in proposals_of([*added, *hypotheses], max_skills=max_skills)}
    for skills in before.keys() & after.keys():
        assert after[skills].candidate_id == before[skills].candidate_id
        assert after[skills].similarity == before[skills].similarity


@given(SPREAD, st.integers(1, 4))
def test_neighbours_are_those_of_a_search_by_hand(spread: list[tuple[int, int]], neighbours: int) -> None:
    hypotheses = sorted(_hypotheses(spread), key=lambda h: h.hypothesis_id)
    if len({h.skill_id for h in hypotheses}) < 2:
        return
    angles = np.radians([float(h.context) for h in hypotheses])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    skills = np.unique([h.skill_id for h in hypotheses], return_inverse=True)[1]
    alike = np.round(vectors @ vectors.T, nearest.DECIMALS)
    for row, found in nearest.nearest(vectors, skills, neighbours):
        by_hand: dict[int, int] = {}
        for other in sorted(range(len(hypotheses)), key=lambda o: (-alike[row][o], o)):
            if skills[other] != skills[row]:
                by_hand.setdefault(int(skills[other]), other)
        assert found == list(by_hand.values())[:neighbours]


def test_many_equal_hypotheses_are_found_in_the_order_of_their_numbers() -> None:
    vectors = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (300, 1))
    found = dict(nearest.nearest(vectors, np.arange(300), 2))
    assert found[0] == [1, 2] and found[1] == [0, 2] and found[299] == [0, 1]
