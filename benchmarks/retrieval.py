"""Retrieval at the size of a public corpus, and embedding: python benchmarks/retrieval.py [HYPOTHESES] [TEXTS]

Made hypotheses, two per skill, whose vectors (384 numbers) lie around topics of very different sizes, as those of
real skills do; a hundredth of them are exact copies. On a smaller set the same is done by hand (all similarities,
sorted) in turns with ours: the same neighbours are found, and both are timed. Then the local embedder, over texts as
long as hypotheses are. Seconds of the processors stand beside those of the clock: they tell what a busy machine hides.
"""

import asyncio
import os
import platform
import random
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from facet_dagster.adapters.minilm_embedder import MiniLMEmbedder
from facet_dagster.records.seed import Hypothesis
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds.nearest import DECIMALS, nearest
from facet_dagster.seeds.retrieval import retrieve

DIMENSIONS, PER_SKILL, TOPICS, CATEGORIES = 384, 2, 500, 34
SMALL = 6_000  # hypotheses that are also searched by hand
WORDS = ("server", "log", "error", "rotate", "backup", "archive", "table", "report", "commit", "service", "json")
Floats = NDArray[np.float32]
Result = TypeVar("Result")


def main(size: int, texts: int) -> None:
    """Print one figure a line."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs")
    vectors = made_vectors(size)
    hypotheses = [made_hypothesis(row) for row in range(size)]
    categories = {h.skill_id: f"category {int(h.skill_id[-2:]) % CATEGORIES}" for h in hypotheses}
    before = peak_mb()
    for terms in (SeedingTerms(), SeedingTerms(max_skills=3)):
        proposals, spent = timed(partial(retrieve, hypotheses, vectors, terms, categories))
        print(
            f"retrieval over {size:,} hypotheses, up to {terms.max_skills} skills: {len(proposals):,} candidates, "
            f"{spent}; peak memory {peak_mb():,} MB ({before:,} MB before)"
        )
    beside_by_hand(min(size, SMALL))
    embedding(texts)


def beside_by_hand(size: int) -> None:
    """The search beside one by hand, on the same vectors."""
    vectors, skills = made_vectors(size), np.arange(size) // PER_SKILL
    ours, spent = timed(lambda: dict(nearest(vectors, skills, 3)))
    theirs, by_hand = timed(lambda: nearest_by_hand(vectors, skills, 3))
    same = sum(ours[row] == theirs[row] for row in ours)
    print(f"search over {size:,}: {spent}; by hand {by_hand}; {same:,} of {size:,} rows with the same neighbours")


def embedding(count: int) -> None:
    """Texts per second of the local embedder."""
    chance = random.Random(4)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(60, 190))) for _ in range(count)]
    embedder = MiniLMEmbedder()
    asyncio.run(embedder.embed(texts[:2]))  # loads the weights
    began, used = time.monotonic(), time.process_time()
    asyncio.run(embedder.embed(texts))
    seconds, busy = time.monotonic() - began, time.process_time() - used
    print(
        f"local embedder: {count:,} texts of 60-190 words, {count / seconds:.1f} a second of the clock, "
        f"{count / busy:.1f} a second of one processor"
    )


def made_vectors(count: int) -> Floats:
    """Unit vectors around topics; every hundredth is a copy of the one before the last."""
    chance = np.random.default_rng(4)
    topics = chance.standard_normal((TOPICS, DIMENSIONS), dtype=np.float32)
    chosen = np.minimum(chance.zipf(1.3, count) - 1, TOPICS - 1)
    vectors = topics[chosen] + chance.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors[100::100] = vectors[98:-2:100][: len(vectors[100::100])]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def made_hypothesis(row: int) -> Hypothesis:
    """The hypothesis of a row; ids sort as rows do."""
    skill = f"skill-{row // PER_SKILL:08d}"
    text = f"situation {row} with some two hundred characters of context " * 3
    return Hypothesis(
        hypothesis_id=f"{skill}-{row % PER_SKILL + 1}",
        skill_id=skill,
        context=text,
        goal=text,
        initial_state=text,
        final_state=text,
    )


def nearest_by_hand(vectors: Floats, skills: NDArray[np.int64], neighbours: int) -> dict[int, list[int]]:
    """As nearest(), from all similarities at once."""
    alike = np.round(vectors @ vectors.T, DECIMALS)
    found = {}
    for row, similarities in enumerate(alike):
        first: dict[int, int] = {}
        for other in np.argsort(-similarities, kind="stable").tolist():
            if skills[other] != skills[row]:
                first.setdefault(int(skills[other]), other)
                if len(first) == neighbours:
                    break
        found[row] = list(first.values())
    return found


def timed(work: Callable[[], Result]) -> tuple[Result, str]:
    """What came of it, and how long it took by the clock and by the processors."""
    began, used = time.monotonic(), time.process_time()
    result = work()
    return result, f"{time.monotonic() - began:.1f} s ({time.process_time() - used:.1f} s of the processors)"


def peak_mb() -> int:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*(arguments + [78_000, 256][len(arguments) :]))
