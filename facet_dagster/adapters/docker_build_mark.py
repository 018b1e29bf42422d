"""The mark on containers of build steps, which the engine makes and labels nothing: whose build it is. Starts nothing.

It goes in as a host name, which a step can read in /etc/hosts: a number of this host, not its name.
"""

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from uuid import uuid4

from facet_dagster.adapters.docker_labels import host, is_dead, owner_of

MARKED = "facet-build-"
_MARK = re.compile(MARKED + r"[0-9a-f]{32}-(?P<pid>\d+)-(?P<start>\w+)-(?P<host>[0-9a-f]{16})(?![\w-])")


def new_mark() -> str:
    """For one build of this process."""
    pid, start = owner_of(os.getpid()).split(":")[:2]
    return f"{MARKED}{uuid4().hex}-{pid}-{start}-{_here()}"


def of_a_dead_build(hosts: Iterable[str]) -> bool:
    """Whether host names of a container hold the mark of a process that ran on this host and is gone."""
    for entry in hosts:
        if (mark := _MARK.match(entry)) and mark["host"] == _here():
            return is_dead(f"{mark['pid']}:{mark['start']}:{host()}")
    return False


def _here() -> str:
    return sha256(host().encode()).hexdigest()[:16]
