"""Scenario hypotheses of a skill, candidate combinations, and the scenario seeds that a judge kept."""

from typing import ClassVar

from facet_dagster.records.base import StoredRecord


class Hypothesis(StoredRecord):
    """One setting in which a skill could be used (FACET 1.2, item 4)."""

    table: ClassVar[str] = "hypotheses"

    hypothesis_id: str  # skill id + ordinal
    skill_id: str
    context: str  # who is at work, on what
    goal: str  # of that person
    initial_state: str  # of the machine
    final_state: str  # that is wanted

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return self.hypothesis_id

    def text(self) -> str:
        """What is embedded."""
        return f"{self.context} {self.goal} {self.initial_state} {self.final_state}"


class Candidate(StoredRecord):
    """A hypothesis with the skills (2-3) retrieved for it, and what the judge said of them."""

    table: ClassVar[str] = "candidates"

    candidate_id: str  # hash of the hypothesis ids, 12 hex digits
    hypothesis_ids: tuple[str, ...]  # one per skill, sorted
    skill_ids: tuple[str, ...]
    similarity: float  # mean cosine of its hypotheses
    kept: bool  # by the judge
    rationale: str  # of the judge

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return self.candidate_id


class ScenarioSeed(StoredRecord):
    """A judged combination: one dynamic partition. `seed_id` holds lower-case letters, digits, hyphens."""

    table: ClassVar[str] = "seeds"

    seed_id: str  # name of the partition
    title: str  # of the scenario
    skill_ids: tuple[str, ...]
    hypothesis_ids: tuple[str, ...]
    rationale: str  # why the skills belong together, as the judge says

    @property
    def group(self) -> str:
        return "all"

    @property
    def key(self) -> str:
        return self.seed_id
