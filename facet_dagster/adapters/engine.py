"""Reaching a Docker engine, and bringing one up on a bare Debian or Ubuntu machine. Installs nothing elsewhere."""

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import docker
from docker import DockerClient
from docker.errors import DockerException
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from urllib3.connection import HTTPConnection

from facet_dagster.adapters.docker_calls import NO_PERMISSION, NOT_INSTALLED, NOT_RUNNING, unavailable_advice
from facet_dagster.adapters.docker_daemon import can_install, install_engine, start_daemon
from facet_dagster.errors import EngineUnavailable

Progress = Callable[[str], None]

_PING_S = 10
_ANSWER_S = 30  # for a ping with all that comes before it: a name, a connection, TLS, ssh
_TIMEOUT_S = 120  # of a single call; streams of commands and builds have none
# A machine that is off sends no end of a connection: the kernel asks after 30 s of silence, and gives up after 60.
_TCP_OPTIONS = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}


def connect(host: str | None = None) -> DockerClient:
    """A client of the engine that answers at `host`, else at DOCKER_HOST, else at the default socket.

    Raises EngineUnavailable with what to do: start it, install it, or get permission.
    """
    try:
        named = {**os.environ, "DOCKER_HOST": host} if host else None
        over_ssh = (host or "").startswith("ssh://")
        client = docker.from_env(timeout=_TIMEOUT_S, max_pool_size=64, environment=named, use_ssh_client=over_ssh)
        _give_up_on_silence(client)
        client.ping()
    except (DockerException, RequestException, OSError, ValueError) as error:
        raise EngineUnavailable(_advice(error, host)) from error
    return client


async def answers(client: DockerClient) -> bool:
    """Whether the engine answers, within half a minute. A ping that hangs longer is left to itself."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def settle(said: bool) -> None:
        if not answer.done():
            answer.set_result(said)

    def ask() -> None:
        said = _pings(client)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, said)

    # Neither a pool, in which those who ask a dead engine keep the others waiting, nor one that is waited for at exit.
    threading.Thread(target=ask, name="facet-engine-ping", daemon=True).start()
    try:
        return await asyncio.wait_for(answer, _ANSWER_S)
    except TimeoutError:
        return False


def _pings(client: DockerClient) -> bool:
    try:
        client.api.get(f"{client.api.base_url}/_ping", timeout=_PING_S).raise_for_status()
    except (DockerException, RequestException, OSError):
        return False
    return True


def _give_up_on_silence(client: DockerClient) -> None:
    """Have the kernel end TCP connections to a machine that is gone; local sockets and ssh have no such options."""
    adapter = client.api.get_adapter(client.api.base_url)
    if not client.api.base_url.startswith("http+docker:") and isinstance(adapter, HTTPAdapter):
        known = [(getattr(socket, name), value) for name, value in _TCP_OPTIONS.items() if hasattr(socket, name)]
        adapter.poolmanager.connection_pool_kw["socket_options"] = [
            *HTTPConnection.default_socket_options,
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            *((socket.IPPROTO_TCP, option, value) for option, value in known),
        ]


def ensure_engine(progress: Progress) -> DockerClient:
    """The running engine, or one installed and started here: as root, on Debian or Ubuntu, without DOCKER_HOST.

    Raises EngineUnavailable where none answers and none may be started.
    """
    try:
        return connect()
    except EngineUnavailable as error:
        if str(error) == NO_PERMISSION or os.environ.get("DOCKER_HOST") or not can_install():
            raise
    if shutil.which("dockerd") is None:
        progress("installing the distribution's Docker package (docker.io)")
        install_engine()
    progress("starting the Docker daemon")
    start_daemon()
    return connect()


def _advice(error: BaseException, named: str | None = None) -> str:
    host = named or os.environ.get("DOCKER_HOST")
    advice = unavailable_advice(error) or NOT_RUNNING
    if advice == NOT_RUNNING and not host and shutil.which("dockerd") is None and shutil.which("docker") is None:
        return NOT_INSTALLED
    variable = "an engine of FACET_DOCKER_HOSTS" if named else "DOCKER_HOST"
    return f"{advice} ({variable} is {host})" if host else advice
