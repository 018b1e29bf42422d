"""Whether a terminal can act on a skill, by rule: yes, no, or left open for a model.

The terminal is one in a sealed container: no network, no accounts, no screen, no GPU, nobody to ask. A skill is
actionable where a task can be set there that it helps with and whose result a program can check in the files.
What the rules see of a skill stands in work.py (for) and reach.py (against). Does not belong here: asking a model.
"""

import re
from dataclasses import dataclass
from typing import Literal

from facet_dagster.records.skill import Family
from facet_dagster.skills.markdown import Body
from facet_dagster.skills.reach import needs_of
from facet_dagster.skills.taxonomy import place_of
from facet_dagster.skills.work import work_of

FLOODED = 4
"""So many times the signs that a class asks for are doubt enough, even where the head of the skill does not name it."""

Verdict = Literal["yes", "no", "open"]

_DEVICE = re.compile(
    r"\b(?:on|to|from|via) (?:an? |your |the )?(?:iphone|ipad|ios simulator|android (?:phone|emulator))\b"
)


@dataclass(frozen=True, slots=True)
class Actionability:
    """What the rules say of one skill. `evidence` names the sign that decided."""

    verdict: Verdict
    family: Family | None
    category: str | None
    evidence: str


def judge_by_rules(name: str, description: str, body: Body, siblings: tuple[str, ...]) -> Actionability:
    """The rules' verdict and the place in the taxonomy. Pure; about 1 ms."""
    place = place_of(name, description, body.text)
    verdict, evidence = _verdict(name, description, body, siblings)
    family, category = (place.family, place.category) if place else (None, None)
    return Actionability(verdict, family, category, evidence)


def _verdict(name: str, description: str, body: Body, siblings: tuple[str, ...]) -> tuple[Verdict, str]:
    """The first rule that applies."""
    if device := _DEVICE.search(description.lower()):
        return "no", f"needs a device: “{device.group()}”"
    work = work_of(body, siblings)
    if work.nothing:
        return "no", "prose only: no code, no command, no file to work on, no script"
    needs = needs_of(name, description, body.text)
    for need in needs:
        if need.lives_on_it and (need.named or need.described):
            return ("open" if need.kind.soft and work.much else "no"), need.shown()
    for need in needs:
        if need.named or (need.times >= FLOODED * need.kind.least and not work.much):
            return "open", need.shown()
    if work.some:
        return "yes", work.shown()
    if work.little:
        return "open", f"little to work with: {work.shown()}"
    return "no", "names files, but no command and no program that works on them"
