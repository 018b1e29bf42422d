"""Retrieval: neighbours among other skills, one proposal per skill set, order and spread."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from facet_dagster.records.seed import Hypothesis
from facet_dagster.seeds import retrieval
from facet_dagster.seeds.retrieval import retrieve


class AnglesEmbedder:
    """Reads the vector off the text: its first word is an angle in degrees."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


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
    proposals = retrieve(hypotheses, AnglesEmbedder())
    assert [set(p.skill_ids) for p in proposals] == [{"a", "b"}, {"b", "c"}, {"a", "c"}]
    assert proposals[0].similarity == pytest.approx(np.cos(np.radians(9)), abs=1e-4)


def test_a_skill_set_is_proposed_once_with_its_best_pair() -> None:
    proposals = retrieve([at("a", 1, 0), at("a", 2, 30), at("b", 1, 31), at("b", 2, 90)], AnglesEmbedder())
    assert [p.hypothesis_ids for p in proposals] == [("a-2", "b-1")]


def test_many_hypotheses_of_one_skill_do_not_hide_the_next_skill() -> None:
    hypotheses = [at("a", 1, 0), *(at("b", n, 1) for n in range(1, 9)), at("c", 1, 50), at("d", 1, 80)]
    sets = {frozenset(p.skill_ids) for p in retrieve(hypotheses, AnglesEmbedder(), neighbours=2)}
    assert {frozenset("ab"), frozenset("ac")} <= sets
    assert frozenset("ad") not in sets


def test_result_depends_neither_on_input_order_nor_on_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses = [at(skill, 1, angle) for skill, angle in zip("abcdef", (0, 0, 7, 7, 20, 90), strict=True)]
    expected = [p.candidate_id for p in retrieve(hypotheses, AnglesEmbedder())]
    monkeypatch.setattr(retrieval, "ROWS_AT_ONCE", 2)
    assert [p.candidate_id for p in retrieve(hypotheses[::-1], AnglesEmbedder())] == expected
    assert len(set(expected)) == len(expected)
    assert all(len(c) == 12 and int(c, 16) >= 0 for c in expected)


def test_no_skill_takes_more_than_its_share_before_the_others_had_their_turn() -> None:
    hub = [at("hub", 1, 0), *(at(f"s{n}", 1, n) for n in range(1, 7)), at("x", 1, 120), at("y", 1, 150)]
    proposals = retrieve(hub, AnglesEmbedder(), neighbours=8, max_per_skill=2)
    place = {frozenset(p.skill_ids): n for n, p in enumerate(proposals)}
    used: Counter[str] = Counter()
    for proposal in proposals[: place[frozenset({"x", "y"})]]:
        used.update(proposal.skill_ids)
    assert max(used.values()) <= 2
    assert len(proposals) == 9 * 8 // 2  # what waits is not lost


def test_three_skills_are_as_alike_as_the_weakest_of_them() -> None:
    proposals = retrieve([at("a", 1, 0), at("b", 1, 10), at("c", 1, 30)], AnglesEmbedder(), max_skills=3)
    triple = next(p for p in proposals if len(p.skill_ids) == 3)
    assert triple.anchor.skill_id == "b"
    assert triple.similarity == pytest.approx(np.cos(np.radians(20)), abs=1e-4)


@pytest.mark.parametrize("hypotheses", [[], [at("a", 1, 0), at("a", 2, 5)]])
def test_fewer_than_two_skills_give_nothing(hypotheses: list[Hypothesis]) -> None:
    assert retrieve(hypotheses, AnglesEmbedder()) == []
