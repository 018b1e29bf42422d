"""The verifier: test_outputs.py, written last, from (I, references, e0, e0 -> eT, S) (method 4, forward)."""

from facet_dagster.authoring.look import look_into
from facet_dagster.authoring.originals import at_tests, copy_originals, describe
from facet_dagster.authoring.solution import run_script
from facet_dagster.authoring.static_check import test_file_problems, test_names
from facet_dagster.ports import Container, Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_diff, show_feedback, show_requirements, show_state
from facet_dagster.records.authoring import Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId
from facet_dagster.records.container import ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import Environment
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
    solution: Solution,
    *,
    asker: Asker,
    sandbox: Sandbox,
    limits: Limits,
    solve_timeout_s: float,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Verifier | Rejected:
    """Write (or, with feedback, rewrite) the tests; their author may look, as root, into a container in the final
    state with the originals under /tests/e0.

    A solution that does not run a second time is rejected as unstable. Raises ModelError, BudgetSpent,
    InfrastructureError.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-verifier", limits=limits)
    async with sandbox.open(spec) as container:
        copies = await copy_originals(container, environment.e0, solution.execution.diff)
        unstable = await _solve(container, solution, solve_timeout_s)
        if unstable:
            return unstable
        await container.put(at_tests(copies), owner="root")
        draft = await asker.ask(
            Question(
                prompt="authoring/verifier",
                variables=_variables(scenario, environment, instruction, solution, copies, feedback),
                answer=VerifierDraft,
                call=CallId(station="authoring.verifier", subject=seed_id, round=round),
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
    diff = solution.execution.diff if solution else StateDiff(files=())
    async with sandbox.open(spec) as container:
        copies = await copy_originals(container, environment.e0, diff)
    return Verifier(test_file=test_file, e0_copies=copies, tests=test_names(test_file))


def test_problems(test_file: str, requirement_ids: tuple[str, ...]) -> list[str]:
    """What is wrong with a test file before it is run: its length, and what static_check finds."""
    length = len(test_file)
    too_long = [f"test_file has {length} characters, more than {MAX_CHARACTERS}"] if length > MAX_CHARACTERS else []
    return [*too_long, *test_file_problems(test_file, requirement_ids)]


def show_clauses(instruction: Instruction) -> str:
    """The words of the instruction that state each requirement."""
    return "\n".join(f"{name}: {clause}" for name, clause in instruction.clauses.items())


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
    solution: Solution,
    copies: tuple[FileEntry, ...],
    feedback: Feedback | None,
) -> dict[str, object]:
    return {
        "instruction": instruction.text,
        "requirements": show_requirements(scenario.requirements),
        "clauses": show_clauses(instruction),
        "solution_reference": scenario.solution_reference,
        "state": show_state(environment.e0, 4_000),
        "diff": show_diff(solution.execution.diff),
        "script": solution.script,
        "originals": describe(copies, environment.e0),
        "seconds": f"{solution.execution.seconds:.1f}",
        "max_characters": MAX_CHARACTERS,
        "feedback": show_feedback(feedback),
        "previous": feedback.previous if feedback else "",
    }
