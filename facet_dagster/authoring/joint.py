"""The joint scheme: instruction, solution and verifier in one answer, from (Z, e0) alone (method 4)."""

from facet_dagster.authoring.instruction import AIM_WORDS, MAX_WORDS, instruction_problems
from facet_dagster.authoring.look import look_into
from facet_dagster.authoring.originals import copy_originals, describe
from facet_dagster.authoring.solution import MAX_CHARACTERS as SCRIPT_CHARACTERS
from facet_dagster.authoring.solution import Script, script_problems
from facet_dagster.authoring.verifier import MAX_CHARACTERS as TEST_CHARACTERS
from facet_dagster.authoring.verifier import test_problems
from facet_dagster.ports import Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_scenario, show_state
from facet_dagster.records.authoring import Instruction, StateDiff, at_tests
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario


class JointDraft(Record):
    """All three as their author answered them, nothing executed yet."""

    text: str  # of the instruction
    clauses: dict[str, str]
    script: str
    workflow: str
    test_file: str

    def instruction(self) -> Instruction:
        """The first of the three."""
        return Instruction(text=self.text, clauses=self.clauses)

    def solution(self) -> Script:
        """The second, not executed."""
        return Script(script=self.script, workflow=self.workflow)


async def write_jointly(
    seed_id: str, scenario: Scenario, environment: Environment, *, asker: Asker, sandbox: Sandbox, limits: Limits
) -> JointDraft | Rejected:
    """One call for all three; its author may look into a container in state e0.

    Raises ModelError, BudgetSpent, InfrastructureError.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-joint", limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        copies = await copy_originals(container, environment.e0, StateDiff(files=()))
        await container.put(at_tests(copies), owner="root")
        return await asker.ask(
            Question(
                prompt="authoring/joint",
                variables={
                    "scenario": show_scenario(scenario),
                    "state": show_state(environment.e0),
                    "originals": describe(copies, environment.e0),
                    "aim_words": AIM_WORDS,
                    "max_words": MAX_WORDS,
                    "script_characters": SCRIPT_CHARACTERS,
                    "test_characters": TEST_CHARACTERS,
                },
                answer=JointDraft,
                call=CallId(station="authoring.joint", subject=seed_id),
                component=Component.INSTRUCTION,
                check=lambda draft: _problems(draft, scenario.requirement_ids()),
                look=look_into(container, user="root"),
                looks=2,
            )
        )


def _problems(draft: JointDraft, requirement_ids: tuple[str, ...]) -> list[str]:
    return [
        *instruction_problems(draft.instruction(), requirement_ids),
        *script_problems(draft.solution()),
        *test_problems(draft.test_file, requirement_ids),
    ]
