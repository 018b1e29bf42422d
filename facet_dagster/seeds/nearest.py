"""The nearest hypotheses of other skills, exactly, by FAISS (a flat index over inner products).

Belongs here: similarity alone. What becomes of it stands in retrieval.py.
"""

from collections.abc import Iterator

import faiss
import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 2_048  # of the search: bounds the memory for its answers
DECIMALS = 4  # similarities closer than this count as equal, so that float noise does not change the order
SPARE = 8  # neighbours asked for beyond those needed, so that ties at the end seldom ask for more

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


def nearest(vectors: Floats, skills: Rows, neighbours: int) -> Iterator[tuple[int, list[int]]]:
    """For each row the nearest row of each of the `neighbours` nearest other skills, the nearest first.

    `vectors` (n, dimensions) have length 1, `skills` (n,) holds the number of each row's skill. Of equally near rows
    the one with the lower number counts.
    """
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    sizes = np.bincount(skills)
    # So many of the nearest are sure to hold `neighbours` other skills, however many rows a skill has.
    enough = (neighbours + 1) * int(sizes.max()) + SPARE
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        yield from _of_rows(
            index, vectors, skills, np.arange(start, min(start + ROWS_AT_ONCE, len(vectors))), neighbours, enough
        )


def _of_rows(
    index: faiss.IndexFlatIP, vectors: Floats, skills: Rows, rows: Rows, neighbours: int, asked: int
) -> Iterator[tuple[int, list[int]]]:
    """In the order of the rows. Those with a tie at the end of what was found are searched again, more widely."""
    asked = min(asked, len(vectors))
    similarities, found = index.search(vectors[rows], asked)
    similarities = np.round(similarities, DECIMALS)
    order = np.lexsort((found, -similarities), axis=1)
    similarities, found = np.take_along_axis(similarities, order, 1), np.take_along_axis(found, order, 1)
    answers: dict[int, list[int]] = {}
    for row, alike, ids in zip(rows.tolist(), similarities, found, strict=True):
        chosen, last = _first_of_each(skills[ids].tolist(), ids.tolist(), int(skills[row]), neighbours)
        # Beyond the end there may be rows as near as the last one found, with lower numbers.
        if asked == len(vectors) or (len(chosen) == neighbours and alike[last] > alike[-1]):
            answers[row] = chosen
    open_rows = np.array([row for row in rows.tolist() if row not in answers], dtype=np.int64)
    if len(open_rows):
        answers.update(_of_rows(index, vectors, skills, open_rows, neighbours, asked * 8))
    for row in rows.tolist():
        yield row, answers[row]


def _first_of_each(skills: list[int], ids: list[int], own: int, neighbours: int) -> tuple[list[int], int]:
    """The first id of each of the first `neighbours` skills other than `own`, and the place of the last of them."""
    chosen: dict[int, int] = {}
    last = -1
    for place, (skill, row) in enumerate(zip(skills, ids, strict=True)):
        if skill != own and skill not in chosen:
            chosen[skill], last = row, place
            if len(chosen) == neighbours:
                break
    return list(chosen.values()), last
