"""The reconstructed scenario of a seed: five modules, the integrated description, two references, requirements."""

from typing import Literal

from pydantic import Field

from facet_dagster.records.base import Record


class SkillAnalysis(Record):
    """Module 1, per skill: what it can do and what shows that it was used."""

    skill_id: str
    capabilities: list[str]
    tools: list[str]
    inputs: list[str]
    outputs: list[str]
    preconditions: list[str]
    observable_effects: list[str]


class Exploration(Record):
    """Module 2: settings in which the skills serve one objective."""

    settings: list[str]


class Association(Record):
    """Module 3: the chosen setting; skills that do not really serve it are dropped, with the reason."""

    setting: str
    kept_skills: list[str]
    dropped_skills: dict[str, str]
    use_of_each: dict[str, str]


class Evolution(Record):
    """Module 4: dependencies, intermediate artefacts and state transitions, and what may go wrong on the way."""

    initial_state: str
    transitions: list[str]
    intermediate_artifacts: list[str]
    recovery: list[str]
    final_state: str


class Expansion(Record):
    """Module 5: resources, formats, constraints and observable success conditions."""

    resources: list[str]
    formats: list[str]
    constraints: list[str]
    success_conditions: list[str]


class Dimensions(Record):
    """The five dimensions of a scenario (FACET 1.3)."""

    goal: str
    context: str
    capability: str
    state: str
    inputs_outputs_tools: str


class Requirement(Record):
    """One thing that the final state must satisfy. Its id (R1, R2, …) is kept to the end."""

    id: str = Field(pattern=r"^R[1-9][0-9]?$")
    text: str
    observable: str = Field(description="what in the final state shows it")


class Consistency(Record):
    """What the consistency check found (FACET 1.3)."""

    consistent: bool
    problems: list[str]


class Scenario(Record):
    """Everything that later stations know of the seed's intention: Z = (C, R_S, R_I)."""

    kind: Literal["scenario"] = "scenario"
    title: str
    description: str  # C
    dimensions: Dimensions
    skill_ids: tuple[str, ...]
    dropped_skills: dict[str, str]
    analyses: tuple[SkillAnalysis, ...]
    exploration: Exploration
    association: Association
    evolution: Evolution
    expansion: Expansion
    solution_reference: str  # R_S
    instruction_reference: str  # R_I
    requirements: tuple[Requirement, ...]
    consistency: Consistency

    def requirement_ids(self) -> tuple[str, ...]:
        return tuple(r.id for r in self.requirements)
