"""Whether a `facet run` is at work on an instance: between its runs, too, which Dagster knows one by one only.

A lock on a file of the instance's home, which the system takes back from a process that died. Several may hold it.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = "facet-run.lock"


@contextmanager
def line_under_way(home: Path) -> Iterator[None]:
    """To be seen until the end. The home is there: it is that of an open instance."""
    with (home / _FILE).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_line_under_way(home: Path) -> bool:
    """Whether a process that shares the home is in `line_under_way`."""
    if not (home / _FILE).exists():
        return False
    with (home / _FILE).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
