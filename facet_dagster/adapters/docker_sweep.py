"""Removing what is ours: one container, one image, all of a run, all of dead processes. Synchronous.

Only things with our project label are ever looked at.
"""

import time
from collections.abc import Callable, Iterable, Mapping

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NotFound

from facet_dagster.adapters.docker_build_mark import of_a_dead_build
from facet_dagster.adapters.docker_holds import hold_of, is_abandoned, is_hold, is_of_run
from facet_dagster.adapters.docker_labels import MAY_BE_OURS, OWNER_LABEL, RUN_LABEL, is_dead, ours

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


def remove_unnamed(client: DockerClient, image: str) -> None:
    """Remove an image and those below it that nobody names; one that is gone, or that something stands on, is fine."""
    try:
        if not client.images.get(image).tags:
            remove_image(client, image)
    except ImageNotFound:
        return
    except APIError as error:
        if error.status_code != 409:
            raise


def let_go(client: DockerClient, image: str, run_id: str) -> None:
    """Give up a run's hold on an image; the image goes with its untagged layers unless another run holds it."""
    remove_image(client, hold_of(image, run_id=run_id))
    try:
        tags = client.images.get(image).tags
    except ImageNotFound:
        return
    if not any(map(is_hold, tags)):
        remove_image(client, image)


def sweep_dead(client: DockerClient) -> int:
    """Remove all of ours whose owning process on this host is dead; how many things that were."""
    labelled = _remove_all(client, lambda labels: is_dead(labels.get(OWNER_LABEL, "")), is_abandoned)
    return labelled + _remove_steps(client)


def _remove_steps(client: DockerClient) -> int:
    """What an engine that was killed amid a build leaves: containers of steps, and the layers that they stood on."""
    removed = 0
    for row in client.api.containers(all=True, filters={"status": ["created", "exited", "dead"]}):
        try:
            hosts = client.api.inspect_container(row["Id"])["HostConfig"].get("ExtraHosts") or []
        except NotFound:
            continue
        if of_a_dead_build(hosts):
            removed += remove_container(client, row["Id"])
            remove_unnamed(client, row["ImageID"])
    return removed


def remove_run(client: DockerClient, run_id: str) -> int:
    """Remove every container and image of one run, at its end; how many things that were.

    What it built and another run holds stays, for that one to remove.
    """
    return _remove_all(client, lambda labels: labels.get(RUN_LABEL) == run_id, lambda hold: is_of_run(hold, run_id))


def _remove_all(
    client: DockerClient, is_over: Callable[[Mapping[str, str]], bool], has_ended: Callable[[str], bool]
) -> int:
    """Containers whose labels are over; images whose labels are, or that only ended holds have kept."""
    removed = 0
    for row, owned in ours(client.api.containers(all=True, filters=MAY_BE_OURS)):
        if is_over(owned):
            removed += remove_container(client, row["Id"])
    for row, owned in ours(client.api.images(filters=MAY_BE_OURS)):
        tags = [tag for tag in row["RepoTags"] or [] if not tag.startswith("<none>")]
        holds = [tag for tag in tags if is_hold(tag)]
        ended = [hold for hold in holds if has_ended(hold)]
        if len(ended) < len(holds):
            _remove_tags(client, ended)
        elif ended or is_over(owned):
            # The holds last: a run that takes hold of it meanwhile finds it until then, by the image's own name.
            removed += _remove_tags(client, sorted(tags, key=is_hold) or [row["Id"]])
    return removed


def _remove_tags(client: DockerClient, references: Iterable[str]) -> bool:
    """Remove these references of one image; whether there was any."""
    found = False
    for reference in references:
        try:
            found = remove_image(client, reference) or found
        except APIError as error:
            if error.status_code != 409:  # a living run's container stands on it; its owner removes it
                raise
    return found
