"""What the engine says of a failed build: the Dockerfile's fault, trouble, or layers that another build removed."""

from types import SimpleNamespace
from typing import Any

import pytest

from facet_dagster.adapters.docker_build import Build, CacheGone
from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest

LOST = (
    "failed to get digest sha256:292c0609ab19: "
    "open /var/lib/docker/image/overlay2/imagedb/content/sha256/292c0609ab19: no such file or directory"
)


def build() -> Build:
    client: Any = SimpleNamespace(api=None)
    request = BuildRequest(seed="s", dockerfile="FROM a\n", context=())
    return Build(client, EngineCalls(), request, tag="t", image_labels={}, arguments={})


@pytest.mark.parametrize("error", [LOST, "No such image: sha256:12", "unknown parent image ID sha256:12"])
async def test_a_layer_that_another_build_removed_is_nobodys_fault(error: str) -> None:
    with pytest.raises(CacheGone):
        await build()._failed(error, None)


async def test_a_registry_that_does_not_answer_is_trouble() -> None:
    with pytest.raises(InfrastructureError):
        await build()._failed("Get https://registry/v2/: dial tcp: no such host", None)


async def test_a_step_that_fails_is_the_dockerfiles_fault() -> None:
    result = await build()._failed(
        "The command '/bin/sh -c grep x layer does not exist' returned a non-zero code: 2", None
    )
    assert result.fault is BuildFault.FAILED
