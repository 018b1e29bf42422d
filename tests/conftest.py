"""Fixtures that need a container engine, and the check that nothing of a run is left on it."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from docker import DockerClient
from hypothesis import HealthCheck, settings

from facet_dagster.adapters.base_image import ensure_base
from facet_dagster.adapters.docker_labels import MAY_BE_OURS, RUN_LABEL, ours
from facet_dagster.adapters.docker_sweep import remove_run
from facet_dagster.adapters.engine import connect
from facet_dagster.adapters.wiring import open_engine
from facet_dagster.audit.load import load_folder
from facet_dagster.audit.run import AuditTerms, Bench, audit
from facet_dagster.errors import EngineUnavailable
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.validation import GateResult

# No test asserts on seconds, and a busy machine makes none slow enough to fail.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def engine() -> DockerClient:
    """The engine that answers here. Where CI is set, none is a failure; elsewhere the test is skipped."""
    try:
        return connect()
    except EngineUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def base_image(engine: DockerClient) -> str:
    """The local base image, made once if it is missing."""
    return ensure_base(engine, print)


@pytest.fixture
def run_id(engine: DockerClient) -> Iterator[str]:
    """A run of its own for one test; whatever a failed test leaves is removed, a passed one must leave nothing."""
    run = f"test-{uuid4().hex[:12]}"
    yield run
    remove_run(engine, run)


def left_behind(client: DockerClient, run_id: str) -> list[str]:
    """Containers and images of a run, as readable lines."""
    containers = client.api.containers(all=True, filters=MAY_BE_OURS)
    images = client.api.images(all=True, filters=MAY_BE_OURS)
    found = [(f"container {row['Names']}", owned) for row, owned in ours(containers)]
    found += [(f"image {row['RepoTags']}", owned) for row, owned in ours(images)]
    return [name for name, owned in found if owned.get(RUN_LABEL) == run_id]


@pytest.fixture
def assert_nothing_left():  # type: ignore[no-untyped-def]  # a fixture that is a function
    """A function (client, run_id) that fails while anything of the run is on the engine."""

    def check(client: DockerClient, run_id: str) -> None:
        assert left_behind(client, run_id) == []

    return check


class _Nobody:
    """Watches an audit and says nothing."""

    def started(self, name: str) -> None: ...

    def gate(self, name: str, result: GateResult) -> None: ...

    def finished(self, task: AuditedTask) -> None: ...


@pytest.fixture(scope="session")
def audited(engine: DockerClient) -> Callable[[Path, Iterable[str], AuditTerms], AuditReport]:
    """A function that puts a folder of tasks to the gates on the real engine, and leaves nothing there."""

    def run(folder: Path, only: Iterable[str], terms: AuditTerms) -> AuditReport:
        run_id = f"test-{uuid4().hex[:12]}"
        with open_engine(run_id, print) as opened:
            bench = Bench(opened.builder, opened.sandbox, opened.stand_ins)
            bounded = terms.model_copy(update={"cpus_max": opened.cpus})
            report = asyncio.run(audit(str(folder), load_folder(folder, only), bench, bounded, _Nobody()))
            assert left_behind(engine, run_id) == []
        return report

    return run
