"""A small world in which a seed can be walked without Docker and without a model.

Images and containers are FakeSandbox trees. A solution is a list of `put PATH TEXT` lines; a verifier passes when
each of its `# want PATH TEXT` comments holds. Everything else - stations, gates, routing, guards - is the real thing.
"""

import hashlib
import json
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
from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult
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
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox, always_builds
from facet_dagster.testing.scripted_model import ScriptedModel
from facet_dagster.workshop import CODE_VERSION, Workshop

OK = CommandResult(exit_code=0, output="", seconds=0.0)
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


def _observe(container: FakeContainer) -> CommandResult:
    files = [
        {
            "path": path,
            "type": "file",
            "size": len(data),
            "mode": "0644",
            "owner": "agent",
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for path, data in sorted(container.files.items())
        if path.startswith("/app/")
    ]
    state = {"files": files, "packages": [], "tools": {}, "users": [], "listening": []}
    container.files["/usr/local/lib/facet-observe/state.json"] = json.dumps(state).encode()
    return OK


def _solve(container: FakeContainer) -> CommandResult:
    for line in container.files["/solution/solve.sh"].decode().splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["put"]:
            container.files[words[1]] = words[2].encode()
        if words[:1] == ["fail"]:
            return CommandResult(exit_code=1, output="sort: cannot read", seconds=0.1)
    return OK


def _grade(container: FakeContainer) -> CommandResult:
    wants = [
        line.split(maxsplit=3)[2:]
        for line in container.files["/tests/test_outputs.py"].decode().splitlines()
        if line.startswith("# want ")
    ]
    held = all(container.files.get(path, b"").decode() == text for path, text in wants)
    message = "" if held else "AssertionError: /app/out.txt: expected other content"
    tests = [{"name": "test_r1_sorted", "outcome": "passed" if held else "failed", "message": message}]
    container.files["/logs/verifier/results.json"] = json.dumps(
        {"trouble": None, "limit": None, "tests": tests}
    ).encode()
    container.files["/logs/verifier/reward.json"] = json.dumps({"reward": 1.0 if held else 0.0}).encode()
    return OK


def _spoil(container: FakeContainer, script: str) -> CommandResult:
    """The control scripts that these small tasks meet."""
    words = shlex.split(script)
    if script.startswith("cat /facet-control >"):
        container.files[words[-1]] = container.files["/facet-control"]
    elif script.startswith(": >"):
        container.files[words[-1]] = b""
    elif script.startswith("rm -f -- "):
        del container.files[words[-1]]
    elif script.startswith("mv -T"):
        container.files[words[-1]] = container.files.pop(words[-2])
    elif script.startswith("cat < "):
        container.files[words[-1]] = container.files[words[2]]
    return OK


def answer(container: FakeContainer, command: Command) -> CommandResult:
    if "runpy" in command.script:
        return _observe(container)
    if command.script == "bash /solution/solve.sh":
        return _solve(container)
    if command.script.endswith("exec /tests/test.sh"):
        return _grade(container)
    return _spoil(container, command.script) if container.spec.purpose == "control" else OK


class Builder(FakeImageBuilder):
    """Puts the context's files where the Dockerfile's COPY would."""

    async def build(self, request: BuildRequest) -> BuildResult:
        result = await super().build(request)
        if result.ok:
            tree = self._sandbox.images[result.image]
            self._sandbox.images[result.image] = {path.removeprefix("/files"): data for path, data in tree.items()}
        return result


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
            builder=Builder(sandbox, builds),
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
