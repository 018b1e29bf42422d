"""A small world in which a seed can be walked without Docker and without a model.

Containers answer as testing/toy_tasks.py says. Stations, gates, routing and guards are the real ones.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.records.base import now
from facet_dagster.records.bundle import ComponentVersion, Origin, SeedOutcome
from facet_dagster.records.call import Role
from facet_dagster.records.outcome import Component
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import ConstructionTerms
from facet_dagster.testing.examples import a_scenario
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.sandbox import FakeSandbox, always_builds
from facet_dagster.testing.scripted_model import ScriptedModel
from facet_dagster.testing.toy_tasks import ToyBuilder, answer
from facet_dagster.workshop import CODE_VERSION, Workshop

SEED = ScenarioSeed(
    seed_id="sort-a-list-ab12", title="Sort a list", skill_ids=("s-1",), hypothesis_ids=(), rationale=""
)
SKILL = Skill(
    skill_id="s-1", source="test", path="s", content_hash="0" * 64, name="s", description="d", body="b", licence="MIT"
)


def scenario() -> Scenario:
    requirement = Requirement(id="R1", text="/app/out.txt holds the list in order", observable="/app/out.txt")
    return a_scenario(
        title="Sort a list",
        description="A list is to be sorted.",
        skill_ids=("s-1",),
        solution_reference="sort it",
        instruction_reference="write /app/out.txt",
        requirements=(requirement,),
    )


MANIFEST = {
    "directories": [],
    "files": [{"path": "/app/in.txt", "purpose": "the list", "format": "lines", "made_by": "inline"}],
    "apt_packages": [],
    "pip_packages": [],
    "services": [],
    "properties": [{"id": "P1", "description": "the list is unsorted", "probe": "head -1 /app/in.txt | grep -q b"}],
}


def materials(content: str = "b\na\n") -> dict[str, Any]:
    return {
        "apt_packages": [],
        "pip_packages": [],
        "files": [{"path": "/app/in.txt", "content": content, "executable": False}],
        "generators": [],
        "setup_commands": [],
        "services": [],
        "properties": MANIFEST["properties"],
    }


TEXT = (
    "The team's list in `/app/in.txt` has one entry per line and is out of order. Write the sorted list to "
    "`/app/out.txt`, its entries one after the other in alphabetical order, and leave the original as it is."
)
INSTRUCTION = {"text": TEXT, "clauses": {"R1": "Write the sorted list"}}


def solution(*puts: tuple[str, str], note: str = "") -> dict[str, str]:
    lines = "\n".join(f"put {path} {shlex.quote(text)}" for path, text in puts)
    return {"script": f"#!/bin/bash\nset -euo pipefail\n{lines}\n{note}\n", "workflow": "sort"}


def verifier(*wants: tuple[str, str], note: str = "") -> dict[str, str]:
    comments = "\n".join(f"# want {path} {text}" for path, text in wants)
    test = "def test_r1_sorted():\n    from pathlib import Path\n    text = Path('/app/out.txt').read_text()\n"
    return {"test_file": f"{comments}\n# {note}\n{test}    assert text, 'empty'\n    assert 'a' in text, 'no a'\n"}


def good_script() -> dict[str, list[Any]]:
    """Answers by station with which the seed is accepted at the first pass."""
    return {
        "environment.manifest": [MANIFEST],
        "environment.materials": [materials()],
        "authoring.instruction": [INSTRUCTION],
        "authoring.solution": [solution(("/app/out.txt", "ab"))],
        "authoring.verifier": [verifier(("/app/out.txt", "ab"))],
    }


@dataclass
class Seen:
    """A watcher that remembers."""

    versions: list[ComponentVersion] = field(default_factory=list)
    outcomes: list[SeedOutcome] = field(default_factory=list)

    def started(self, seed: str, component: Component, round: int) -> None:
        pass

    def finished(self, version: ComponentVersion) -> None:
        self.versions.append(version)

    def ended(self, outcome: SeedOutcome) -> None:
        self.outcomes.append(outcome)

    def steps(self) -> list[tuple[str, int, str]]:
        return [(v.component.value, v.round, v.origin.value) for v in self.versions]


class World:
    """A store that lives on while processes (workshops) come and go."""

    def __init__(self, out: Path) -> None:
        self.store = MemoryStore()
        self.out = out
        self.store.put(SEED)
        self.store.put(SKILL)
        self.store.put(
            ComponentVersion(
                seed=SEED.seed_id,
                component=Component.SCENARIO,
                sequence=0,
                round=0,
                origin=Origin.AUTHORED,
                inputs={},
                diagnosis=None,
                code_version=CODE_VERSION,
                run_id="before",
                at=now(),
                seconds=0.0,
                tokens=0,
                cost_usd=0.0,
                body=scenario(),
            )
        )

    def workshop(
        self,
        script: Mapping[str, Any],
        *,
        terms: ConstructionTerms | None = None,
        run_id: str = "run-1",
        builds: Any = always_builds,
    ) -> Workshop:
        from facet_dagster.adapters.ledger import StoreLedger

        names = {role: "scripted" for role in Role}
        ledger = StoreLedger(self.store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id=run_id)
        self.model = ScriptedModel(script)
        sandbox = FakeSandbox(answer)
        return Workshop(
            model=MeteredModel(self.model, store=self.store, ledger=ledger, names=names, in_flight=2),
            embedder=HashEmbedder(),
            builder=ToyBuilder(sandbox, builds),
            sandbox=sandbox,
            store=self.store,
            ledger=ledger,
            run_id=run_id,
            out=self.out,
            organisation="test",
            model_names=names,
            construction=terms or ConstructionTerms(),
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "out")
