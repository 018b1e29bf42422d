"""A small scenario, plan and materials to build on."""

import pytest

from facet_dagster.records.environment import ExpectedProperty, Generator, InlineFile, Manifest, Materials, PlannedFile
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.testing.examples import a_scenario


@pytest.fixture
def scenario() -> Scenario:
    return a_scenario(
        title="Merge orders",
        description="Two order exports are merged.",
        skill_ids=("csv-00000000",),
        solution_reference="Read both, merge by id.",
        instruction_reference="Write merged.csv.",
        requirements=(Requirement(id="R1", text="merged", observable="/app/merged.csv"),),
    )


@pytest.fixture
def manifest() -> Manifest:
    return Manifest(
        directories=["/app/out"],
        files=[PlannedFile(path="/app/a.csv", purpose="orders", format="csv", made_by="inline")],
        apt_packages=[],
        pip_packages=[],
        services=[],
        properties=[ExpectedProperty(id="P1", description="an id appears twice", probe="grep -c '^7,' a.csv")],
    )


@pytest.fixture
def materials(manifest: Manifest) -> Materials:
    return Materials(
        apt_packages=[],
        pip_packages=[],
        files=[InlineFile(path="/app/a.csv", content="id,total\n7,1.5\n7,2.5\n")],
        generators=[Generator(name="history", program="print('made')\n")],
        setup_commands=["mkdir -p /app/out"],
        services=[],
        properties=manifest.properties,
    )
