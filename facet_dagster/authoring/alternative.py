"""A second engineer (gate G7), who solves the task from the instruction and the container alone, and a judge.

Belongs here: what the two are asked. What their answers mean for the task stands in validation/gates/alternative.py.
"""

from dataclasses import dataclass

from facet_dagster.authoring.look import look_into
from facet_dagster.authoring.solution import MAX_CHARACTERS, Script, script_problems
from facet_dagster.ports import Sandbox
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.views import show_requirements
from facet_dagster.quoting import SHORTEST, squeezed, stands_in
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.container import ContainerSpec, Limits
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Requirement
from facet_dagster.records.validation import Explanation


@dataclass(frozen=True)
class SecondEngineer:
    """Asks on behalf of one seed in one round. Methods raise ModelError, BudgetSpent, InfrastructureError."""

    asker: Asker
    sandbox: Sandbox
    seed_id: str
    round: int
    image: str
    instruction: str
    requirements: tuple[Requirement, ...]
    limits: Limits

    async def solve(self) -> str | Rejected:
        """Another solution's script; its author may look into a container in state e0."""
        spec = ContainerSpec(image=self.image, seed=self.seed_id, purpose="look-alternative", limits=self.limits)
        async with self.sandbox.open(spec) as container:
            await container.run(wait_for_services())
            answer = await self.asker.ask(
                Question(
                    prompt="authoring/alternative",
                    variables={"instruction": self.instruction, "max_characters": MAX_CHARACTERS},
                    answer=Script,
                    call=self._call("authoring.alternative"),
                    component=Component.VALIDATION,
                    check=script_problems,
                    look=look_into(container),
                    looks=2,
                    may_refuse=True,
                )
            )
        return answer if isinstance(answer, Rejected) else answer.script

    async def explain(self, script: str, failure: str, tests: str) -> Explanation | Rejected:
        """Whether a requirement justifies that the tests refused the script."""
        return await self.asker.ask(
            Question(
                prompt="repair/explain",
                variables={
                    "instruction": self.instruction,
                    "requirements": show_requirements(self.requirements),
                    "failure": failure,
                    "tests": tests,
                    "script": script,
                },
                answer=Explanation,
                call=self._call("repair.explain"),
                component=Component.VALIDATION,
                role=Role.JUDGE,
                check=lambda found: explanation_problems(found, self.requirements, self.instruction, tests),
                temperature=0.0,
            )
        )

    def _call(self, station: str) -> CallId:
        return CallId(station=station, subject=self.seed_id, round=self.round)


def explanation_problems(
    found: Explanation, requirements: tuple[Requirement, ...], instruction: str, tests: str
) -> list[str]:
    """What makes an explanation unusable: evidence that was not shown, or no requirement where one is claimed."""
    problems = []
    source = instruction if found.explained else f"{tests}\n{instruction}"
    if len(squeezed(found.evidence)) < SHORTEST:
        problems.append(f"evidence: quote at least {SHORTEST} characters")
    elif not stands_in(found.evidence, source):
        problems.append("evidence: copy one passage of the instruction (or of the tests) word for word")
    if found.explained and found.requirement not in {r.id for r in requirements}:
        problems.append(f"requirement: {found.requirement or 'none'} is not one of the ids")
    return problems
