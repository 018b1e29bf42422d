"""A command that goes on running in a container, with its input and output as one stream, and its disk use watched."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

from docker import APIClient
from docker.errors import APIError

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_exec import REFUSED, prepare
from facet_dagster.adapters.docker_frames import frames, patient
from facet_dagster.adapters.docker_watch import stop_now, written_bytes
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import Limits
from facet_dagster.side_by_side import uninterrupted

# Seconds to the next look at the disk: what is sent sets things going, and most of what it writes it writes soon.
FIRST_LOOK_S, LOOK_S, LAST_LOOK_S, LATER = 0.5, 2.0, 32.0, 4.0
_ENDED = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class DockerStream:
    """Made by DockerContainer.attach, which opens it; closed with the container at the latest."""

    def __init__(self, api: APIClient, calls: EngineCalls, container_id: str, limits: Limits) -> None:
        self._api = api
        self._calls = calls
        self._id = container_id
        self._limits = limits
        self._socket: Any = None
        self._frames: Iterator[bytes] = iter(())
        self._sent = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self.limit: str | None = None

    async def open(self, script: str, user: str, workdir: str) -> None:
        """Start the script. One that the container cannot start is a stream that ends after a message."""
        await uninterrupted(self._calls.call("start a terminal", self._open, script, user, workdir))
        self._watcher = asyncio.create_task(self._watch())

    def _open(self, script: str, user: str, workdir: str) -> None:
        exec_id = prepare(self._api, self._id, ["bash", "-c", script], user=user, workdir=workdir, stdin=True)
        try:
            answer = self._api.exec_start(exec_id, socket=True)
        except APIError as error:
            if REFUSED not in str(error.explanation):
                raise
            self._frames = iter([str(error.explanation).encode()])
            return
        # What is read from is the file around a plain socket; TLS has no such file.
        self._socket = answer
        self._frames = frames(patient(_plain(answer)))

    async def send(self, data: bytes) -> None:
        """Write to the input. A command that has ended takes nothing; `receive` says so."""
        self._sent.set()
        await self._calls.stream("type into a terminal", self._send, data)

    def _send(self, data: bytes) -> None:
        if self._socket is None:  # it could not even be started
            return
        with contextlib.suppress(*_ENDED):
            _plain(self._socket).sendall(data)

    async def receive(self) -> bytes:
        """The next bytes of the output (of both kinds), as soon as there are any; none once it has ended."""
        return await self._calls.stream("read a terminal", self._receive)

    def _receive(self) -> bytes:
        with contextlib.suppress(*_ENDED):
            return next(self._frames, b"")
        return b""

    async def close(self) -> None:
        """Let go of the command. What it has started goes on as long as the container."""
        if self._watcher is not None:
            self._watcher.cancel()
        opened, self._socket = self._socket, None
        if opened is not None:
            await self._calls.call("leave a terminal", _close, opened)

    async def _watch(self) -> None:
        """End all processes of the container once they have written more than they may."""
        pause = FIRST_LOOK_S
        while self.limit is None:
            self._sent.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sent.wait(), pause if pause > FIRST_LOOK_S else None)
                pause = FIRST_LOOK_S
                await asyncio.sleep(pause)
            began = time.monotonic()
            with contextlib.suppress(InfrastructureError):  # what troubles the engine shows in the next call, too
                if await self._calls.call("measure a container", written_bytes, self._api, self._id) >= self._bound():
                    self.limit = "disk"
                    await self._calls.call("end a container's processes", stop_now, self._api, self._id)
            pause = min(LAST_LOOK_S, max(LOOK_S, LATER * pause))
            await asyncio.sleep(max(LOOK_S - FIRST_LOOK_S, LATER * (time.monotonic() - began)))

    def _bound(self) -> int:
        return self._limits.disk_mb << 20


def _close(opened: Any) -> None:
    with contextlib.suppress(OSError):  # the other side may have ended it
        _plain(opened).shutdown(socket.SHUT_RDWR)  # wakes a reader
    opened.close()


def _plain(opened: Any) -> Any:
    return getattr(opened, "_sock", opened)
