"""Whether a terminal can act on a skill, by rule: yes, no, or left open for a model.

The terminal is one in a sealed container: no network, no accounts, no screen, no GPU, nobody to ask. A skill is
actionable where a task can be set there that it helps with and whose result a program can check in the files.
What the rules see of a skill stands in work.py (for) and reach.py (against). Does not belong here: asking a model.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from facet_dagster.records.skill import Family
from facet_dagster.skills.markdown import Body
from facet_dagster.skills.reach import Need, needs_of
from facet_dagster.skills.taxonomy import place_of
from facet_dagster.skills.work import Work, work_of

FLOODED = 4
"""So many times the signs that a class asks for are doubt enough, even where the head of the skill does not name it."""
DOUBT = 2
"""Signs of an account from which a skill that names no service is no longer taken for local work."""

Verdict = Literal["yes", "no", "open"]

_SELDOM = frozenset(
    {
        "agent-workflows",
        "agent-extensions",
        "prompts-and-memory",
        "llm-applications",
        "apps-and-games",
        "finance-and-markets",
        "web-collection",
        "planning-and-product",
        "notes-mail-calendar",
        "business-and-law",
        "images-and-graphics",
        "interface-design",
        "marketing-and-social",
    }
)
"""Subjects for people, models, services or screens: of those labelled by hand, one in nine was actionable."""
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
    family, category = (place.family, place.category) if place else (None, None)
    if device := _DEVICE.search(description.lower()):
        return Actionability("no", family, category, f"needs a device: “{device.group()}”")
    work = work_of(body, siblings)
    if work.nothing:
        evidence = "prose only: no code, no command, no file to work on, no script"
        return Actionability("no", family, category, evidence)
    seldom = category in _SELDOM
    needs = needs_of(name, description, body.text)
    verdict, evidence = _out_of_reach(needs, work, seldom=seldom) or _enough(work, seldom=seldom)
    return Actionability(verdict, family, category, f"{evidence}; about {category}" if seldom else evidence)


def _out_of_reach(needs: Iterable[Need], work: Work, *, seldom: bool) -> tuple[Verdict, str] | None:
    """The first sign against the skill, the clearest ones first; None where there is none."""
    much = work.much and not seldom
    for need in needs:
        if need.lives_on_it and (need.named or need.described):
            return "open" if need.kind.soft and work.much else "no", need.shown()
    for need in needs:
        if need.kind.account and need.lives_on_it:
            return "open" if much else "no", need.shown()
        doubtful = (
            need.times >= DOUBT if need.kind.account else need.times >= FLOODED * need.kind.least and not work.much
        )
        if need.named or doubtful:
            return "no" if seldom and not work.much else "open", need.shown()
    if work.logs_in:
        return "open" if much else "no", "its commands log in somewhere or set a key"
    return None


def _enough(work: Work, *, seldom: bool) -> tuple[Verdict, str]:
    """Whether there is enough to do with local means."""
    if work.some and not seldom and (work.much or not work.reaches_out):
        return "yes", work.shown()
    if work.some or (work.little and not seldom):
        return "open", f"not enough to tell: {work.shown()}"
    return "no", f"no command and no program that works on files: {work.shown()}"
