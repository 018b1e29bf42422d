"""The solution is written with a look at e0, run as the agent in a fresh container, and recorded with its changes."""

from collections.abc import Callable

import pytest

from facet_dagster.authoring.solution import Script, execute, script_problems, write_script
from facet_dagster.ports import Container
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.authoring import Instruction, Solution, StateDiff
from facet_dagster.records.container import Command, CommandResult, Limits
from facet_dagster.records.environment import Environment, ObservedState
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox
from facet_dagster.testing.scripted_model import ScriptedModel

SCRIPT = Script(script="#!/bin/bash\nset -euo pipefail\nmerge\n", workflow="merge by id")
Ending = Callable[[CommandResult], FakeSandbox]


@pytest.fixture
def ending() -> Ending:
    """A sandbox in which solve.sh ends as given."""

    def make(result: CommandResult) -> FakeSandbox:
        def answer(container: FakeContainer, command: Command) -> CommandResult:
            if command.script == "bash /solution/solve.sh":
                assert container.files["/solution/solve.sh"] == SCRIPT.script.encode()
                return result
            return CommandResult(exit_code=0, output="", seconds=0.0)

        return FakeSandbox(answer, {"facet-env:1": {}})

    return make


async def run(sandbox: FakeSandbox, environment: Environment, diff: StateDiff) -> Solution:
    async def observe(_: Container) -> ObservedState:
        return environment.e0

    return await execute(
        "orders",
        SCRIPT,
        environment,
        sandbox=sandbox,
        limits=Limits(),
        timeout_s=90,
        observe=observe,
        difference=lambda before, after: diff,
    )


async def test_a_solution_is_recorded_with_its_difference(
    ending: Ending, environment: Environment, diff: StateDiff
) -> None:
    sandbox = ending(CommandResult(exit_code=0, output="merged", seconds=2.0))
    solution = await run(sandbox, environment, diff)
    assert isinstance(solution, Solution)
    assert (solution.execution.diff, solution.execution.output, solution.script) == (diff, "merged", SCRIPT.script)
    container = sandbox.opened[0]
    solve = next(c for c in container.commands if "solve.sh" in c.script)
    assert (solve.user, solve.workdir, solve.timeout_s) == ("agent", "/app", 90)
    assert (container.owners["/solution/solve.sh"], container.modes["/solution/solve.sh"]) == ("root", 0o755)
    assert sandbox.running == []


@pytest.mark.parametrize(
    ("result", "reason", "evidence"),
    [
        (CommandResult(exit_code=3, output="no such column", seconds=1), Reason.SOLUTION_FAILED, "no such column"),
        (CommandResult(exit_code=-1, output="", seconds=90, limit="time"), Reason.SOLUTION_LIMIT, "cut short: time"),
    ],
)
async def test_a_solution_that_does_not_run_is_kept_with_its_fault(
    ending: Ending, environment: Environment, diff: StateDiff, result: CommandResult, reason: Reason, evidence: str
) -> None:
    solution = await run(ending(result), environment, diff)
    assert solution.script == SCRIPT.script
    rejected = solution.fault()
    assert rejected is not None
    assert (rejected.component, rejected.reason) == (Component.SOLUTION, reason)
    assert evidence in rejected.evidence


async def test_a_solution_that_changes_nothing_is_at_fault(ending: Ending, environment: Environment) -> None:
    sandbox = ending(CommandResult(exit_code=0, output="all good", seconds=1))
    rejected = (await run(sandbox, environment, StateDiff(files=()))).fault()
    assert rejected is not None and rejected.reason is Reason.SOLUTION_CHANGES_NOTHING


def test_a_script_must_be_bash_and_leave_the_grader_alone() -> None:
    assert script_problems(SCRIPT) == []
    assert script_problems(Script(script="import os\ncat /tests/x\n", workflow="w")) == [
        "the script must begin with #!/bin/bash",
        "the script mentions /tests, which is the graders' and not there yet",
    ]


@pytest.mark.parametrize("path", ["/app/fw/tests/run.bats", '"$ROOT/tests"', "${ROOT}/tests", "../tests", "/testsuite"])
def test_the_tasks_own_tests_folder_may_be_used(path: str) -> None:
    """A strong model's good script was refused for /app/pump-fw/tests."""
    assert script_problems(Script(script=f"#!/bin/bash\nls {path}\n", workflow="w")) == []


async def test_the_author_may_find_it_infeasible(
    ending: Ending, scenario: Scenario, environment: Environment, instruction: Instruction
) -> None:
    model = ScriptedModel({"authoring.solution": [{"look": ["ls"]}, {"infeasible": "b.csv has no ids"}]})
    sandbox = ending(CommandResult(exit_code=0, output="", seconds=0))
    rejected = await write_script(
        "orders", scenario, environment, instruction, asker=Asker(model), sandbox=sandbox, limits=Limits()
    )
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.evidence) == (Reason.INFEASIBLE, "b.csv has no ids")
    assert sandbox.opened[0].commands[-1].script == "ls"


async def test_the_author_sees_instruction_and_state(
    ending: Ending, scenario: Scenario, environment: Environment, instruction: Instruction
) -> None:
    model = ScriptedModel({"authoring.solution": [SCRIPT.model_dump(exclude={"schema_version"})]})
    sandbox = ending(CommandResult(exit_code=0, output="", seconds=0))
    script = await write_script(
        "orders", scenario, environment, instruction, asker=Asker(model), sandbox=sandbox, limits=Limits()
    )
    assert script == SCRIPT
    prompt = model.requests[0].messages[0].content
    assert instruction.text in prompt and "/app/in/b.csv" in prompt and "Read both, merge by id." in prompt
