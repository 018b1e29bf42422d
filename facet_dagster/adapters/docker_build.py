"""One build with the classic builder: started, read, watched, ended at a limit, cleaned up. Use once."""

import asyncio
import re
import time
from io import BytesIO

from docker import DockerClient
from docker.errors import APIError

from facet_dagster.adapters.docker_build_guard import BuildGuard
from facet_dagster.adapters.docker_build_log import BuildLog
from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_files import pack
from facet_dagster.adapters.docker_sweep import remove_unnamed
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult, FileEntry
from facet_dagster.side_by_side import told_by_others, uninterrupted

POLL_S = 0.5
END_S = 120.0  # for the builder to give up once its steps are killed
_EXIT_CODE = re.compile(r"returned a non-zero code: (\d+)")
_NO_PROCESS = re.compile(r"Resource temporarily unavailable|can't start new thread|Cannot fork|fork: retry")
# Errors of the engine or the network between steps; what a step itself runs into ends in "non-zero code".
_TROUBLE = re.compile(r"no space left on device|dial tcp|i/o timeout|TLS handshake|connection refused|context canceled")
_CACHE_RACE = re.compile(
    r"No such image: sha256:|unable to find image|unknown parent image|layer does not exist"
    r"|failed to get digest sha256:"
)


class CacheGone(Exception):
    """Another build's clean-up took a cached layer from under this one; the same build again succeeds."""


class Build:
    """`tag` and `image_labels` go on the finished image, `arguments` are its build arguments."""

    def __init__(
        self,
        client: DockerClient,
        calls: EngineCalls,
        request: BuildRequest,
        *,
        tag: str,
        image_labels: dict[str, str],
        arguments: dict[str, str],
    ) -> None:
        self._client = client
        self._calls = calls
        self._request = request
        self._tag = tag
        self._labels = image_labels
        self._arguments = arguments
        self._guard = BuildGuard(client.api, request.limits)
        self._log = BuildLog(self._guard.announced)
        self._started = time.monotonic()
        self._started_at = time.time()

    async def result(self) -> BuildResult:
        """Build to the end or to a limit; raises InfrastructureError and CacheGone, once the build is ended."""
        reader = told_by_others(asyncio.ensure_future(self._calls.stream("build an image", self._read)))
        try:
            limit = await self._watch(reader)
            if limit is not None:
                await self._end(reader)
            await reader
        except (asyncio.CancelledError, InfrastructureError):
            await uninterrupted(self._end(reader))
            await uninterrupted(self._calls.call("clean up after a build", self._clean))
            raise
        if self._log.error is None:
            return self._result(None, "")
        return await self._failed(self._log.error, limit)

    def _read(self) -> None:
        request = self._request
        memory = request.limits.memory_mb << 20
        context = pack([*request.context, FileEntry(path="Dockerfile", content=request.dockerfile)])
        try:
            stream = self._client.api.build(
                fileobj=BytesIO(context),
                custom_context=True,
                tag=self._tag,
                nocache=bool(request.fresh),
                rm=True,
                forcerm=True,
                decode=True,
                timeout=None,
                buildargs=self._arguments,
                labels=self._labels,
                container_limits={"memory": memory, "memswap": memory},
                extra_hosts=self._guard.extra_hosts,
                use_config_proxy=False,
            )
            for message in stream:
                self._log.feed(message)
        except APIError as error:
            if error.status_code != 400:
                raise
            self._log.error = str(error.explanation)  # the Dockerfile does not parse

    async def _watch(self, reader: "asyncio.Future[None]") -> str | None:
        deadline = self._started + self._request.timeout_s
        next_measure = self._started
        while not reader.done():
            await asyncio.wait({reader}, timeout=POLL_S)
            now = time.monotonic()
            if reader.done():
                return None
            if now > deadline:
                return "time"
            if now > next_measure:
                if await self._calls.call("measure a build", self._guard.disk_is_full):
                    return "disk"
                next_measure = time.monotonic() + max(POLL_S, 4 * (time.monotonic() - now))
        return None

    async def _end(self, reader: "asyncio.Future[None]") -> None:
        deadline = time.monotonic() + END_S
        while not reader.done():
            # Again and again: a step may be just between created and started.
            await self._calls.call("end a build", self._guard.end)
            await asyncio.wait({reader}, timeout=POLL_S)
            if time.monotonic() > deadline:
                raise InfrastructureError("the container engine does not end a build whose steps are killed")

    async def _failed(self, error: str, limit: str | None) -> BuildResult:
        limit = limit or await self._calls.call("look at a failed build", self._limit_behind, error)
        await uninterrupted(self._calls.call("clean up after a build", self._clean))
        if limit is not None:
            return self._result(BuildFault.LIMIT, self._explain(limit))
        if not _EXIT_CODE.search(error):
            if _CACHE_RACE.search(error):
                raise CacheGone(error)
            if _TROUBLE.search(error):
                raise InfrastructureError(f"cannot build an image: {' '.join(error.split())[:500]}")
        return self._result(BuildFault.FAILED, "")

    def _limit_behind(self, error: str) -> str | None:
        code = _EXIT_CODE.search(error)
        if code is None:
            return None
        if code.group(1) == "137" or self._guard.memory_ran_out(since=self._started_at):
            return "memory"
        return "processes" if _NO_PROCESS.search(self._log.step_output()) else None

    def _explain(self, limit: str) -> str:
        limits = self._request.limits
        bounds = {
            "time": f"{self._request.timeout_s:g} s for the whole build",
            "memory": f"{limits.memory_mb} MB",
            "disk": f"{limits.disk_mb} MB written by one step",
            "processes": f"{limits.pids} at once",
        }
        return f"Stopped by the limit on {limit}: {bounds[limit]}."

    def _clean(self) -> None:
        """Remove the untagged layers of a build that made no image; layers that others stand on stay."""
        if self._log.last_layer is not None:
            remove_unnamed(self._client, self._log.last_layer)

    def _result(self, fault: BuildFault | None, closing: str) -> BuildResult:
        return BuildResult(
            image=self._request.tag(),
            fault=fault,
            log=self._log.text(closing),
            seconds=time.monotonic() - self._started,
        )
