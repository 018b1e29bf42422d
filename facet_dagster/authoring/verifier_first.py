"""The verifier of the reverse scheme: written before any solution, from (I, references, e0) (method 4)."""

from facet_dagster.authoring.look import look_into
from facet_dagster.authoring.originals import at_tests, copy_originals, describe
from facet_dagster.authoring.static_check import test_names
from facet_dagster.authoring.verifier import MAX_CHARACTERS, VerifierDraft, show_clauses, test_problems
from facet_dagster.ports import Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_feedback, show_requirements, show_state
from facet_dagster.records.authoring import Instruction, StateDiff, Verifier
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback


async def write_verifier_first(
    seed_id: str,
    scenario: Scenario,
    environment: Environment,
    instruction: Instruction,
    *,
    asker: Asker,
    sandbox: Sandbox,
    limits: Limits,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Verifier | Rejected:
    """Write (or, with feedback, rewrite) the tests; their author may look, as root, into a container in state e0.

    Raises ModelError, BudgetSpent, InfrastructureError.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-verifier", limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        copies = await copy_originals(container, environment.e0, StateDiff(files=()))
        await container.put(at_tests(copies), owner="root")
        draft = await asker.ask(
            Question(
                prompt="authoring/verifier_first",
                variables={
                    "instruction": instruction.text,
                    "requirements": show_requirements(scenario.requirements),
                    "clauses": show_clauses(instruction),
                    "solution_reference": scenario.solution_reference,
                    "state": show_state(environment.e0),
                    "originals": describe(copies, environment.e0),
                    "max_characters": MAX_CHARACTERS,
                    "feedback": show_feedback(feedback),
                    "previous": feedback.previous if feedback else "",
                },
                answer=VerifierDraft,
                call=CallId(station="authoring.verifier_first", subject=seed_id, round=round),
                component=Component.VERIFIER,
                check=lambda draft: test_problems(draft.test_file, scenario.requirement_ids()),
                look=look_into(container, user="root"),
                looks=1,
                may_refuse=feedback is not None,
            )
        )
    if isinstance(draft, Rejected):
        return draft
    return Verifier(test_file=draft.test_file, e0_copies=copies, tests=test_names(draft.test_file))
