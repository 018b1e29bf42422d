"""Hold tags: the name under which a run keeps an image that others may have built, and may want to remove.

An image's own name and labels say who built it. Runs that work on it at the same time each tag it once more; it goes
when nobody holds it. A hold names its process, so that the hold of a dead one counts for nothing.
"""

import os

from facet_dagster.adapters.docker_labels import host, is_dead, owner_of
from facet_dagster.records.base import digest_of

_REPOSITORY = "facet-hold"


def hold_of(image: str, *, run_id: str) -> str:
    """The reference under which this process holds an image for a run."""
    pid, start, _ = owner_of(os.getpid()).split(":", 2)
    return f"{_REPOSITORY}:{_short(run_id)}.{_short(host())}.{pid}.{start}.{_short(image)}"


def is_hold(reference: str) -> bool:
    """Whether a reference is a hold, of anybody."""
    return reference.startswith(f"{_REPOSITORY}:")


def is_of_run(hold: str, run_id: str) -> bool:
    """Whether a hold belongs to the run."""
    return hold.startswith(f"{_REPOSITORY}:{_short(run_id)}.")


def is_abandoned(hold: str) -> bool:
    """Whether the process that holds was one of this host and is dead; what cannot be known counts as alive."""
    _run, where, pid, start, _image = hold.partition(":")[2].split(".")
    return where == _short(host()) and is_dead(f"{pid}:{start}:{host()}")


def _short(text: str) -> str:
    return digest_of(text)[:16]
