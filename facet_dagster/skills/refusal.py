"""A refusal inside this station: the fault and what shows it, before the folder's address is known.

Steps of the reader return a `Refusal` instead of their result; `ingest` turns it into a stored
`SkillReject`. Does not belong here: any rule about when to refuse.
"""

from dataclasses import dataclass

from facet_dagster.records.skill import SkillFault


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a skill is not used (one fault) and a readable line that shows it."""

    fault: SkillFault
    evidence: str


def excerpt(text: str, limit: int = 160) -> str:
    """One line of evidence: white space collapsed, cut at `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
