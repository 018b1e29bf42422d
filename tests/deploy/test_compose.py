"""deploy/compose.yaml really run, on images built here: a recorded seed is walked to its end by runs in containers.

Debian packages stand in for public images (the dockerfiles beside this file). Needs docker-compose or its plugin.
"""

import json
import secrets
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_daemon import apt_install, can_install

pytestmark = [pytest.mark.deploy, pytest.mark.docker]

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
WAIT_S = 1_800.0
LAUNCH = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
LOCATIONS = "{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError { __typename } } } } }"
ENDS = """
import json, os
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.bundle import SeedOutcome
from facet_dagster.records.seed import ScenarioSeed
store = ParquetStore(os.environ["FACET_STORE"])
ends = [[row.seed, row.status.value, row.evidence] for row in store.rows(SeedOutcome)]
print(json.dumps({"seeds": store.keys(ScenarioSeed), "ends": ends}))
"""


@pytest.fixture(scope="module")
def images(engine: DockerClient, base_image: str) -> dict[str, str]:
    """Names of the images by the variable of compose.yaml."""

    def build(name: str, folder: Path, dockerfile: str, **arguments: str) -> str:
        # Not by the SDK: its context would hold what .dockerignore leaves out.
        given = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
        command = ["docker", "build", "-q", "-t", name, "-f", dockerfile, *given, "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return name

    python = build("facet-test-python", HERE, "python.dockerfile", BASE_IMAGE=base_image)
    return {
        "POSTGRES_IMAGE": build("facet-test-postgres", HERE, "postgres.dockerfile", BASE_IMAGE=base_image),
        "FACET_IMAGE": build("facet-test-image", PROJECT, "deploy/Dockerfile", PYTHON_IMAGE=python),
        "OBJECTS_IMAGE": build("facet-test-objects", HERE, "objects.dockerfile", BASE_IMAGE=python),
    }


def compose_command() -> list[str]:
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose") is None and can_install():
        apt_install("docker-compose")
    if shutil.which("docker-compose") is None:
        pytest.skip("neither docker compose nor docker-compose is installed")
    return ["docker-compose"]


class Stack:
    """The running services."""

    def __init__(self, command: list[str], port: int) -> None:
        self._command = command
        self._url = f"http://127.0.0.1:{port}/graphql"

    def compose(self, *arguments: str) -> str:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def python(self, script: str) -> str:
        """Run a script where the code location is."""
        return self.compose("exec", "-T", "code", "python", "-c", script)

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return answer["data"]

    def serves(self) -> bool:
        """Whether the code is there: a location that could not be reached counts as loaded, too."""
        try:
            found = self.ask(LOCATIONS)
        except (OSError, urllib.error.URLError):
            return False
        entries = found["workspaceOrError"]["locationEntries"]
        return [(each["locationOrLoadError"] or {}).get("__typename") for each in entries] == ["RepositoryLocation"]

    def run(self, job: str, seed: str | None = None) -> str:
        """Launch a job, wait for its end: the status."""
        selector = {"repositoryName": "__repository__", "repositoryLocationName": "facet_dagster", "jobName": job}
        tags = [{"key": "dagster/partition", "value": seed}] if seed else []
        params = {"selector": selector, "runConfigData": {}, "executionMetadata": {"tags": tags}}
        launched = self.ask(LAUNCH, params=params)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        ended: list[str] = []

        def over() -> bool:
            status = self.ask(STATUS, id=launched["run"]["runId"])["runOrError"]["status"]
            ended[:] = [status]
            return status in {"SUCCESS", "FAILURE", "CANCELED"}

        self.until(over)
        return ended[0]

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < end, self.compose("logs", "--tail", "60")
            time.sleep(2)


@pytest.fixture
def stack(images: dict[str, str], tmp_path: Path) -> Iterator[Stack]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    passwords = {name: secrets.token_hex(12) for name in ("POSTGRES_PASSWORD", "S3_KEY", "S3_SECRET")}
    moto = {"OBJECTS_COMMAND": "/opt/moto/bin/moto_server -H 0.0.0.0 -p 9000", "UI_PORT": str(port)}
    environment = tmp_path / "env"
    environment.write_text("".join(f"{k}={v}\n" for k, v in {**images, **passwords, **moto}.items()))
    where = ["-p", "facet-test", "-f", str(PROJECT / "deploy" / "compose.yaml"), "--env-file", str(environment)]
    made = Stack([*compose_command(), *where], port)
    try:
        made.compose("up", "-d")
        yield made
    finally:
        made.compose("down", "-v", "--remove-orphans")


def test_a_seed_is_walked_to_its_end_by_runs_in_containers(stack: Stack) -> None:
    stack.until(stack.serves)
    stack.python("import fsspec; fsspec.filesystem('s3').mkdir('facet')")
    assert stack.run("read_skills") == "SUCCESS", stack.compose("logs", "--tail", "60")
    assert stack.run("plan_seeds") == "SUCCESS", stack.compose("logs", "--tail", "60")
    seeds = json.loads(stack.python(ENDS))["seeds"]
    assert seeds
    status = stack.run("construct_all", seeds[0])
    ((seed, ended, evidence),) = json.loads(stack.python(ENDS))["ends"]
    assert (seed, ended in {"accepted", "rejected"}) == (seeds[0], True), evidence
    assert status == ("SUCCESS" if ended == "accepted" else "FAILURE")
