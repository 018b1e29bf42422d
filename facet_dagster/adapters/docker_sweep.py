"""Removing what is ours: one container, one image, all of a run, all of dead processes. Synchronous.

Only things with our project label are ever looked at.
"""

import time
from collections.abc import Iterable

from docker import DockerClient
from docker.errors import APIError, NotFound

from facet_dagster.adapters.docker_labels import OWNER_LABEL, PROJECT, PROJECT_LABEL, RUN_LABEL, is_dead

_OURS = f"{PROJECT_LABEL}={PROJECT}"
_ATTEMPTS = 10


def remove_container(client: DockerClient, container: str) -> bool:
    """Remove a container by name or id with its volumes, running or not; False if there is none."""
    for attempt in range(_ATTEMPTS):
        try:
            client.api.remove_container(container, v=True, force=True)
        except NotFound:
            return attempt > 0
        except APIError as error:
            # 409: a removal is under way; 500: the engine could not kill a busy container in its own time limit.
            if error.status_code not in (409, 500) or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(0.5)
        else:
            return True
    return False


def remove_image(client: DockerClient, image: str) -> bool:
    """Remove an image and its untagged layers; False if there is none."""
    try:
        client.api.remove_image(image)
    except NotFound:
        return False
    return True


def sweep_dead(client: DockerClient) -> int:
    """Remove all of ours whose owning process on this host is dead; how many things that were."""
    return _remove_all(client, [_OURS], only_dead=True)


def remove_run(client: DockerClient, run_id: str) -> int:
    """Remove every container and image of one run, at its end; how many things that were."""
    return _remove_all(client, [_OURS, f"{RUN_LABEL}={run_id}"], only_dead=False)


def _remove_all(client: DockerClient, wanted: list[str], *, only_dead: bool) -> int:
    containers = client.api.containers(all=True, filters={"label": wanted})
    removed = 0
    for row in containers:
        if not only_dead or is_dead(row["Labels"].get(OWNER_LABEL, "")):
            removed += remove_container(client, row["Id"])
    images = client.api.images(filters={"label": wanted})
    for row in images:
        if not only_dead or is_dead((row["Labels"] or {}).get(OWNER_LABEL, "")):
            tags = [tag for tag in row["RepoTags"] or [] if not tag.startswith("<none>")]
            removed += _remove_tags(client, tags or [row["Id"]])
    return removed


def _remove_tags(client: DockerClient, references: Iterable[str]) -> int:
    removed = 0
    for reference in references:
        try:
            removed += remove_image(client, reference)
        except APIError as error:
            if error.status_code != 409:  # a living run's container stands on it; its owner removes it
                raise
    return removed
