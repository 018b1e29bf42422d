"""Reaching a Docker engine, and bringing one up on a bare Debian or Ubuntu machine. Installs nothing elsewhere."""

import os
import shutil
from collections.abc import Callable

import docker
from docker import DockerClient
from docker.errors import DockerException
from requests.exceptions import RequestException

from facet_dagster.adapters.docker_calls import NO_PERMISSION, NOT_INSTALLED, NOT_RUNNING, unavailable_advice
from facet_dagster.adapters.docker_daemon import can_install, install_engine, start_daemon
from facet_dagster.errors import EngineUnavailable

Progress = Callable[[str], None]

_PING_S = 10
_TIMEOUT_S = 120  # of a single call; streams of commands and builds have none


def connect(host: str | None = None) -> DockerClient:
    """A client of the engine that answers at `host`, else at DOCKER_HOST, else at the default socket.

    Raises EngineUnavailable with what to do: start it, install it, or get permission.
    """
    try:
        named = {**os.environ, "DOCKER_HOST": host} if host else None
        over_ssh = (host or "").startswith("ssh://")
        client = docker.from_env(timeout=_TIMEOUT_S, max_pool_size=64, environment=named, use_ssh_client=over_ssh)
        client.ping()
    except (DockerException, RequestException, OSError, ValueError) as error:
        raise EngineUnavailable(_advice(error, host)) from error
    return client


def answers(client: DockerClient) -> bool:
    """Whether the engine answers, within seconds."""
    try:
        client.api.get(f"{client.api.base_url}/_ping", timeout=_PING_S).raise_for_status()
    except (DockerException, RequestException, OSError):
        return False
    return True


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
