"""One small accepted bundle, complete in every part that an export reads."""

from types import SimpleNamespace

import pytest

from facet_dagster.records.authoring import Execution, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.container import FileEntry
from facet_dagster.records.environment import Manifest, Materials, ObservedState
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.validation import ValidationReport
from facet_dagster.testing.examples import a_scenario, an_environment

NOTHING = {"files": [], "apt_packages": [], "pip_packages": [], "services": [], "properties": []}


@pytest.fixture
def skills() -> list[Skill]:
    return [
        Skill(skill_id=f"{name}-1", source="samples", path=f"{name}/SKILL.md", content_hash=name[0] * 64, name=name,
              description="d", body="b", licence=licence)
        for name, licence in (("csv-tools", "MIT"), ('od|d "name"', "Apache-2.0"))
    ]  # fmt: skip


@pytest.fixture
def scenario() -> Scenario:
    return a_scenario(
        title='Totals "per region" \\ and day',
        description="d",
        skill_ids=("csv-tools-1",),
        solution_reference="",
        instruction_reference="",
        requirements=(
            Requirement(id="R1", text="totals | per region", observable="o"),
            Requirement(id="R2", text="input untouched", observable="o"),
        ),
    )


@pytest.fixture
def bundle(skills, scenario) -> SimpleNamespace:
    """Keyword arguments of export_task, as attributes."""
    diff = StateDiff(files=())
    return SimpleNamespace(
        org="org",
        seed=ScenarioSeed(
            seed_id="csv-totals", title="t", skill_ids=("csv-tools-1",), hypothesis_ids=(), rationale="r"
        ),
        skills=skills,
        scenario=scenario,
        environment=an_environment(
            manifest=Manifest(directories=[], **NOTHING),
            materials=Materials(generators=[], setup_commands=[], **NOTHING),
            dockerfile="FROM x\n",
            image="facet-env:1",
            build_seconds=1,
            e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
            build_repairs=1,
        ),
        instruction=Instruction(text="Write /app/out.json.", clauses={"R1": "x"}),
        solution=Solution(
            script="#!/bin/bash\ntrue\n",
            workflow="w",
            execution=Execution(exit_code=0, output="", seconds=1, limit=None, diff=diff),
        ),
        verifier=Verifier(
            test_file="def test_r1_totals(): ...\n",
            e0_copies=(FileEntry(path="/app/in.csv", content="AAH/", encoding="base64"),),
            tests=("test_r1_totals", "test_r1_r2_both"),
        ),
        report=ValidationReport(bundle="b" * 64, verdict=True, gates=(), noop_runs=(), oracle_runs=()),
        provenance={"models": {"author": "m"}, "cost_usd": 0.5, "rounds": {"verifier": 1}, "recorded": True},
        dockerfile="FROM debian:bookworm-slim\nCOPY files/ /\n",
        context=(FileEntry(path="files/app/in.csv", content="a\n"), FileEntry(path="build/x", content="", mode=0o755)),
    )
