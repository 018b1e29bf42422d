"""Bodies of a small bundle and versions of them, for tests of repair."""

from collections.abc import Callable
from typing import Any

import pytest

from facet_dagster.records.authoring import Execution, FileChange, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.base import Record, now
from facet_dagster.records.bundle import ComponentVersion, Origin
from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedFile, ObservedState
from facet_dagster.records.outcome import Component
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.records.validation import Diagnosis
from facet_dagster.testing.examples import a_scenario, an_environment

TESTS = """\
from pathlib import Path


def total():
    return Path("/app/total.txt").read_text().strip()


def test_r1_total():
    assert total() == "12.50", "total must be 12.50"


def test_r2_rejects():
    rows = Path("/app/rejects.csv").read_text().splitlines()
    assert rows[0] == "line,reason"
    assert len(rows) == 3
"""


def _scenario() -> Scenario:
    requirements = tuple(
        Requirement(id=f"R{n}", text=text, observable="a file")
        for n, text in enumerate(("the total is written", "rejected lines are listed"), start=1)
    )
    return a_scenario(
        title="Ledger",
        description="Add up a ledger.",
        skill_ids=("a", "b"),
        solution_reference="sum the second column",
        instruction_reference="write the total",
        requirements=requirements,
    )


def _environment() -> Environment:
    ledger = ObservedFile(path="/app/ledger.csv", type="file", size=90, mode="0644", owner="agent", sample="day,amount")
    return an_environment(
        manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
        materials=Materials(
            apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
        ),
        dockerfile="FROM base",
        image="facet-env:1",
        e0=ObservedState(files=(ledger,), packages=(), tools={}, users=(), listening=()),
    )


def _solution() -> Solution:
    written = ObservedFile(path="/app/total.txt", type="file", size=5, mode="0644", owner="agent", sample="12.5")
    diff = StateDiff(files=(FileChange(path="/app/total.txt", change="added", after=written),))
    ran = Execution(exit_code=0, output="wrote the total", seconds=0.1, limit=None, diff=diff)
    return Solution(script="awk -f sum.awk ledger.csv > total.txt", workflow="sums", execution=ran)


@pytest.fixture
def bodies() -> dict[Component, Record]:
    """A whole bundle."""
    instruction = Instruction(
        text="Write the total of /app/ledger.csv to /app/total.txt with two decimals.",
        clauses={"R1": "Write the total", "R2": "List rejected lines"},
    )
    verifier = Verifier(test_file=TESTS, e0_copies=(), tests=("test_r1_total", "test_r2_rejects"))
    return {
        Component.SCENARIO: _scenario(),
        Component.ENVIRONMENT: _environment(),
        Component.INSTRUCTION: instruction,
        Component.SOLUTION: _solution(),
        Component.VERIFIER: verifier,
    }


@pytest.fixture
def repaired() -> Callable[..., ComponentVersion]:
    """Makes a version that answers a diagnosis."""

    def make(body: Record, diagnosis: Diagnosis | None, *, round: int = 1, sequence: int = 7) -> ComponentVersion:
        values: dict[str, Any] = {
            "seed": "s1",
            "component": diagnosis.component if diagnosis else Component.VERIFIER,
            "sequence": sequence,
            "round": round,
            "origin": Origin.REPAIRED if diagnosis else Origin.AUTHORED,
            "inputs": {},
            "diagnosis": diagnosis,
            "code_version": "1",
            "run_id": "run",
            "at": now(),
            "seconds": 0.0,
            "tokens": 0,
            "cost_usd": 0.0,
            "body": body,
        }
        return ComponentVersion.model_validate(values)

    return make
