"""Copies are found at every threshold, against comparing every text with every other; far ones cost little."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facet_dagster.datasets.near import MISSED, MOST_SLOTS, SHINGLE, NearIndex, bands_of

THRESHOLDS = [0.05, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0]


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}


def similarity(one: str, other: str) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_index_misses_few_at_its_threshold_and_takes_few_below_it(threshold):
    bands, rows = bands_of(threshold)
    assert bands * rows <= MOST_SLOTS
    assert (1 - threshold**rows) ** bands <= MISSED
    candidate = 1 - (1 - (threshold / 5) ** rows) ** bands
    assert candidate < 0.2 or threshold < 0.3, "or every pair of a set would be compared"


def variants(seed: int, texts: int) -> list[str]:
    """Texts in families: each one is a text of its family with some of its words changed, few or many."""
    drawn, made = random.Random(seed), []
    for _ in range(texts):
        if made and drawn.random() < 0.7:
            words = drawn.choice(made).split()
            changed = round(len(words) * drawn.choice([0, 0.01, 0.02, 0.05, 0.1, 0.2]))
            for at in drawn.sample(range(len(words)), changed):
                words[at] = f"new{drawn.randrange(10**6)}"
        else:
            words = [f"w{drawn.randrange(2_000)}" for _ in range(drawn.choice([3, 60, 400]))]
        made.append(" ".join(words))
    return made


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(THRESHOLDS))
def test_finds_what_comparing_all_pairs_finds(seed, threshold):
    """Always the same made sets, with pairs around every threshold: a miss is a chance that is allowed, see MISSED."""
    texts = variants(seed, 40)
    index, pairs = NearIndex(threshold), set()
    for number, text in enumerate(texts):
        sketch = index.sketch(text)
        pairs |= {(int(name), number) for _, name in index.near(sketch)}
        index.keep(str(number), sketch)
    wanted = {
        (one, other)
        for other in range(len(texts))
        for one in range(other)
        if similarity(texts[one], texts[other]) >= threshold
    }
    assert pairs == wanted


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_recall_at_the_threshold_itself(threshold):
    """Pairs that are hardly as similar as is asked for: three hundred of them, none missed."""
    index, length = NearIndex(threshold), 400
    for number in range(300):
        words = [f"{number}-{at}" for at in range(length)]
        shared = math.ceil(threshold * (length - 1)) + SHINGLE - 1
        text, other = " ".join(words), " ".join([*words[:shared], "x", "y", "z"])
        assert threshold <= similarity(text, other) < threshold + 1 / length
        index.keep(str(number), index.sketch(text))
        assert [name for _, name in index.near(index.sketch(other))] == [str(number)]


@given(st.text(max_size=60), st.text(max_size=60))
@settings(deadline=None)
def test_any_text_can_be_compared(one, other):
    index = NearIndex(0.5)
    index.keep("one", index.sketch(one))
    assert [found for found, _ in index.near(index.sketch(one))] == [1.0]
    assert all(0.5 <= found <= 1.0 for found, _ in index.near(index.sketch(other)))
