"""Where a skill stands in a taxonomy of 5 families and 34 categories, by cue words; no model is asked.

The families are those of the FACET paper; it does not name its categories, so these are our own (taxonomy.toml). A cue
tells most in the name, less in the description, least at the beginning of the body. Does not belong here: whether a
terminal can act on the skill.
"""

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from facet_dagster.records.skill import Family
from facet_dagster.skills.terms import Terms, words_of

BODY_START = 2_000
"""Characters of the body that are looked at: what a skill is about, it says at its beginning."""
_WEIGHTS = (8, 3, 1)  # a cue in the name, in the description, at the beginning of the body


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the taxonomy."""

    family: Family
    category: str


def place_of(name: str, description: str, body: str) -> Place | None:
    """The category with most cues, None where there is no cue. Pure."""
    scores: Counter[str] = Counter()
    for weight, text in zip(_WEIGHTS, (name, description, body[:BODY_START]), strict=True):
        for cue in _CUES.count(text):
            # Two words tell more than one: a "memory dump" is no memory of an agent.
            gain = 2 * weight if " " in cue else weight
            for category in _CATEGORIES_OF[cue]:
                scores[category] += gain
    if not scores:
        return None
    category = max(scores, key=lambda each: (scores[each], each))
    return Place(CATEGORIES[category], category)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CATEGORIES = {category: Family(family) for family, categories in _TABLE.items() for category in categories}
"""Each fine category and the family that it belongs to."""
_CATEGORIES_OF: dict[str, list[str]] = {}
for _categories in _TABLE.values():
    for _category, _cues in _categories.items():
        for _cue in _cues.split(","):
            _CATEGORIES_OF.setdefault(" ".join(words_of(_cue)), []).append(_category)
_CUES = Terms(_CATEGORIES_OF)
