"""A graph over fakes: a store in memory, and front doors that walk seeds without a model or an engine."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.partitions import scenario_seed
from facet_dagster import pipeline
from facet_dagster.construction import Watcher
from facet_dagster.makers import INPUTS
from facet_dagster.records.authoring import Execution, FileChange, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.base import Record, now
from facet_dagster.records.bundle import ComponentVersion, Origin, SeedOutcome, Status, Task
from facet_dagster.records.environment import Manifest, Materials, ObservedFile, ObservedState
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.skill import Skill, SkillClass
from facet_dagster.records.terms import IngestTerms
from facet_dagster.records.validation import Gate, GateResult, GradeReport, TestResult, ValidationReport
from facet_dagster.seeds.pipeline import SeedResult
from facet_dagster.settings import Settings
from facet_dagster.testing.examples import a_scenario, an_environment
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.workshop import Workshop
from resources.workshop import Session

SEEDS = ("alpha", "beta", "delta", "gamma")
REFUSED = "delta"  # its solution fails


def make_seed(seed_id: str) -> ScenarioSeed:
    return ScenarioSeed(seed_id=seed_id, title=seed_id.title(), skill_ids=(), hypothesis_ids=(), rationale="fits")


def make_body(component: Component, seed: str, round: int = 0) -> Record:
    """A usable body that differs by seed and round."""
    mark = f"{seed} {round}"
    grade = GradeReport(
        reward=1.0, tests=(TestResult(name="test_r1_x", outcome="passed"),), executed=1, seconds=0.1, output="ok"
    )
    bodies: dict[Component, Callable[[], Record]] = {
        Component.SCENARIO: lambda: _scenario(mark),
        Component.ENVIRONMENT: lambda: an_environment(
            manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
            materials=Materials(
                apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
            ),
            dockerfile=f"FROM base\n# {mark}",
            image="facet-env:1",
            e0=ObservedState(
                files=(ObservedFile(path="/app/a", type="file", size=1, mode="0644", owner="agent"),),
                packages=(),
                tools={},
                users=(),
                listening=(),
            ),
        ),
        Component.INSTRUCTION: lambda: Instruction(text=f"Do {mark}.", clauses={"R1": "Do"}),
        Component.SOLUTION: lambda: make_solution(mark),
        Component.VERIFIER: lambda: Verifier(test_file=f"# {mark}", e0_copies=(), tests=("test_r1_x",)),
        Component.VALIDATION: lambda: ValidationReport(
            bundle=mark,
            verdict=True,
            gates=(GateResult(gate=Gate.NOOP, passed=True, runs=2, evidence="0.0 twice"),),
            noop_runs=(),
            oracle_runs=(grade,),
            oracle_outputs=("done",),
        ),
        Component.TASK: lambda: Task(name=f"org/{seed}", bundle=mark, rounds={}, tests=1, directory="tasks/x"),
    }
    return bodies[component]()


def make_solution(mark: str, exit_code: int = 0) -> Solution:
    diff = StateDiff(files=(FileChange(path="/app/b", change="added"),))
    run = Execution(exit_code=exit_code, output="ran", seconds=0.1, limit=None, diff=diff)
    return Solution(script=f"echo {mark} > b", workflow="echo", execution=run)


def _scenario(mark: str) -> Scenario:
    return a_scenario(
        title=mark,
        description="d",
        skill_ids=(),
        solution_reference="s",
        instruction_reference="i",
        requirements=(Requirement(id="R1", text="t", observable="o"),),
    )


def make_version(component: Component, seed: str, sequence: int, body: Record, **changes: Any) -> ComponentVersion:
    values: dict[str, Any] = {
        "seed": seed,
        "component": component,
        "sequence": sequence,
        "round": 0,
        "origin": Origin.AUTHORED,
        "inputs": {},
        "diagnosis": None,
        "code_version": "1",
        "run_id": "r",
        "at": now(),
        "seconds": 1.5,
        "tokens": 10,
        "cost_usd": 0.01,
        "body": body,
    }
    return ComponentVersion.model_validate({**values, **changes})


class FakeDoors:
    """Walks like the pipeline, as far as a watcher and the store can tell; `made` lists what was made."""

    def __init__(self, refused: Sequence[str] = (REFUSED,)) -> None:
        self.refused = set(refused)
        self.remembers = True  # a seed that has ended is not walked again
        self.made: list[tuple[str, Component]] = []
        self.trials: Mapping[str, list[Trial] | Exception] = {}

    skill_sources = staticmethod(pipeline.skill_sources)  # needs neither a model nor an engine
    ingest_skills = staticmethod(pipeline.ingest_skills)

    async def decide_open(
        self, workshop: Workshop, terms: IngestTerms, progress: Callable[[str], None] | None = None
    ) -> list[SkillClass]:
        opinion = SkillClass(content_hash="c", actionable=False, decided_by="model", evidence="no")
        return [opinion] if terms.decide_open == "model" and workshop.store.put(opinion) else []

    async def plan_seeds(
        self, skills: Sequence[Skill], workshop: Workshop, progress: Callable[[str], None] | None = None
    ) -> SeedResult:
        assert progress
        progress("planning")
        seeds = [make_seed(seed_id) for seed_id in SEEDS]
        for seed in seeds:
            workshop.store.put(seed)
        kept = Candidate(
            candidate_id="c1", hypothesis_ids=("h",), skill_ids=("a", "b"), similarity=0.5, kept=False, rationale="no"
        )
        hypothesis = Hypothesis(
            hypothesis_id="h", skill_id="a", context="c", goal="g", initial_state="i", final_state="f"
        )
        return SeedResult(seeds=seeds, candidates=[kept], hypotheses=[hypothesis])

    def find_seeds(self, workshop: Workshop, seed_ids: Sequence[str] | None = None) -> list[ScenarioSeed]:
        return [make_seed(seed_id) for seed_id in seed_ids or SEEDS]

    async def construct_seeds(
        self,
        seeds: Sequence[ScenarioSeed],
        workshop: Workshop,
        watcher: Watcher,
        *,
        selection: frozenset[Component] | None = None,
    ) -> list[SeedOutcome]:
        return [self._walk(seed.seed_id, workshop, watcher, selection) for seed in seeds]

    def _walk(
        self, seed: str, workshop: Workshop, watcher: Watcher, selection: frozenset[Component] | None
    ) -> SeedOutcome:
        store = workshop.store
        before = store.rows(ComponentVersion, seed)
        ended = store.rows(SeedOutcome, seed)
        if ended and selection is None and self.remembers:
            watcher.ended(ended[-1])
            return ended[-1]
        status, why = Status.ACCEPTED, None
        sequence = len(before)
        digests = {version.component: version.body.digest() for version in before}
        for component in [c for c in Component if selection is None or c in selection]:
            watcher.started(seed, component, 0)
            body = make_body(component, seed, len(before))
            if component is Component.SOLUTION and seed in self.refused:
                body = make_solution(seed, exit_code=1)
            inputs = {name.value: digests[name] for name in INPUTS[component] if name in digests}
            digests[component] = body.digest()
            version = make_version(component, seed, sequence, body, inputs=inputs)
            store.put(version)
            self.made.append((seed, component))
            watcher.finished(version)
            sequence += 1
            if version.rejected:
                status, why = Status.REJECTED, version.rejected
                break
        outcome = make_outcome(seed, status, why, sequence - 1)
        store.put(outcome)
        watcher.ended(outcome)
        return outcome

    async def roll_out(self, seed_id: str, workshop: Workshop, slots: Any = None) -> list[Trial]:
        found = self.trials.get(seed_id, [])
        await asyncio.sleep(0.01 if isinstance(found, list) else 0)  # trouble comes first
        if isinstance(found, Exception):
            raise found
        return found

    def build_task_dataset(self, workshop: Workshop) -> Mapping[str, Any]:
        return {"tasks": 3, "directory": "out/tasks", "names": ["org/alpha"]}

    def build_sft_dataset(self, workshop: Workshop) -> Mapping[str, Any]:
        step = {"rule": "failure", "asked": "complete successes", "removed": 1, "left": 2}
        return {"rows": 2, "path": "out/sft.jsonl", "funnel": [step]}


def make_outcome(seed: str, status: Status, why: Rejected | None = None, sequence: int = 0) -> SeedOutcome:
    return SeedOutcome(
        seed=seed,
        sequence=sequence,
        status=status,
        first_pass=status is Status.ACCEPTED,
        rounds=0,
        component=why.component if why else None,
        reason=why.reason if why else None,
        evidence=why.evidence if why else "",
        run_id="r",
        at=now(),
    )


def trial_of(seed: str, reward: float | None) -> Trial:
    stop = StopReason.INFRASTRUCTURE if reward is None else StopReason.COMPLETED
    return Trial(
        seed=seed,
        task=f"org/{seed}",
        bundle="b",
        attempt=0,
        model="m",
        recorded=True,
        stop=stop,
        reward=reward,
        grade=None if reward is None else GradeReport(reward=reward, tests=(), executed=0, seconds=0.0, output=""),
        turns=(),
        seconds=1.0,
        started_at=now(),
        run_id="r",
    )


class Notebook:
    """An onlooker that keeps what it sees."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.ended_seeds: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def started(self, seed: str, component: Component, round: int) -> None: ...

    def finished(self, version: ComponentVersion) -> None: ...

    def ended(self, outcome: SeedOutcome) -> None:
        self.ended_seeds.append(outcome.seed)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        made.add_dynamic_partitions(scenario_seed.name, list(SEEDS))
        yield made


@pytest.fixture
def doors() -> FakeDoors:
    return FakeDoors()


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def overrides(doors: FakeDoors, notebook: Notebook, store: MemoryStore, tmp_path: Path) -> dict[str, object]:
    """What build_defs is given in place of the outside world. Ports that the fakes never touch stay empty."""
    nothing: Any = None
    workshop = Workshop(
        model=nothing,
        embedder=nothing,
        builder=nothing,
        sandbox=nothing,
        store=store,
        ledger=nothing,
        run_id="r",
        out=tmp_path,
        organisation="org",
        model_names={},
    )
    session = Session(Settings(skills=tmp_path, store=str(tmp_path / "store"), out=tmp_path / "out"), workshop)
    return {
        "workshop": session,
        "settings": session.settings,
        "store": store,
        "doors": doors,
        "results": doors,
        "onlooker": notebook,
    }


@pytest.fixture
def make_trial() -> Callable[[str, float | None], Trial]:
    return trial_of


@pytest.fixture
def version_of() -> Callable[..., ComponentVersion]:
    """A version of a component of `alpha`, with a given body or a usable one."""

    def make(component: Component, body: Record | None = None, **changes: Any) -> ComponentVersion:
        return make_version(component, "alpha", 0, body or make_body(component, "alpha"), **changes)

    return make
