"""What a container holds (e0, eT), and the difference between two such observations.

The observing itself is done by observer.py and sniffer.py inside the container; here they are copied in, run and
read. Any station may be handed these two functions.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from facet_dagster.environment.observer import ROOTS
from facet_dagster.errors import InfrastructureError, NotObservable
from facet_dagster.ports import Container
from facet_dagster.records.authoring import FileChange, StateDiff
from facet_dagster.records.container import WORKDIR, Command, FileEntry
from facet_dagster.records.environment import ObservedFile, ObservedState

PROGRAMS = ("observer.py", "sniffer.py")
PLACE = "/usr/local/lib/facet-observe"  # where only root can write
MODULE = "facet_dagster.environment.observer"
MAX_BYTES = 16_000_000
TIMEOUT_S = 120.0
# What tools leave behind by themselves; it says nothing about the task.
NOISE = re.compile(
    r"^/tmp(/|$)|/(__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.cache|\.ipynb_checkpoints)(/|$)"
    r"|/\.(bash_history|python_history|sqlite_history|lesshst|viminfo|wget-hsts)$"
)


async def observe(container: Container, workdir: str = WORKDIR) -> ObservedState:
    """Observe a running container as root, also where a task lives elsewhere than ours.

    Raises NotObservable where its Python fails or the answer is too large, InfrastructureError at a limit.
    """
    folder = Path(__file__).parent
    programs = [
        FileEntry(path=f"{PLACE}/facet_dagster/environment/{name}", content=(folder / name).read_text("utf-8"))
        for name in PROGRAMS
    ]
    await container.put(programs, owner="root")
    # The answer may be larger than the output of a command may be, so it goes through a file.
    start = f"import runpy, sys; sys.path.insert(0, '{PLACE}'); runpy.run_module('{MODULE}', run_name='__main__')"
    roots = "" if workdir in {WORKDIR, "/"} else shlex.join(["", *ROOTS, workdir])
    script = f'python3 -I -B -c "{start}"{roots} > {PLACE}/state.json'
    result = await container.run(Command(script=script, user="root", workdir="/", timeout_s=TIMEOUT_S))
    data = await container.read(f"{PLACE}/state.json", max_bytes=MAX_BYTES) if result.ok else None
    await container.run(Command(script=f"rm -rf {PLACE}", user="root", workdir="/"))
    if result.limit is not None:
        raise InfrastructureError(f"the container cannot be observed: {result.limit}")
    if not result.ok:
        raise NotObservable(f"the container cannot be observed: {result.output[-500:]}")
    try:
        return ObservedState.model_validate_json(data or b"")
    except ValidationError as error:
        raise NotObservable(f"the observation cannot be read: {error.error_count()} errors") from error


def difference(before: ObservedState, after: ObservedState) -> StateDiff:
    """What was added, changed or removed, without caches and histories that tools leave behind."""
    old = {file.path: file for file in before.files if not NOISE.search(file.path)}
    new = {file.path: file for file in after.files if not NOISE.search(file.path)}
    return StateDiff(
        files=tuple(_changes(old, new)),
        listening_added=tuple(sorted(set(after.listening) - set(before.listening))),
        listening_removed=tuple(sorted(set(before.listening) - set(after.listening))),
    )


def _changes(old: dict[str, ObservedFile], new: dict[str, ObservedFile]) -> Iterator[FileChange]:
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before is None:
            yield FileChange(path=path, change="added", after=after)
        elif after is None:
            yield FileChange(path=path, change="removed", before=before)
        elif _identity(before) != _identity(after):
            yield FileChange(path=path, change="changed", before=before, after=after)


def _identity(file: ObservedFile) -> tuple[object, ...]:
    """What makes two observations of a path the same; a directory's description is that of a git repository."""
    content = file.sniffed if file.type == "dir" else file.sha256 or file.size
    return file.type, file.mode, file.owner, file.target, content
