"""Copies on a made set: all exact ones, nearly all near ones, next to none that are not, whatever the order."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.duplicates import NEAR, Copy, Verdict, features_of, find_duplicates, similarity

VOCABULARY = [f"word{n}" for n in range(900)]


def copy(number: int, body: str) -> Copy:
    return Copy((number,), f"skill-{number}", f"place-{number}", features_of(body))


def verdicts(copies: list[Copy]) -> dict[tuple[object, ...], Verdict]:
    shingles = {each.features.words: each.features.shingles for each in copies}
    found, _ = find_duplicates(copies, {}, lambda one, other: similarity(shingles[one], shingles[other]))
    return found


def edited(body: list[str], edits: int, rng: random.Random) -> list[str]:
    changed = list(body)
    for at in rng.sample(range(len(body)), edits):
        changed[at] = f"other{rng.random()}"
    return changed


def test_layout_case_and_punctuation_make_no_new_body() -> None:
    found = verdicts([copy(1, "# Title\n\nSort the rows, then “stop”."), copy(2, "title  SORT the rows - then stop")])
    assert found[(1,)] == Verdict("skill-1")
    assert found[(2,)].cluster == "skill-1"
    assert found[(2,)].refusal is not None and found[(2,)].refusal.fault is SkillFault.DUPLICATE


def test_known_near_duplicates_are_found_and_others_are_left_alone() -> None:
    rng = random.Random(7)
    bodies = [[rng.choice(VOCABULARY) for _ in range(rng.randint(80, 400))] for _ in range(120)]
    copies, near, apart = [], [], []
    for number, body in enumerate(bodies):
        copies.append(copy(number, " ".join(body)))
        for offset, share in ((1000, 0.015), (2000, 0.08)):
            other = copy(number + offset, " ".join(edited(body, max(1, int(len(body) * share)), rng)))
            value = similarity(copies[-1].features.shingles, other.features.shingles) if offset == 1000 else 0.0
            copies.append(other)
            (near if value >= NEAR else apart).append(other.rank)
    found = verdicts(copies)
    merged = [rank for rank in near if found[rank].refusal]
    wrong = [rank for rank in apart if found[rank].refusal]
    assert len(near) > 100
    assert len(merged) >= 0.99 * len(near)
    assert len(wrong) <= 0.01 * len(apart)


def test_a_similarity_that_is_known_is_not_measured_again() -> None:
    body = " ".join(VOCABULARY[:200])
    copies = [copy(1, body), copy(2, f"{body} and one more")]
    low, high = sorted(each.features.words for each in copies)

    def never(one: str, other: str) -> float:
        raise AssertionError("measured")

    found, measured = find_duplicates(copies, {(low, high): 0.5}, never)
    assert measured == {} and found[(2,)].refusal is None


def test_a_chain_of_small_changes_is_not_one_cluster() -> None:
    rng = random.Random(3)
    chain = [[rng.choice(VOCABULARY) for _ in range(300)]]
    for _ in range(12):
        chain.append(edited(chain[-1], 4, rng))
    copies = [copy(number, " ".join(body)) for number, body in enumerate(chain)]
    found = verdicts(copies)
    survivors = {each.cluster for each in found.values()}
    shingles = {each.skill_id: each.features.shingles for each in copies}
    assert 1 < len(survivors) < len(chain)
    for each in copies:
        verdict = found[each.rank]
        assert verdict.cluster == each.skill_id or similarity(shingles[verdict.cluster], each.features.shingles) >= NEAR


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_in_which_copies_come_changes_nothing(bodies: list[str], rng: random.Random) -> None:
    copies = [copy(number, body) for number, body in enumerate(bodies)]
    shuffled = list(copies)
    rng.shuffle(shuffled)
    found = verdicts(copies)
    assert found == verdicts(shuffled)
    assert set(found) == {each.rank for each in copies}
    kept = {each.skill_id for each in copies if found[each.rank].refusal is None}
    assert {verdict.cluster for verdict in found.values()} == kept
