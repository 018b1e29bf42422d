"""Calls of the synchronous Docker SDK from asyncio: own bounded threads, errors in our terms.

Nothing here knows what is called.
"""

import asyncio
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from typing import ParamSpec, TypeVar

from docker.errors import APIError, DockerException
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from facet_dagster.errors import EngineUnavailable, FacetError, InfrastructureError

T = TypeVar("T")
P = ParamSpec("P")

NOT_RUNNING = "no container engine answers: start Docker (`dockerd`, or `systemctl start docker`) or set DOCKER_HOST"
NOT_INSTALLED = "no container engine is installed: install Docker (Debian and Ubuntu: docker.io) or set DOCKER_HOST"
NO_PERMISSION = "no permission on the container engine's socket: run as root or add your user to its group (docker)"
# What a call says that finds no engine, or loses it on the way.
_AWAY = (
    "FileNotFoundError",
    "ConnectionRefused",
    "Connection refused",
    "NewConnectionError",
    "Connection aborted",
    "Connection broken",
    "ConnectionResetError",
    "BrokenPipeError",
)


class EngineCalls:
    """Two pools: short calls, and streams that last as long as hostile code; neither can starve the other."""

    def __init__(self, *, short: int = 16, streams: int = 64) -> None:
        self._short = ThreadPoolExecutor(short, thread_name_prefix="facet-engine-call")
        self._streams = ThreadPoolExecutor(streams, thread_name_prefix="facet-engine-stream")

    async def call(self, doing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A short call; `doing` ("start a container") opens the message of its failure."""
        return await _in_pool(self._short, doing, function, *args, **kwargs)

    async def stream(self, doing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A call that may last as long as what it watches."""
        return await _in_pool(self._streams, doing, function, *args, **kwargs)


async def _in_pool(
    pool: ThreadPoolExecutor, doing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    def work() -> T:
        with engine_errors(doing):
            return function(*args, **kwargs)

    return await asyncio.get_running_loop().run_in_executor(pool, work)


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Raise the SDK's and the transport's errors as InfrastructureError or EngineUnavailable, in one line."""
    try:
        yield
    except FacetError:  # already in our terms; EngineUnavailable is an OSError, too
        raise
    except APIError as error:
        raise InfrastructureError(f"cannot {doing}: {_one_line(error)}") from error
    except (DockerException, RequestException, HTTPError, HTTPException, tarfile.TarError, OSError) as error:
        advice = unavailable_advice(error)
        if advice is not None:
            raise EngineUnavailable(advice) from error
        raise InfrastructureError(f"cannot {doing}: {_one_line(error)}") from error


def unavailable_advice(error: BaseException) -> str | None:
    """What to do about an engine that cannot be reached; None if the error is of another kind."""
    text = repr(error)
    if isinstance(error, PermissionError) or "PermissionError" in text:
        return NO_PERMISSION
    return NOT_RUNNING if any(sign in text for sign in _AWAY) else None


def _one_line(error: BaseException) -> str:
    text = str(error.explanation or error) if isinstance(error, APIError) else str(error)
    return " ".join((text or type(error).__name__).split())[:500]
