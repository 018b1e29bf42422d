"""What a `harbor` program that was killed has left: half a job folder, and containers that carry none of our labels.

Whoever works on a job holds a lock beside its folder, the program itself included: it may outlive who started it.
"""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from docker import DockerClient

from facet_dagster.adapters.docker_calls import engine_errors
from facet_dagster.adapters.docker_sweep import remove_container, remove_image
from facet_dagster.adapters.engine import connect
from facet_dagster.errors import InfrastructureError

POLL_S = 0.5
_PROJECT = "com.docker.compose.project"
_CUT = ".cut-"


@asynccontextmanager
async def held(job: Path) -> AsyncIterator[int]:
    """Wait until nobody works on the job; the lock as a file descriptor, which a program that inherits it shares."""
    with _lock(job).open("ab") as file:
        while not _locked(file.fileno()):
            await asyncio.sleep(POLL_S)
        yield file.fileno()


def put_aside(job: Path) -> None:
    """Keep what there is of a job under another name, and remove its containers. Raises InfrastructureError."""
    if not job.is_dir():
        return
    remove_containers(connect(), [job])
    number = len(list(job.parent.glob(f"{job.name}{_CUT}*")))
    try:
        job.rename(job.with_name(f"{job.name}{_CUT}{number}"))
    except OSError as error:
        raise InfrastructureError(f"cannot put {job} aside: {error.strerror}") from error


def left_jobs(jobs: Path) -> list[Path]:
    """Jobs that began, did not end, and on which nobody works."""
    return [job for job in sorted(jobs.glob("*/")) if _lock(job).exists() and _began(job) and _is_free(job)]


def remove_containers(client: DockerClient, jobs: Iterable[Path]) -> int:
    """Remove containers, networks and images of the trials of these jobs; how many things that were."""
    trials = {_project(trial.name) for job in jobs for trial in job.glob("*__*/")}
    if not trials:
        return 0
    removed = 0
    with engine_errors("remove what Harbor has left"):
        wanted = {"label": [_PROJECT]}
        for row in client.api.containers(all=True, filters=wanted):
            if _of(row, trials):
                removed += remove_container(client, row["Id"])
        for row in client.api.networks(filters=wanted):
            if _of(row, trials):
                client.api.remove_network(row["Id"])
                removed += 1
        for row in client.api.images(filters=wanted):
            if _of(row, trials):
                removed += sum(remove_image(client, tag) for tag in row["RepoTags"] or [row["Id"]])
    return removed


def _of(row: dict[str, dict[str, str] | None], trials: Iterable[str]) -> bool:
    project = (row.get("Labels") or {}).get(_PROJECT, "")
    return any(project.startswith(f"{trial}__") for trial in trials)


def _project(trial: str) -> str:
    """How Harbor's projects of a trial begin: what Compose takes as a name."""
    name = re.sub(r"[^a-z0-9_-]", "-", trial.lower())
    return name if name[:1].isalnum() else f"0{name}"


def _began(job: Path) -> bool:
    return any(not (trial / "result.json").is_file() for trial in job.glob("*__*/"))


def _lock(job: Path) -> Path:
    return job.with_name(f".{job.name}.lock")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(job: Path) -> bool:
    descriptor = os.open(_lock(job), os.O_RDWR)
    try:
        return _locked(descriptor)
    finally:
        os.close(descriptor)
