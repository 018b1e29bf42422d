"""From the modules to the texts that later stations work from: C, R_S = f(C), R_I = f(C, R_S) and the requirements.

Belongs here: integration and both references. Whether they agree with one another stands in consistency.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from facet_dagster.prompts.views import as_json, show_description, show_feedback, show_requirements
from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Rejected
from facet_dagster.records.scenario import Dimensions, Requirement, Scenario
from facet_dagster.records.validation import Feedback
from facet_dagster.scenario.author import Author, empty_fields
from facet_dagster.scenario.modules import Modules

FEWEST, MOST = 4, 9  # requirements of a task
DIMENSIONS = tuple(name for name in Dimensions.model_fields if name != "schema_version")


class Integration(Record):
    """Answer: the description C with its title and five dimensions."""

    title: str
    description: str
    dimensions: Dimensions


class SolutionReference(Record):
    """Answer: R_S."""

    solution_reference: str


class InstructionReference(Record):
    """Answer: R_I with the requirements."""

    instruction_reference: str
    requirements: list[Requirement]


@dataclass(frozen=True)
class References:
    """The three texts and the requirements, as far as they have got."""

    integration: Integration
    solution_reference: str
    instruction_reference: str
    requirements: tuple[Requirement, ...]

    @property
    def description(self) -> str:
        """C with its five dimensions, as prompts show it."""
        return _described(self.integration)


async def write_references(author: Author, modules: Modules, feedback: Feedback | None) -> References | Rejected:
    """C, then R_S from C, then R_I from both."""
    previous = _previous_scenario(feedback)
    integration = await _integrate(author, modules, feedback, previous)
    if isinstance(integration, Rejected):
        return integration
    description = _described(integration)
    solution = await author.ask(
        "solution_reference",
        SolutionReference,
        lambda answer: empty_fields(answer, "solution_reference"),
        description=description,
    )
    if isinstance(solution, Rejected):
        return solution
    instruction = await author.ask(
        "instruction_reference",
        InstructionReference,
        lambda answer: empty_fields(answer, "instruction_reference") + requirement_problems(answer.requirements),
        description=description,
        solution_reference=solution.solution_reference,
        previous_requirements=show_requirements(previous.requirements) if previous else "",
    )
    if isinstance(instruction, Rejected):
        return instruction
    return References(
        integration, solution.solution_reference, instruction.instruction_reference, tuple(instruction.requirements)
    )


def _described(integration: Integration) -> str:
    return show_description(integration.title, integration.description, integration.dimensions)


async def _integrate(
    author: Author, modules: Modules, feedback: Feedback | None, previous: Scenario | None
) -> Integration | Rejected:
    return await author.ask(
        "integration",
        Integration,
        lambda answer: empty_fields(answer, "title", "description") + empty_fields(answer.dimensions, *DIMENSIONS),
        association=as_json(modules.association, "dropped_skills"),
        evolution=as_json(modules.evolution),
        expansion=as_json(modules.expansion),
        feedback=show_feedback(feedback),
        previous=f"{previous.title}\n\n{previous.description}" if previous else feedback.previous if feedback else "",
    )


def requirement_problems(requirements: Sequence[Requirement]) -> list[str]:
    """What can be told mechanically of a list of requirements; whether they are sound is for the check to say."""
    problems = []
    ids = [requirement.id for requirement in requirements]
    if not FEWEST <= len(ids) <= MOST:
        problems.append(f"{FEWEST} to {MOST} requirements are wanted, not {len(ids)}")
    # A gap is allowed: a later version keeps the ids of an earlier one and may have lost a requirement.
    if ids != sorted(set(ids), key=lambda i: int(i[1:])):
        problems.append(f"the ids must be R1, R2, … in order, each once, not {', '.join(ids)}")
    for requirement in requirements:
        problems += [f"{requirement.id}: {problem}" for problem in empty_fields(requirement, "text", "observable")]
    if len({requirement.text.strip().lower() for requirement in requirements}) < len(requirements):
        problems.append("two requirements have the same text")
    return problems


def _previous_scenario(feedback: Feedback | None) -> Scenario | None:
    """The version that the feedback is about, where it got as far as a scenario."""
    if feedback is None:
        return None
    try:
        return Scenario.model_validate_json(feedback.previous)
    except ValidationError:
        return None
