"""The reference solution: written from (I, R_S, e0), then executed in a fresh container, e0 -> eT recorded."""

import re
from collections.abc import Awaitable, Callable

from facet_dagster.authoring.look import look_into
from facet_dagster.ports import Container, Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_feedback, show_scenario, show_state
from facet_dagster.records.authoring import (
    Execution,
    Instruction,
    Solution,
    StateDiff,
    forget_solution,
    solve,
    solve_file,
)
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId
from facet_dagster.records.container import CommandResult, ContainerSpec, Limits
from facet_dagster.records.environment import Environment, ObservedState, wait_for_services
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Feedback

# The graders' own folders; `/app/tests`, `$ROOT/tests` and `../tests` are the task's.
GRADERS_PLACES = re.compile(r"(?<![\w.}/-])(?:/tests|/logs/verifier)(?![\w-])")
MAX_CHARACTERS = 14_000  # of a script
OUTPUT = 20_000  # characters of output that the record keeps, from the end


class Script(Record):
    """solve.sh as its author answered it, not executed yet."""

    script: str
    workflow: str


async def write_script(
    seed_id: str,
    scenario: Scenario,
    environment: Environment,
    instruction: Instruction,
    *,
    asker: Asker,
    sandbox: Sandbox,
    limits: Limits,
    tests: str | None = None,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Script | Rejected:
    """Write (or, with feedback, rewrite) solve.sh; its author may look into a container in state e0.

    `tests` is the test file where it was written first (reverse scheme).
    Raises ModelError, BudgetSpent, InfrastructureError.
    """
    name = "solution" if tests is None else "solution_last"
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="look-solution", limits=limits)
    async with sandbox.open(spec) as container:
        await container.run(wait_for_services())
        return await asker.ask(
            Question(
                prompt=f"authoring/{name}",
                variables={
                    "instruction": instruction.text,
                    "scenario": show_scenario(scenario),
                    "state": show_state(environment.e0),
                    "feedback": show_feedback(feedback),
                    "previous": feedback.previous if feedback else "",
                    "max_characters": MAX_CHARACTERS,
                    "tests": tests or "",
                },
                answer=Script,
                call=CallId(station=f"authoring.{name}", subject=seed_id, round=round),
                component=Component.SOLUTION,
                check=script_problems,
                look=look_into(container),
                looks=2,
                may_refuse=True,
            )
        )


def script_problems(script: Script) -> list[str]:
    """What can be told of a script without running it."""
    problems = []
    if len(script.script) > MAX_CHARACTERS:
        problems.append(f"the script has {len(script.script)} characters, more than {MAX_CHARACTERS}")
    if not script.script.startswith(("#!/bin/bash", "#!/usr/bin/env bash")):
        problems.append("the script must begin with #!/bin/bash")
    places = sorted(set(GRADERS_PLACES.findall(script.script)))
    problems += [f"the script mentions {place}, which is the graders' and not there yet" for place in places]
    return problems


async def run_script(container: Container, script: str, timeout_s: float) -> CommandResult:
    """Put solve.sh into a running container, run it as the agent's user from /app, and take it away again."""
    await container.run(wait_for_services())
    await container.put([solve_file(script)], owner="root")
    result = await container.run(solve(timeout_s))
    await container.run(forget_solution())
    return result


async def execute(
    seed_id: str,
    script: Script,
    environment: Environment,
    *,
    sandbox: Sandbox,
    limits: Limits,
    timeout_s: float,
    observe: Callable[[Container], Awaitable[ObservedState]],
    difference: Callable[[ObservedState, ObservedState], StateDiff],
) -> Solution:
    """Run the script in a fresh container without network and record what it changed. Raises InfrastructureError.

    A script that failed is kept with what it printed (`Solution.fault`), since its repair starts from it; what it
    changed before it failed is of no use to anybody and is not observed.
    """
    spec = ContainerSpec(image=environment.image, seed=seed_id, purpose="solve", limits=limits)
    async with sandbox.open(spec) as container:
        result = await run_script(container, script.script, timeout_s)
        diff = difference(environment.e0, await observe(container)) if result.ok else StateDiff(files=())
    execution = Execution(
        exit_code=result.exit_code,
        output=result.output[-OUTPUT:],
        seconds=result.seconds,
        limit=result.limit,
        diff=diff,
    )
    return Solution(script=script.script, workflow=script.workflow, execution=execution)
