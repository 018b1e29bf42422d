"""A sandbox in which the agent works as the user and in the folder that a foreign task names, with or without network.

The terminal and the grading of rollouts know one user and one folder (records/container.py); here those stand for the
task's own.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Container, Sandbox, Stream
from facet_dagster.records.container import AGENT_USER, WORKDIR, Command, CommandResult, ContainerSpec, FileEntry
from facet_dagster.records.environment import wait_for_services

GRADE = "grade"  # the purpose of the containers of validation/grade.py


class PlacedSandbox:
    """The sandbox given, for one task. A container is handed out when the services of the task serve."""

    def __init__(self, sandbox: Sandbox, *, user: str, workdir: str, network: bool) -> None:
        self._sandbox = sandbox
        self._user = user
        self._workdir = workdir
        self._network = network

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator["_Placed"]:
        """As the sandbox given does; raises InfrastructureError where the services do not start."""
        async with self._sandbox.open(spec.model_copy(update={"network": self._network})) as container:
            waited = await container.run(wait_for_services())
            if not waited.ok and spec.purpose != GRADE:  # what an agent did to its services, the tests are to say
                raise InfrastructureError("the services of the task do not start")
            yield _Placed(container, self._user, self._workdir)

    async def discard(self, image: str) -> None:
        """As the sandbox given does."""
        await self._sandbox.discard(image)

    async def sweep(self) -> int:
        """As the sandbox given does."""
        return await self._sandbox.sweep()


class _Placed:
    def __init__(self, container: Container, user: str, workdir: str) -> None:
        self._container = container
        self._user = user
        self._workdir = workdir

    async def run(self, command: Command) -> CommandResult:
        user, workdir = self._placed(command.user, command.workdir)
        return await self._container.run(command.model_copy(update={"user": user, "workdir": workdir}))

    async def attach(self, script: str, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> Stream:
        user, workdir = self._placed(user, workdir)
        return await self._container.attach(script, user=user, workdir=workdir)

    def _placed(self, user: str, workdir: str) -> tuple[str, str]:
        """Only what is for the agent is moved: what root does stays where it was."""
        if user != AGENT_USER:
            return user, workdir
        return self._user, self._workdir if workdir == WORKDIR else workdir

    async def put(self, files: Sequence[FileEntry], *, owner: str = "root") -> None:
        await self._container.put(files, owner=owner)

    async def read(self, path: str, *, max_bytes: int) -> bytes | None:
        return await self._container.read(path, max_bytes=max_bytes)

    async def freeze(self) -> str:
        return await self._container.freeze()
