"""A small scenario, plan and materials to build on."""

import pytest

from facet_dagster.records.environment import ExpectedProperty, Generator, InlineFile, Manifest, Materials, PlannedFile
from facet_dagster.records.scenario import (
    Association,
    Consistency,
    Dimensions,
    Evolution,
    Expansion,
    Exploration,
    Requirement,
    Scenario,
)


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(
        title="Merge orders",
        description="Two order exports are merged.",
        dimensions=Dimensions(goal="g", context="c", capability="c", state="s", inputs_outputs_tools="i"),
        skill_ids=("csv-00000000",),
        dropped_skills={},
        analyses=(),
        exploration=Exploration(settings=[]),
        association=Association(setting="s", kept_skills=[], dropped_skills={}, use_of_each={}),
        evolution=Evolution(initial_state="i", transitions=[], intermediate_artifacts=[], recovery=[], final_state="f"),
        expansion=Expansion(resources=[], formats=[], constraints=[], success_conditions=[]),
        solution_reference="Read both, merge by id.",
        instruction_reference="Write merged.csv.",
        requirements=(Requirement(id="R1", text="merged", observable="/app/merged.csv"),),
        consistency=Consistency(consistent=True, problems=[]),
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
