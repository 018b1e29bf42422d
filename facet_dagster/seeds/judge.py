"""The judge: is a proposal relevant, complementary, non-redundant and executable? Kept ones become scenario seeds.

Belongs here: one verdict on one proposal. How many are judged stands in pipeline.py.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import as_json
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.seed import Candidate, ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.seeds.retrieval import Proposal

SLUG_LENGTH = 48
DIGITS = 4  # of the candidate id in a seed id, as long as no other seed has got the same
QUESTIONS = ("relevant", "complementary", "non_redundant", "executable")


class Verdict(Record):
    """The judge's answer."""

    relevant: bool
    complementary: bool
    non_redundant: bool
    executable: bool
    reason: str
    title: str = Field(description="3 to 7 words if all four are true, else empty")

    @property
    def kept(self) -> bool:
        return self.relevant and self.complementary and self.non_redundant and self.executable


@dataclass(frozen=True)
class Judgement:
    """A judged proposal; `seed` is there exactly where the candidate was kept."""

    candidate: Candidate
    seed: ScenarioSeed | None


async def judge(proposal: Proposal, skills: Mapping[str, Skill], asker: Asker) -> Judgement | Rejected:
    """The verdict on a proposal; Rejected only where the judge's answer is unusable. Raises what the model raises."""
    verdict = await asker.ask(
        Question(
            prompt="seeds/judge",
            variables={
                "skills": [_shown(skills[skill_id]) for skill_id in proposal.skill_ids],
                "hypotheses": [as_json(hypothesis, "hypothesis_id") for hypothesis in proposal.hypotheses],
            },
            answer=Verdict,
            call=CallId(station="seeds.judge", subject=proposal.candidate_id),
            component=Component.SCENARIO,
            role=Role.JUDGE,
            check=_problems,
            temperature=0.0,
        )
    )
    return verdict if isinstance(verdict, Rejected) else _judgement(proposal, verdict)


def seed_id_of(title: str, candidate_id: str, digits: int = DIGITS) -> str:
    """A readable, stable id of lower-case letters, digits and hyphens: it serves as partition key and image name."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_LENGTH].strip("-") or "seed"
    return f"{slug}-{candidate_id[:digits]}"


def longer_id(seed: ScenarioSeed, candidate_id: str) -> ScenarioSeed:
    """The seed under an id with one more digit of its candidate's: for where the id is another seed's.

    Raises ValueError where all digits are used.
    """
    digits = len(seed.seed_id.rpartition("-")[2]) + 1
    if digits > len(candidate_id):
        raise ValueError(f"{seed.seed_id} is the id of two seeds of one candidate")
    return seed.model_copy(update={"seed_id": seed_id_of(seed.title, candidate_id, digits)})


def _judgement(proposal: Proposal, verdict: Verdict) -> Judgement:
    refused = [question for question in QUESTIONS if not getattr(verdict, question)]
    candidate = Candidate(
        candidate_id=proposal.candidate_id,
        hypothesis_ids=proposal.hypothesis_ids,
        skill_ids=proposal.skill_ids,
        similarity=proposal.similarity,
        kept=verdict.kept,
        rationale=f"not {', not '.join(refused)}: {verdict.reason}" if refused else verdict.reason,
    )
    if refused:
        return Judgement(candidate, None)
    seed = ScenarioSeed(
        seed_id=seed_id_of(verdict.title, proposal.candidate_id),
        title=verdict.title.strip(),
        skill_ids=proposal.skill_ids,
        hypothesis_ids=proposal.hypothesis_ids,
        rationale=verdict.reason,
    )
    return Judgement(candidate, seed)


def _shown(skill: Skill) -> str:
    """What the judge sees of a skill: not its body, which is long and argues for itself."""
    lists = {"tools": skill.tools, "inputs and outputs": skill.inputs_outputs, "steps": skill.steps}
    lines = [f"{name}: {'; '.join(values[:8])}" for name, values in lists.items() if values]
    return "\n".join([f"{skill.skill_id} ({skill.name})", skill.description, *lines])


def _problems(verdict: Verdict) -> Sequence[str]:
    problems = []
    if not verdict.reason.strip():
        problems.append("reason is empty")
    if verdict.kept and not 3 <= len(verdict.title.split()) <= 7:
        problems.append("all four are true, so title must have 3 to 7 words")
    return problems
