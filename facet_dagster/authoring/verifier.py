"""The verifier: test_outputs.py, written last, from (I, references, e0, e0 -> eT, S) (method 4, forward).

In the reverse scheme it is written before any solution, from (I, references, e0).
"""

from facet_dagster.authoring.look import look_into
from facet_dagster.authoring.originals import copy_originals, describe
from facet_dagster.authoring.solution import run_script
from facet_dagster.authoring.static_check import test_file_problems, test_names
from facet_dagster.ports import Container, Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_diff, show_feedback, show_requirements, show_state
from facet_dagster.records.authoring import Instruction, Solution, StateDiff, Verifier, at_tests
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback

MAX_CHARACTERS = 24_000  # of a test file
EVIDENCE = 4_000  # characters of output that a rejection keeps, from the end


class VerifierDraft(Record):
    """test_outputs.py as its author answered it."""

    test_file: str


async def write_verifier(
    seed_id: str,
    scenario: Scenario,
    environment: Environment,
    instruction: Instruction,
    solution: Solution | None,
    *,
    asker: Asker,
    sandbox: Sandbox,
    limits: Limits,
    solve_timeout_s: float,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Verifier | Rejected:
    """Write (or, with feedback, rewrite) the tests; their author may look, as root, into a container in the final
    state with the originals under /tests/e0; where there is no solution yet, in the initial state.

    A solution that does not run a second time is rejected as unstable. Raises ModelError, BudgetSpent,
    InfrastructureError.
    """
    name = "verifier" if solution else "verifier_first"
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-verifier", limits=limits)
    async with sandbox.open(spec) as container:
        if solution is None:
            await container.run(wait_for_services())
        copies = await copy_originals(container, environment.e0, _changes(solution))
        unstable = await _solve(container, solution, solve_timeout_s) if solution else None
        if unstable:
            return unstable
        await container.put(at_tests(copies), owner="root")
        draft = await asker.ask(
            Question(
                prompt=f"authoring/{name}",
                variables=_variables(scenario, environment, instruction, solution, copies, feedback),
                answer=VerifierDraft,
                call=CallId(station=f"authoring.{name}", subject=seed_id, round=round),
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


async def with_e0_copies(
    seed_id: str,
    test_file: str,
    environment: Environment,
    solution: Solution | None,
    *,
    sandbox: Sandbox,
    limits: Limits,
) -> Verifier:
    """The same tests with the originals of a new environment or solution (none yet: those below /app).

    Raises InfrastructureError.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="originals", limits=limits)
    async with sandbox.open(spec) as container:
        copies = await copy_originals(container, environment.e0, _changes(solution))
    return Verifier(test_file=test_file, e0_copies=copies, tests=test_names(test_file))


def test_problems(test_file: str, requirement_ids: tuple[str, ...]) -> list[str]:
    """What is wrong with a test file before it is run: its length, and what static_check finds."""
    length = len(test_file)
    too_long = [f"test_file has {length} characters, more than {MAX_CHARACTERS}"] if length > MAX_CHARACTERS else []
    return [*too_long, *test_file_problems(test_file, requirement_ids)]


def _changes(solution: Solution | None) -> StateDiff:
    return solution.execution.diff if solution else StateDiff(files=())


async def _solve(container: Container, solution: Solution, timeout_s: float) -> Rejected | None:
    result = await run_script(container, solution.script, timeout_s)
    if result.ok:
        return None
    evidence = f"it ran once, and then ended with {result.limit or result.exit_code}\n{result.output[-EVIDENCE:]}"
    return Rejected(component=Component.SOLUTION, reason=Reason.UNSTABLE, evidence=evidence)


def _variables(
    scenario: Scenario,
    environment: Environment,
    instruction: Instruction,
    solution: Solution | None,
    copies: tuple[FileEntry, ...],
    feedback: Feedback | None,
) -> dict[str, object]:
    clauses = "\n".join(f"{name}: {clause}" for name, clause in instruction.clauses.items())
    common = {
        "instruction": instruction.text,
        "requirements": show_requirements(scenario.requirements),
        "clauses": clauses,
        "solution_reference": scenario.solution_reference,
        "originals": describe(copies, environment.e0),
        "max_characters": MAX_CHARACTERS,
        "feedback": show_feedback(feedback),
        "previous": feedback.previous if feedback else "",
    }
    if solution is None:
        return {**common, "state": show_state(environment.e0)}
    return {
        **common,
        "state": show_state(environment.e0, 4_000),
        "diff": show_diff(solution.execution.diff),
        "script": solution.script,
        "seconds": f"{solution.execution.seconds:.1f}",
    }
