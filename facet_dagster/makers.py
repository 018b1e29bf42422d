"""How each component is made, made again with feedback, or merely executed again: stations put together.

Belongs here: which station needs what of the bundle. The order, the rounds and the history stand in
construction.py.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from facet_dagster.authoring.alternative import SecondEngineer
from facet_dagster.authoring.instruction import write_instruction
from facet_dagster.authoring.joint import JointDraft, write_jointly
from facet_dagster.authoring.solution import Script, execute, write_script
from facet_dagster.authoring.verifier import with_e0_copies, write_verifier
from facet_dagster.environment.dockerfile import build_context
from facet_dagster.environment.observe import difference, observe
from facet_dagster.environment.prepare import prepare
from facet_dagster.environment.probe import probes_of
from facet_dagster.environment.rebuild import rebuild
from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.records.authoring import Instruction, Solution, Verifier, solve_file
from facet_dagster.records.base import Record, digest_of
from facet_dagster.records.bundle import Task
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import Scheme
from facet_dagster.records.validation import Feedback, ValidationReport
from facet_dagster.scenario.reconstruct import reconstruct
from facet_dagster.validation.candidate import Candidate, Contract
from facet_dagster.validation.kit import contents_of_tests
from facet_dagster.validation.validate import validate
from facet_dagster.workshop import Workshop

WRITTEN = (
    Component.SCENARIO,
    Component.ENVIRONMENT,
    Component.INSTRUCTION,
    Component.SOLUTION,
    Component.VERIFIER,
)
# What each component is made from: an edit of an input makes it stale.
INPUTS: dict[Component, tuple[Component, ...]] = {
    Component.SCENARIO: (),
    Component.ENVIRONMENT: (Component.SCENARIO,),
    Component.INSTRUCTION: (Component.SCENARIO, Component.ENVIRONMENT),
    Component.SOLUTION: (Component.SCENARIO, Component.ENVIRONMENT, Component.INSTRUCTION),
    Component.VERIFIER: (Component.ENVIRONMENT, Component.INSTRUCTION, Component.SOLUTION),
    Component.VALIDATION: WRITTEN,  # of the scenario only its requirements
    Component.TASK: (*WRITTEN, Component.VALIDATION),
}
# The reverse scheme writes the verifier first, from the initial state, and the solution with the tests in view.
REVERSE_INPUTS = INPUTS | {
    Component.VERIFIER: (Component.SCENARIO, Component.ENVIRONMENT, Component.INSTRUCTION),
    Component.SOLUTION: (Component.SCENARIO, Component.ENVIRONMENT, Component.INSTRUCTION, Component.VERIFIER),
}

# What the task itself consists of.
BUNDLED = (Component.ENVIRONMENT, Component.INSTRUCTION, Component.SOLUTION, Component.VERIFIER)

R = TypeVar("R", bound=Record)


def bundle_of(bodies: Mapping[Component, Record]) -> str:
    """Digest over the parts that make a task."""
    return digest_of("\n".join(bodies[component].digest() for component in BUNDLED))


def stands(bodies: Mapping[Component, Record]) -> bool:
    """Whether a seed has a task that is made of these components, and no newer gates refused them."""
    task, report = bodies.get(Component.TASK), bodies.get(Component.VALIDATION)
    if not isinstance(task, Task) or task.bundle != bundle_of(bodies):
        return False
    return not (isinstance(report, ValidationReport) and report.bundle == task.bundle and report.verdict is False)


@dataclass
class Bench:
    """The current version of each component of one seed, and the makers that work on them."""

    seed: ScenarioSeed
    skills: Sequence[Skill]
    workshop: Workshop
    bodies: dict[Component, Record] = field(default_factory=dict)
    _joint: JointDraft | None = None

    @property
    def scheme(self) -> Scheme:
        """The order in which the three texts are written."""
        return self.workshop.construction.scheme

    @property
    def order(self) -> tuple[Component, ...]:
        """The written components, each after what it is made from."""
        if self.scheme is Scheme.REVERSE:
            return (*WRITTEN[:3], Component.VERIFIER, Component.SOLUTION)
        return WRITTEN

    def body(self, kind: type[R], component: Component) -> R:
        """The current body of a component. Raises SettingsError where it was not made yet (work by hand)."""
        if component not in self.bodies:
            raise SettingsError(f"{self.seed.seed_id} has no {component.value} yet: make it first")
        body = self.bodies[component]
        if not isinstance(body, kind):
            raise TypeError(f"{component.value} holds {type(body).__name__}")
        return body

    def inputs(self, component: Component) -> dict[str, str]:
        """Digests of what the component is made from, as far as it is there."""
        inputs = REVERSE_INPUTS if self.scheme is Scheme.REVERSE else INPUTS
        return {c.value: self.bodies[c].digest() for c in inputs[component] if c in self.bodies}

    def bundle(self) -> str:
        """Digest over the parts that make the task."""
        return bundle_of(self.bodies)

    def task_stands(self) -> bool:
        """Whether the exported task is made of the components as they are now, and no newer gates refused them."""
        return stands(self.bodies)

    async def make(self, component: Component, round: int = 0, feedback: Feedback | None = None) -> Record:
        """Write a component (anew): its body, or its rejection."""
        makers: dict[Component, Callable[[int, Feedback | None], Awaitable[Record]]] = {
            Component.SCENARIO: self._scenario,
            Component.ENVIRONMENT: self._environment,
            Component.INSTRUCTION: self._instruction,
            Component.SOLUTION: self._solution,
            Component.VERIFIER: self._verifier,
        }
        return await makers[component](round, feedback)

    async def execute_again(self, component: Component) -> Record:
        """The same text on changed ground: the solution runs again, the verifier gets new e0 copies."""
        body = self.bodies[component]
        if isinstance(body, Solution):
            return await self._execute(Script(script=body.script, workflow=body.workflow))
        if isinstance(body, Verifier):
            return await self._with_copies(body.test_file)
        return body

    async def validate(self, round: int = 0) -> ValidationReport:
        """Run the gates on the bundle as it stands, from clean."""
        await self.ensure_image()
        terms = self.workshop.construction
        return await validate(
            self.candidate(),
            bundle=self.bundle(),
            sandbox=self.workshop.sandbox,
            repeats=terms.repeats,
            controls_max=terms.controls,
            second=self._second_engineer(round) if terms.alternative else None,
            observe=observe,
            difference=difference,
        )

    def _second_engineer(self, round: int) -> SecondEngineer:
        return SecondEngineer(
            self.workshop.asker,
            self.workshop.sandbox,
            self.seed.seed_id,
            round,
            self.environment.image,
            self.instruction.text,
            self.scenario.requirements,
            self.workshop.construction.limits,
        )

    def candidate(self) -> Candidate:
        """The bundle as it stands, as the gates see it."""
        terms, environment = self.workshop.construction, self.environment
        verifier = self.body(Verifier, Component.VERIFIER)
        return Candidate(
            name=self.seed.seed_id,
            image=environment.image,
            dockerfile=environment.dockerfile,
            context=build_context(environment.materials),
            instruction=self.instruction.text,
            solution=(solve_file(self.solution.script),),
            tests=contents_of_tests(verifier),
            limits=terms.limits,
            solve_timeout_s=terms.solve_timeout_s,
            grade_timeout_s=terms.grade_timeout_s,
            contract=Contract(self.scenario.requirements, self.instruction.clauses, verifier.requirement_table()),
            probes=probes_of(environment.manifest, environment.materials),
            e0=environment.e0,
            diff=self.solution.execution.diff,
        )

    async def ensure_image(self) -> None:
        """Build the environment's image again where it is gone. Raises InfrastructureError where that fails."""
        environment, terms = self.environment, self.workshop.construction
        if await self.workshop.builder.exists(environment.image, self.seed.seed_id):
            return
        result = await rebuild(
            self.seed.seed_id,
            environment,
            builder=self.workshop.builder,
            limits=terms.limits,
            build_timeout_s=terms.build_timeout_s,
        )
        if not result.ok:
            raise InfrastructureError(
                f"the image of {self.seed.seed_id} was built before and cannot be built again: {result.log[-300:]}"
            )
        if result.image != environment.image:
            raise SettingsError(
                f"the environment of {self.seed.seed_id} was made by another version of this program: make it again"
            )

    @property
    def scenario(self) -> Scenario:
        return self.body(Scenario, Component.SCENARIO)

    @property
    def environment(self) -> Environment:
        return self.body(Environment, Component.ENVIRONMENT)

    @property
    def instruction(self) -> Instruction:
        return self.body(Instruction, Component.INSTRUCTION)

    @property
    def solution(self) -> Solution:
        return self.body(Solution, Component.SOLUTION)

    async def _scenario(self, round: int, feedback: Feedback | None) -> Record:
        return await reconstruct(self.seed, self.skills, self.workshop.asker, round=round, feedback=feedback)

    async def _environment(self, round: int, feedback: Feedback | None) -> Record:
        terms = self.workshop.construction
        return await prepare(
            self.seed.seed_id,
            self.scenario,
            asker=self.workshop.asker,
            builder=self.workshop.builder,
            sandbox=self.workshop.sandbox,
            limits=terms.limits,
            build_timeout_s=terms.build_timeout_s,
            repairs=terms.environment_repairs,
            round=round,
            feedback=feedback,
        )

    async def _with_copies(self, test_file: str) -> Verifier:
        await self.ensure_image()
        return await with_e0_copies(
            self.seed.seed_id,
            test_file,
            self.environment,
            self.solution if Component.SOLUTION in self.bodies else None,
            sandbox=self.workshop.sandbox,
            limits=self.workshop.construction.limits,
        )

    async def _drafted(self, component: Component) -> JointDraft | Rejected | None:
        """The answer that holds all three, where the joint scheme makes a component for the first time."""
        if self.scheme is not Scheme.JOINT or component in self.bodies:
            return None
        if self._joint is None:
            await self.ensure_image()
            draft = await write_jointly(
                self.seed.seed_id,
                self.scenario,
                self.environment,
                asker=self.workshop.asker,
                sandbox=self.workshop.sandbox,
                limits=self.workshop.construction.limits,
            )
            if isinstance(draft, Rejected):
                return draft
            self._joint = draft
        return self._joint

    async def _instruction(self, round: int, feedback: Feedback | None) -> Record:
        drafted = await self._drafted(Component.INSTRUCTION)
        if drafted is not None:
            return drafted if isinstance(drafted, Rejected) else drafted.instruction()
        await self.ensure_image()
        return await write_instruction(
            self.seed.seed_id,
            self.scenario,
            self.environment,
            asker=self.workshop.asker,
            sandbox=self.workshop.sandbox,
            limits=self.workshop.construction.limits,
            round=round,
            feedback=feedback,
        )

    async def _solution(self, round: int, feedback: Feedback | None) -> Record:
        drafted = await self._drafted(Component.SOLUTION)
        if drafted is not None:
            return drafted if isinstance(drafted, Rejected) else await self._execute(drafted.solution())
        await self.ensure_image()
        reverse = self.scheme is Scheme.REVERSE
        script = await write_script(
            self.seed.seed_id,
            self.scenario,
            self.environment,
            self.instruction,
            asker=self.workshop.asker,
            sandbox=self.workshop.sandbox,
            limits=self.workshop.construction.limits,
            tests=self.body(Verifier, Component.VERIFIER).test_file if reverse else None,
            round=round,
            feedback=feedback,
        )
        return script if isinstance(script, Rejected) else await self._execute(script)

    async def _execute(self, script: Script) -> Solution:
        await self.ensure_image()
        return await execute(
            self.seed.seed_id,
            script,
            self.environment,
            sandbox=self.workshop.sandbox,
            limits=self.workshop.construction.limits,
            timeout_s=self.workshop.construction.solve_timeout_s,
            observe=observe,
            difference=difference,
        )

    async def _verifier(self, round: int, feedback: Feedback | None) -> Record:
        drafted = await self._drafted(Component.VERIFIER)
        if drafted is not None:
            return drafted if isinstance(drafted, Rejected) else await self._with_copies(drafted.test_file)
        await self.ensure_image()
        return await write_verifier(
            self.seed.seed_id,
            self.scenario,
            self.environment,
            self.instruction,
            None if self.scheme is Scheme.REVERSE else self.solution,
            asker=self.workshop.asker,
            sandbox=self.workshop.sandbox,
            limits=self.workshop.construction.limits,
            solve_timeout_s=self.workshop.construction.solve_timeout_s,
            round=round,
            feedback=feedback,
        )
