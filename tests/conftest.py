"""Fixtures that need a container engine, and the check that nothing of a run is left on it."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from docker import DockerClient

from facet_dagster.adapters.base_image import ensure_base
from facet_dagster.adapters.docker_sweep import remove_run
from facet_dagster.adapters.engine import connect
from facet_dagster.errors import EngineUnavailable


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
    wanted = {"label": [f"facet.run={run_id}"]}
    containers = [f"container {row['Names']}" for row in client.api.containers(all=True, filters=wanted)]
    return containers + [f"image {row['RepoTags']}" for row in client.api.images(all=True, filters=wanted)]


@pytest.fixture
def assert_nothing_left():  # type: ignore[no-untyped-def]
    """A function (client, run_id) that fails while anything of the run is on the engine."""

    def check(client: DockerClient, run_id: str) -> None:
        assert left_behind(client, run_id) == []

    return check
