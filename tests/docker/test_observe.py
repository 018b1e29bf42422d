"""A whole environment on a real engine: built, started, observed, solved, and the difference observed again."""

from collections.abc import AsyncIterator, Callable

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.authoring.solution import Script, execute
from facet_dagster.environment.observe import difference, observe
from facet_dagster.environment.prepare import prepare
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.authoring import Solution
from facet_dagster.records.container import Limits
from facet_dagster.records.environment import (
    Environment,
    ExpectedProperty,
    Generator,
    InlineFile,
    Manifest,
    Materials,
    PlannedFile,
    Service,
)
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.testing.examples import a_scenario
from facet_dagster.testing.scripted_model import ScriptedModel

pytestmark = pytest.mark.docker

HISTORY = """
import os, sqlite3, subprocess
fixed = dict(os.environ, GIT_AUTHOR_DATE="2024-01-02T03:04:05Z", GIT_COMMITTER_DATE="2024-01-02T03:04:05Z")
fixed |= {f"GIT_{who}_{what}": "dev@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
os.makedirs("/app/repo")
open("/app/repo/notes.txt", "w").write(open("/app/a.csv").read())
for command in (["init", "-b", "main"], ["add", "."], ["commit", "-m", "first"]):
    subprocess.run(["git", *command], cwd="/app/repo", env=fixed, check=True)
with sqlite3.connect("/app/orders.db") as connection:
    connection.execute("CREATE TABLE orders (id INTEGER, total REAL)")
    connection.execute("INSERT INTO orders VALUES (7, 1.5)")
"""
SERVICE = Service(
    name="web",
    command="sleep 1; exec python3 -m http.server 8000 --directory /app --bind 127.0.0.1",
    health="curl -fs http://127.0.0.1:8000/a.csv >/dev/null",
)
PROPERTIES = [
    ExpectedProperty(id="P1", description="the clone is clean", probe='[ -z "$(git -C repo status --porcelain)" ]'),
    ExpectedProperty(id="P2", description="one order", probe="sqlite3 orders.db 'select id from orders' | grep -x 7"),
]
MANIFEST = Manifest(
    directories=["/app/out"],
    files=[PlannedFile(path="/app/a.csv", purpose="orders", format="csv", made_by="inline")],
    apt_packages=[],
    pip_packages=[],
    services=[SERVICE],
    properties=PROPERTIES,
)
MATERIALS = Materials(
    apt_packages=[],
    pip_packages=[],
    files=[
        InlineFile(path="/app/a.csv", content="id,total\n7,1.5\n"),
        InlineFile(path="/home/agent/.notes", content="x\n"),
    ],
    generators=[Generator(name="history", program=HISTORY)],
    setup_commands=["mkdir -p /app/out", "chmod 750 /app/out"],
    services=[SERVICE],
    properties=PROPERTIES,
)
SOLVE = """#!/bin/bash
set -euo pipefail
curl -fs http://127.0.0.1:8000/a.csv > /app/out/copy.csv
sed -i s/1.5/2.5/ /app/a.csv
git -C repo -c user.name=a -c user.email=a@b tag -a v1 -m v1
chmod 600 /app/orders.db
"""


def scenario() -> Scenario:
    return a_scenario(
        title="t",
        description="d",
        skill_ids=("a-00000000",),
        solution_reference="r",
        instruction_reference="r",
        requirements=(Requirement(id="R1", text="t", observable="o"),),
    )


@pytest.fixture
async def sandbox(
    engine: DockerClient, run_id: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[DockerSandbox]:
    yield DockerSandbox(engine, run_id=run_id)
    assert_nothing_left(engine, run_id)


async def test_an_environment_is_built_observed_and_solved(
    engine: DockerClient, base_image: str, run_id: str, sandbox: DockerSandbox
) -> None:
    builder = DockerImageBuilder(engine, run_id=run_id, base_image=base_image)
    broken = MATERIALS.model_copy(update={"setup_commands": ["mkdir /app/out", "false"]})
    model = ScriptedModel(
        {
            "environment.manifest": [MANIFEST.model_dump()],
            "environment.materials": [broken.model_dump()],
            "environment.repair": [MATERIALS.model_dump()],
        }
    )
    environment = await prepare(
        "observed",
        scenario(),
        asker=Asker(model),
        builder=builder,
        sandbox=sandbox,
        limits=Limits(),
        build_timeout_s=300,
    )
    assert isinstance(environment, Environment), environment
    try:
        assert "+ false" in model.requests[-1].messages[0].content  # the build's own trace reached the author
        check_initial_state(environment)
        solution = await execute(
            "observed",
            Script(script=SOLVE, workflow="w"),
            environment,
            sandbox=sandbox,
            limits=Limits(),
            timeout_s=60,
            observe=observe,
            difference=difference,
        )
        check_solution(solution)
    finally:
        await builder.remove(environment.image)


def check_initial_state(environment: Environment) -> None:
    """e0 holds what the materials made, owned by the agent, and nothing of the system or of the build."""
    assert [p.id for p in environment.probes] == ["paths", "web", "P1", "P2"]
    e0 = {file.path: file for file in environment.e0.files}
    assert {path for path in e0 if path.startswith("/app/")} == {
        *("/app/a.csv", "/app/orders.db", "/app/out", "/app/repo", "/app/repo/.git", "/app/repo/notes.txt"),
    }
    assert not [path for path in e0 if path.startswith(("/opt", "/var", "/usr"))]
    assert e0["/app/a.csv"].sniffed == "CSV 1 rows: id:int, total:float"
    assert e0["/app/orders.db"].sniffed == "SQLite: orders(id INTEGER, total REAL) 1 rows"
    assert "HEAD main; branches main; 0 tags; 1 commits; clean" in str(e0["/app/repo/.git"].sniffed)
    assert {file.owner for path, file in e0.items() if path.startswith(("/app", "/home"))} == {"agent"}
    assert (e0["/app/out"].type, e0["/app/out"].mode) == ("dir", "0750")
    assert environment.e0.packages == ()
    assert environment.e0.listening == ("tcp 127.0.0.1:8000",)


def check_solution(solution: object) -> None:
    """The service was up before the script ran, and just what the script did is in the difference."""
    assert isinstance(solution, Solution), solution
    assert [(change.change, change.path) for change in solution.execution.diff.files] == [
        ("changed", "/app/a.csv"),
        ("changed", "/app/orders.db"),
        ("added", "/app/out/copy.csv"),
        ("changed", "/app/repo/.git"),
    ]
    assert solution.execution.diff.listening_added == ()
