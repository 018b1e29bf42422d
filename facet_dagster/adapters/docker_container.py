"""A running container behind the Container port: commands, files in and out, freezing to an image."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from uuid import uuid4

from docker import APIClient
from docker.errors import APIError, NotFound

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_exec import CommandRun
from facet_dagster.adapters.docker_files import Cut, first_file, is_regular, pack
from facet_dagster.adapters.docker_stream import DockerStream
from facet_dagster.adapters.docker_watch import api_url, stop_now
from facet_dagster.records.container import AGENT_USER, WORKDIR, Command, CommandResult, FileEntry, Limits
from facet_dagster.side_by_side import uninterrupted

FROZEN = "facet-frozen"
_READS = 5


class DockerContainer:
    """Made by DockerSandbox.open. Everything works on a stopped container too; `run` starts it again."""

    def __init__(self, api: APIClient, calls: EngineCalls, container_id: str, limits: Limits) -> None:
        self._api = api
        self._calls = calls
        self._id = container_id
        self._limits = limits
        self._streams: list[DockerStream] = []

    async def run(self, command: Command) -> CommandResult:
        """Run a script under limits.

        A command that passes the host's own deadline or the disk limit is ended with every process of the container;
        its files stay, and the next command finds the container started anew.
        """
        return await CommandRun(self._api, self._calls, self._id, command, self._limits).result()

    async def attach(self, script: str, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> DockerStream:
        """Start a script that goes on running."""
        stream = DockerStream(self._api, self._calls, self._id, self._limits)
        self._streams.append(stream)
        await stream.open(script, user, workdir)
        return stream

    async def leave(self) -> None:
        """Let go of everything that was attached to."""
        for stream in self._streams:
            await stream.close()

    async def put(self, files: Sequence[FileEntry], *, owner: str = "root") -> None:
        """Copy files in; missing parent directories are made (0755) for the same owner ("root" or the agent)."""
        await self._calls.call("copy files into a container", self._put, files, owner)

    def _put(self, files: Sequence[FileEntry], owner: str) -> None:
        parents = {parent for file in files for parent in PurePosixPath("/", file.path).parents}
        missing = [str(p) for p in sorted(parents, key=lambda p: len(p.parts)) if not self._exists(p)]
        self._api.put_archive(self._id, "/", pack(files, owner=owner, directories=missing))

    def _exists(self, path: PurePosixPath) -> bool:
        response = self._api.head(api_url(self._api, self._id, "archive"), params={"path": str(path)}, timeout=60)
        if response.status_code not in (200, 404):
            response.raise_for_status()
        return response.status_code == 200

    async def read(self, path: str, *, max_bytes: int) -> bytes | None:
        """The first `max_bytes` of a regular file; None if there is none (links are not followed).

        What a process keeps cutting while it is read is read again, and is empty where it never holds still.
        """
        return await self._calls.call("read a file of a container", self._read, path, max_bytes)

    def _read(self, path: str, max_bytes: int) -> bytes | None:
        for _ in range(_READS):
            with suppress(Cut):
                return self._read_once(path, max_bytes)
        return b""

    def _read_once(self, path: str, max_bytes: int) -> bytes | None:
        try:
            chunks, state = self._api.get_archive(self._id, path, chunk_size=min(max_bytes + 4096, 1 << 20))
        except NotFound:
            return None
        except APIError as error:
            if "not a directory" in str(error.explanation):
                return None
            raise
        try:
            return first_file(chunks, max_bytes) if is_regular(int(state["mode"])) else None
        finally:
            chunks.close()

    async def freeze(self) -> str:
        """Kill every process, then keep the file system as `facet-frozen:<id>` with the container's labels."""
        return await uninterrupted(self._calls.call("freeze a container", self._freeze))

    def _freeze(self) -> str:
        stop_now(self._api, self._id)
        tag = uuid4().hex
        self._api.commit(self._id, repository=FROZEN, tag=tag)
        return f"{FROZEN}:{tag}"
