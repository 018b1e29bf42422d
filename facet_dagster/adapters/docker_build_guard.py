"""Limits on the containers that the classic builder starts for RUN steps. Synchronous, called from two threads."""

import threading
from typing import Any

from docker import APIClient
from docker.errors import NotFound

from facet_dagster.adapters.docker_build_mark import new_mark
from facet_dagster.adapters.docker_watch import memory_ran_out, set_limits, stop_now, written_bytes
from facet_dagster.records.container import Limits

_MAX_LOOK_UPS = 500  # steps may print lines that look like the builder's; this many are looked into


class BuildGuard:
    """Knows the container of the step under way; limits it at once, measures it, and ends it when told to."""

    def __init__(self, api: APIClient, limits: Limits) -> None:
        self._api = api
        self._limits = limits
        self._mark = new_mark()
        self._seen: set[str] = set()
        self._current: str | None = None
        self._ending = threading.Event()

    @property
    def extra_hosts(self) -> dict[str, str]:
        """To be given to the build: the engine then marks its containers, and no printed id can stand in for one."""
        return {self._mark: "127.0.0.1"}

    def announced(self, container_id: str) -> None:
        """The builder says (or a step pretends) that this container runs the next step."""
        if container_id in self._seen or len(self._seen) >= _MAX_LOOK_UPS or not self._is_ours(container_id):
            return
        self._current = container_id
        if self._ending.is_set():
            stop_now(self._api, container_id)
        else:
            set_limits(self._api, container_id, pids=self._limits.pids, cpus=self._limits.cpus)

    def _is_ours(self, container_id: str) -> bool:
        self._seen.add(container_id)
        try:
            state: dict[str, Any] = self._api.inspect_container(container_id)
        except NotFound:
            return False
        return any(self._mark in entry for entry in state["HostConfig"].get("ExtraHosts") or [])

    def disk_is_full(self) -> bool:
        """Whether the step under way has written more than it may."""
        return self._current is not None and written_bytes(self._api, self._current) >= self._limits.disk_mb << 20

    def memory_ran_out(self, *, since: float) -> bool:
        """Whether the last step lost a process for want of memory."""
        return self._current is not None and memory_ran_out(self._api, self._current, since=since)

    def end(self) -> None:
        """End the step under way and, from now on, every step that follows."""
        self._ending.set()
        if self._current is not None:
            stop_now(self._api, self._current)
