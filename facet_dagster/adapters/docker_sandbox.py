"""The Sandbox port on Docker: starts locked-down containers and makes sure that they go away again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.models.containers import Container
from docker.types import LogConfig, Ulimit

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_container import DockerContainer
from facet_dagster.adapters.docker_debian import has_image
from facet_dagster.adapters.docker_holds import hold_of
from facet_dagster.adapters.docker_labels import labels
from facet_dagster.adapters.docker_sweep import remove_container, remove_image, sweep_dead
from facet_dagster.adapters.per_loop import PerLoop
from facet_dagster.records.container import HOSTNAME, ContainerSpec
from facet_dagster.side_by_side import uninterrupted

# What root inside needs to prepare files, become another user and end that user's processes; nothing that reaches
# the host's kernel (no raw sockets, devices, mounts, tracing). Ports below 1024 need no capability in a container.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"]


class DockerSandbox:
    """Containers of one run. Several may be open at once; all methods raise InfrastructureError on engine trouble.

    `in_flight` bounds the commands that run at the same time, `starts` the containers that start at the same time:
    the others wait for their turn, which costs them nothing, where an engine that has too much to do fails them.
    """

    def __init__(self, client: DockerClient, *, run_id: str, in_flight: int = 64, starts: int = 4) -> None:
        self._client = client
        self._run_id = run_id
        self._calls = EngineCalls(streams=in_flight)
        self._starts = PerLoop(lambda: asyncio.Semaphore(starts))

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[DockerContainer]:
        """Start a container; leaving the context removes it with its volumes, cancelled or not."""
        name = f"facet-{uuid4().hex}"  # ours to choose, so that it can be removed before its id is known
        try:
            async with self._starts.get():
                container_id = await uninterrupted(self._calls.call("start a container", self._start, name, spec))
            container = DockerContainer(self._client.api, self._calls, container_id, spec.limits)
            try:
                yield container
            finally:
                await container.leave()
        finally:
            await uninterrupted(self._calls.call("remove a container", remove_container, self._client, name))

    def _start(self, name: str, spec: ContainerSpec) -> str:
        try:
            container = self._create(spec.image, name, spec)
        except ImageNotFound:
            held = hold_of(spec.image, run_id=self._run_id)
            if not has_image(self._client, held):
                raise
            container = self._create(held, name, spec)  # the name went with the run that had built it
        container.start()
        return str(container.id)

    def _create(self, image: str, name: str, spec: ContainerSpec) -> Container:
        owned = labels(run_id=self._run_id, seed=spec.seed, purpose=spec.purpose)
        return self._client.containers.create(image, ["sleep", "infinity"], name=name, labels=owned, **_isolation(spec))

    async def discard(self, image: str) -> None:
        """Remove a frozen image; nothing happens if it is gone already."""
        await uninterrupted(self._calls.call("remove an image", remove_image, self._client, image))

    async def sweep(self) -> int:
        """Remove containers and images of ours whose process is dead; those of living runs stay."""
        return await self._calls.call("sweep what dead runs left", sweep_dead, self._client)


def _isolation(spec: ContainerSpec) -> dict[str, Any]:
    limits = spec.limits
    memory = limits.memory_mb << 20
    disk = limits.disk_mb << 20
    return {
        "user": "root",  # for the image's entrypoint, which starts services; commands name their own user
        "hostname": HOSTNAME,
        "init": True,
        "cap_drop": ["ALL"],
        "cap_add": CAPABILITIES,
        "security_opt": ["no-new-privileges"],
        "network_mode": "bridge" if spec.network else "none",
        "pids_limit": limits.pids,
        "mem_limit": memory,
        "memswap_limit": memory,
        "nano_cpus": int(limits.cpus * 1e9),
        "ulimits": [Ulimit(name="fsize", soft=disk, hard=disk), Ulimit(name="core", soft=0, hard=0)],
        # What services print, or what a process writes to init's output, lands on the host's disk.
        "log_config": LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
    }
