"""Smallest valid records for tests that need one to be there; what a test is about it says itself, by keyword."""

from typing import Any

from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedFile, ObservedState
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


def a_scenario(**changes: Any) -> Scenario:
    """A consistent scenario with one requirement."""
    scenario = Scenario(
        title="Sort a list",
        description="A list is to be sorted.",
        dimensions=Dimensions(goal="g", context="c", capability="k", state="s", inputs_outputs_tools="i"),
        skill_ids=("s-1",),
        dropped_skills={},
        analyses=(),
        exploration=Exploration(settings=[]),
        association=Association(setting="s", kept_skills=[], dropped_skills={}, use_of_each={}),
        evolution=Evolution(initial_state="i", transitions=[], intermediate_artifacts=[], recovery=[], final_state="f"),
        expansion=Expansion(resources=[], formats=[], constraints=[], success_conditions=[]),
        solution_reference="Sort it.",
        instruction_reference="Write /app/out.txt.",
        requirements=(Requirement(id="R1", text="/app/out.txt holds the list in order", observable="/app/out.txt"),),
        consistency=Consistency(consistent=True, problems=[]),
    )
    return scenario.model_copy(update=changes)


def an_environment(**changes: Any) -> Environment:
    """A built environment without files."""
    environment = Environment(
        manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
        materials=Materials(
            apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
        ),
        dockerfile="FROM x",
        image="facet-env:1",
        build_seconds=1.0,
        probes=(),
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
        build_repairs=0,
    )
    return environment.model_copy(update=changes)


def an_observed_file(path: str, **changes: Any) -> ObservedFile:
    """A small file of the agent's, with its path for a digest."""
    values = {"path": path, "type": "file", "size": 9, "mode": "0644", "owner": "agent", "sha256": path, **changes}
    return ObservedFile.model_validate(values)
