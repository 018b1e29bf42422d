"""Room on an engine: what the limits of all open containers leave of its CPUs and its memory."""

from types import SimpleNamespace
from typing import Any

import pytest

from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.records.container import ContainerSpec, Limits


def spec(cpus: float = 1.0, memory_mb: int = 1000) -> ContainerSpec:
    return ContainerSpec(image="i", seed="s", purpose="test", limits=Limits(cpus=cpus, memory_mb=memory_mb))


@pytest.fixture
def client() -> Any:
    container = SimpleNamespace(id="c", start=lambda: None)
    return SimpleNamespace(
        containers=SimpleNamespace(create=lambda *_, **__: container),
        api=SimpleNamespace(remove_container=lambda *_, **__: None),
    )


async def test_cpus_and_memory_are_shared_out(client: Any) -> None:
    sandbox = DockerSandbox(client, run_id="r", cpus=4, memory_mb=3000)
    assert sandbox.has_room(spec(cpus=4)) and not sandbox.has_room(spec(cpus=4.5))
    assert sandbox.has_room(spec(memory_mb=3000)) and not sandbox.has_room(spec(memory_mb=3001))
    async with sandbox.open(spec(cpus=2)):
        assert sandbox.has_room(spec(cpus=2, memory_mb=2000))
        assert not sandbox.has_room(spec(cpus=2.5)) and not sandbox.has_room(spec(memory_mb=2001))
        async with sandbox.open(spec(memory_mb=2000)):
            assert not sandbox.has_room(spec(cpus=0.5, memory_mb=1))
    assert sandbox.has_room(spec(cpus=4, memory_mb=3000))
