"""Whether a terminal can act on a skill, by rule: yes, no, or left open for a model."""

from dataclasses import dataclass
from typing import Literal

from facet_dagster.records.skill import Family
from facet_dagster.skills.markdown import Body
from facet_dagster.skills.screen import screen_actionable


@dataclass(frozen=True, slots=True)
class Actionability:
    """What the rules say of one skill. `evidence` names the sign that decided."""

    verdict: Literal["yes", "no", "open"]
    family: Family | None
    category: str | None
    evidence: str


def judge_by_rules(name: str, description: str, body: Body, siblings: tuple[str, ...]) -> Actionability:
    """The rules' verdict and the place in the taxonomy. Pure."""
    refusal = screen_actionable(description, body, siblings)
    return Actionability("no" if refusal else "yes", None, None, refusal.evidence if refusal else f"{name}: has code")
