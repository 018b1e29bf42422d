"""One command in a running container: started, read within a byte limit, watched, ended when it passes a bound.

The command may be hostile: it can kill the `timeout` that wraps it, flood its output, leave processes behind.
"""

import asyncio
import time
from typing import Any

from docker import APIClient
from docker.errors import APIError

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_output import BoundedOutput
from facet_dagster.adapters.docker_watch import memory_ran_out, stop_now, written_bytes
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import Command, CommandResult, Limits
from facet_dagster.side_by_side import told_by_others, uninterrupted

POLL_S = 0.5
KILL_AFTER_S = 2.0  # from TERM to KILL inside the container
GRACE_S = 5.0  # beyond that, the host ends the container's processes itself
DRAIN_S = 30.0  # for the engine to close the stream of a container that has been killed
REFUSED = "exec failed"  # the container, not the engine, is to blame: no such directory, no free process, no bash
_CUT_SHORT = -1
_CANNOT_EXECUTE = 126


def prepare(api: APIClient, container_id: str, arguments: list[str], **options: Any) -> str:
    """Id of a command that is to be started in a container, which is started first where it has stopped."""
    try:
        return str(api.exec_create(container_id, arguments, **options)["Id"])
    except APIError as error:
        if error.status_code != 409:
            raise
    # Stopped by a limit, by `freeze`, or by its own root: the file system is there, processes are not.
    api.start(container_id)
    return str(api.exec_create(container_id, arguments, **options)["Id"])


class CommandRun:
    """A command on its way. Use once: `await CommandRun(...).result()`."""

    def __init__(self, api: APIClient, calls: EngineCalls, container_id: str, command: Command, limits: Limits) -> None:
        self._api = api
        self._calls = calls
        self._id = container_id
        self._command = command
        self._limits = limits
        self._output = BoundedOutput(limits.output_bytes)
        self._started = time.monotonic()
        self._started_at = time.time()
        self._next_measure = self._started + POLL_S

    async def result(self) -> CommandResult:
        """Run to the end or to a limit. Cancellation and trouble end the container's processes first."""
        exec_id = await self._calls.call("prepare a command", self._create)
        reader = told_by_others(asyncio.ensure_future(self._calls.stream("run a command", self._read, exec_id)))
        try:
            limit = await self._watch(reader)
            if limit is not None:
                await self._end(reader)
            refusal = await reader
        except (asyncio.CancelledError, InfrastructureError):
            await uninterrupted(self._end(reader))
            raise
        if refusal is not None:
            return self._result(_CANNOT_EXECUTE, None, refusal)
        return await self._finish(exec_id, limit)

    def _create(self) -> str:
        command = self._command
        bounded = ["timeout", "-k", str(KILL_AFTER_S), str(command.timeout_s), "bash", "-c", command.script]
        user, workdir, env = command.user, command.workdir, dict(command.env)
        return prepare(self._api, self._id, bounded, user=user, workdir=workdir, environment=env)

    def _read(self, exec_id: str) -> str | None:
        """Read to the end of the stream; a message if the container could not execute the command at all."""
        try:
            stream = self._api.exec_start(exec_id, stream=True)
        except APIError as error:
            if REFUSED not in str(error.explanation):
                raise
            return str(error.explanation)
        try:
            for chunk in stream:
                self._output.add(chunk)
        finally:
            stream.close()
        return None

    async def _watch(self, reader: "asyncio.Future[str | None]") -> str | None:
        deadline = self._started + self._command.timeout_s + KILL_AFTER_S + GRACE_S
        while not reader.done():
            await asyncio.wait({reader}, timeout=POLL_S)
            if reader.done():
                return None
            if time.monotonic() > deadline:
                return "time"
            if time.monotonic() > self._next_measure and await self._disk_is_full():
                return "disk"
        return None

    async def _disk_is_full(self) -> bool:
        before = time.monotonic()
        written = await self._calls.call("measure a container", written_bytes, self._api, self._id)
        # Measuring walks the tree: at most a fifth of the time goes into it.
        self._next_measure = time.monotonic() + max(POLL_S, 4 * (time.monotonic() - before))
        return written >= self._limits.disk_mb << 20

    async def _end(self, reader: "asyncio.Future[str | None]") -> None:
        await self._calls.call("end a container's processes", stop_now, self._api, self._id)
        done, _ = await asyncio.wait({reader}, timeout=DRAIN_S)
        if not done:
            raise InfrastructureError("the container engine does not end a killed container's output")

    async def _finish(self, exec_id: str, limit: str | None) -> CommandResult:
        state = await self._calls.call("look at a finished command", self._api.exec_inspect, exec_id)
        code = state.get("ExitCode")
        exit_code = _CUT_SHORT if code is None else int(code)
        if limit is None:
            limit = await self._limit_behind(exit_code)
        return self._result(_CUT_SHORT if limit else exit_code, limit)

    async def _limit_behind(self, exit_code: int) -> str | None:
        """Which limit, if any, stands behind an end that the watcher did not bring about."""
        seconds = time.monotonic() - self._started
        if exit_code in (124, 137) and seconds >= self._command.timeout_s:
            return "time"
        if exit_code and await self._calls.call(
            "read a container's events", memory_ran_out, self._api, self._id, since=self._started_at
        ):
            return "memory"
        if (exit_code or seconds > POLL_S) and await self._disk_is_full():
            return "disk"
        return None

    def _result(self, exit_code: int, limit: str | None, output: str | None = None) -> CommandResult:
        return CommandResult(
            exit_code=exit_code,
            output=self._output.text() if output is None else output,
            seconds=time.monotonic() - self._started,
            limit=limit,
            truncated=self._output.truncated,
        )
