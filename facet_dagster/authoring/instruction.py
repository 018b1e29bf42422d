"""The instruction: what the agent is told, from (R_I, e0) (method 4, forward)."""

import re

from facet_dagster.authoring.look import look_into
from facet_dagster.ports import Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_feedback, show_scenario, show_state
from facet_dagster.quoting import stands_in
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback

MAX_WORDS = 600
AIM_WORDS = 350
CITED_ID = re.compile(r"\(R[1-9][0-9]?\)|^\W*R[1-9][0-9]?[:.)]", re.MULTILINE)


async def write_instruction(
    seed_id: str,
    scenario: Scenario,
    environment: Environment,
    *,
    asker: Asker,
    sandbox: Sandbox,
    limits: Limits,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Instruction | Rejected:
    """Write (or, with feedback, rewrite) the instruction; its author may look into a container in state e0.

    Raises ModelError, BudgetSpent, InfrastructureError.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-instruction", limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        return await asker.ask(
            Question(
                prompt="authoring/instruction",
                variables={
                    "scenario": show_scenario(scenario),
                    "state": show_state(environment.e0),
                    "aim_words": AIM_WORDS,
                    "max_words": MAX_WORDS,
                    "feedback": show_feedback(feedback),
                    "previous": feedback.previous if feedback else "",
                },
                answer=Instruction,
                call=CallId(station="authoring.instruction", subject=seed_id, round=round),
                component=Component.INSTRUCTION,
                check=lambda instruction: instruction_problems(instruction, scenario.requirement_ids()),
                look=look_into(container),
                looks=1,
                may_refuse=feedback is not None,
            )
        )


def instruction_problems(instruction: Instruction, requirement_ids: tuple[str, ...]) -> list[str]:
    """What is wrong with an instruction: length, clauses that miss a requirement or are no quotes of the text."""
    problems = []
    words = len(instruction.text.split())
    if not 20 <= words <= MAX_WORDS:
        problems.append(f"the text has {words} words; at least 20 and at most {MAX_WORDS} are allowed")
    missing = sorted(set(requirement_ids) - instruction.clauses.keys())
    unknown = sorted(instruction.clauses.keys() - set(requirement_ids))
    problems += [f"clauses: {name} is missing" for name in missing]
    problems += [f"clauses: {name} is not a requirement" for name in unknown]
    for name, clause in instruction.clauses.items():
        if not clause.strip() or not stands_in(clause, instruction.text):
            problems.append(
                f"clauses: the words given for {name} do not stand in the text; quote one passage literally"
            )
    if CITED_ID.search(instruction.text):
        problems.append("the text cites requirement ids, which its reader does not know")
    return problems
