"""A tiny task that was accepted, put into a store by hand: for tests of what comes after construction."""

from collections.abc import Sequence

from facet_dagster.environment.dockerfile import render_dockerfile
from facet_dagster.environment.rebuild import build_request
from facet_dagster.makers import bundle_of
from facet_dagster.ports import Store
from facet_dagster.records.authoring import Execution, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.base import Record, now
from facet_dagster.records.bundle import ComponentVersion, Origin, SeedOutcome, Status, Task
from facet_dagster.records.environment import InlineFile
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import ConstructionTerms
from facet_dagster.records.validation import ValidationReport
from facet_dagster.testing.examples import a_scenario, an_environment
from facet_dagster.validation.validate import GATES_VERSION

SEED = "tiny"
RUN = "made-by-hand"
_TEST = """\
from pathlib import Path


def test_r1_sorted():
    assert Path("/app/out.txt").read_text() == "a\\nb\\n"
"""


def version_of(component: Component, body: Record, sequence: int = 0, seed: str = SEED) -> ComponentVersion:
    """A version of a component that cost nothing."""
    return ComponentVersion.model_validate({
        "seed": seed, "component": component, "sequence": sequence, "round": 0, "origin": Origin.AUTHORED,
        "inputs": {}, "diagnosis": None, "code_version": "1", "run_id": RUN, "at": now(), "seconds": 0.0,
        "tokens": 0, "cost_usd": 0.0, "body": body,
    })  # fmt: skip


def put_accepted_task(store: Store, given: str = "b\na\n") -> str:
    """Sort /app/in.txt, which holds `given`, into /app/out.txt; the seed's id. The image is still to be built."""
    skill = Skill(
        skill_id="s-1", source="samples", path="s/SKILL.md", content_hash="c" * 64, name="s", description="d", body="b",
        licence="MIT",
    )  # fmt: skip
    store.put(skill)
    store.put(ScenarioSeed(seed_id=SEED, title="Sort", skill_ids=("s-1",), hypothesis_ids=(), rationale=""))
    versions = [version_of(component, body, number) for number, (component, body) in enumerate(_bodies(given))]
    for version in versions:
        store.put(version)
    store.put(
        SeedOutcome(
            seed=SEED,
            sequence=len(versions) - 1,
            status=Status.ACCEPTED,
            first_pass=True,
            rounds=0,
            run_id=RUN,
            at=now(),
        )
    )
    return SEED


def _bodies(given: str) -> Sequence[tuple[Component, Record]]:
    terms = ConstructionTerms()
    environment = an_environment()
    materials = environment.materials.model_copy(update={"files": [InlineFile(path="/app/in.txt", content=given)]})
    image = build_request(SEED, materials, terms.limits, terms.build_timeout_s).tag()
    built = {"materials": materials, "image": image, "dockerfile": render_dockerfile(materials, standalone=False)}
    run = Execution(exit_code=0, output="", seconds=0, limit=None, diff=StateDiff(files=()))
    bodies: dict[Component, Record] = {
        Component.SCENARIO: a_scenario(),
        Component.ENVIRONMENT: environment.model_copy(update=built),
        Component.INSTRUCTION: Instruction(text="Sort /app/in.txt into /app/out.txt.", clauses={"R1": "Sort"}),
        Component.SOLUTION: Solution(script="sort /app/in.txt > /app/out.txt", workflow="", execution=run),
        Component.VERIFIER: Verifier(test_file=_TEST, e0_copies=(), tests=("test_r1_sorted",)),
    }
    bundle = bundle_of(bodies)
    report = ValidationReport(
        bundle=bundle, gates_version=GATES_VERSION, verdict=True, gates=(), noop_runs=(), oracle_runs=()
    )
    task = Task(name=f"facet-dagster/{SEED}", bundle=bundle, rounds={}, tests=1, directory=SEED)
    return [*bodies.items(), (Component.VALIDATION, report), (Component.TASK, task)]
