"""A scenario with two requirements, its environment, instruction and solution."""

import pytest

from facet_dagster.records.authoring import Execution, FileChange, Instruction, Solution, StateDiff
from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedFile, ObservedState
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.testing.examples import a_scenario, an_environment

TEXT = (
    "Merge the two order exports in /app/in into /app/merged.csv, comma separated with a header line.\n"
    "Sort by id. Leave every other file as it is, except that /app/in/a.csv loses its empty lines."
)


@pytest.fixture
def scenario() -> Scenario:
    return a_scenario(
        title="Merge orders",
        description="Two order exports are merged.",
        skill_ids=("csv-00000000",),
        solution_reference="Read both, merge by id.",
        instruction_reference="Write merged.csv.",
        requirements=(
            Requirement(id="R1", text="merged and sorted", observable="/app/merged.csv"),
            Requirement(id="R2", text="empty lines are gone", observable="/app/in/a.csv"),
        ),
    )


def observed(path: str, sha256: str, size: int = 8) -> ObservedFile:
    return ObservedFile(path=path, type="file", size=size, mode="0644", owner="agent", sha256=sha256, sniffed="text")


@pytest.fixture
def environment() -> Environment:
    nothing = Materials(
        apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
    )
    plan = Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[])
    files = (observed("/app/in/a.csv", "a"), observed("/app/in/b.csv", "b"))
    return an_environment(
        manifest=plan,
        materials=nothing,
        image="facet-env:1",
        e0=ObservedState(files=files, packages=(), tools={}, users=(), listening=()),
    )


@pytest.fixture
def instruction() -> Instruction:
    return Instruction(text=TEXT, clauses={"R1": "into /app/merged.csv", "R2": "loses its  empty\nlines"})


@pytest.fixture
def diff() -> StateDiff:
    return StateDiff(
        files=(
            FileChange(
                path="/app/in/a.csv",
                change="changed",
                before=observed("/app/in/a.csv", "a"),
                after=observed("/app/in/a.csv", "c"),
            ),
            FileChange(path="/app/merged.csv", change="added", after=observed("/app/merged.csv", "m")),
        )
    )


@pytest.fixture
def solution(diff: StateDiff) -> Solution:
    execution = Execution(exit_code=0, output="merged 3 rows", seconds=1.0, limit=None, diff=diff)
    return Solution(script="#!/bin/bash\nmerge\n", workflow="merge by id", execution=execution)
