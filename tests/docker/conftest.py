"""What several tests on the real engine need."""

from collections.abc import AsyncIterator, Callable

import pytest
from docker import DockerClient

from facet_dagster.adapters.docker_builder import DockerImageBuilder


@pytest.fixture
async def builder(
    engine: DockerClient, run_id: str, base_image: str, assert_nothing_left: Callable[..., None]
) -> AsyncIterator[DockerImageBuilder]:
    yield DockerImageBuilder(engine, run_id=run_id, base_image=base_image)
    assert_nothing_left(engine, run_id)


@pytest.fixture(scope="session")
def bridge(engine: DockerClient) -> str:
    """The host's address on Docker's own bridge, as builds reach it."""
    return str(engine.networks.get("bridge").attrs["IPAM"]["Config"][0].get("Gateway", "172.17.0.1"))
