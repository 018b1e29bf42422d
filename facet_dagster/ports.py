"""The outside world as the domain sees it. Adapters implement these; testing/ ships fakes of all of them.

If this page no longer fits a screen or two, a port has grown too wide.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from facet_dagster.records.base import StoredRecord
from facet_dagster.records.call import ChatRequest, Completion, Role
from facet_dagster.records.container import (
    AGENT_USER,
    WORKDIR,
    BuildRequest,
    BuildResult,
    Command,
    CommandResult,
    ContainerSpec,
    FileEntry,
)

R = TypeVar("R", bound=StoredRecord)
Came = Callable[[int, NDArray[np.float32]], None]


class ChatModel(Protocol):
    """A language model behind any endpoint. Raises ModelError (by kind) and BudgetSpent."""

    async def complete(self, request: ChatRequest) -> Completion: ...


class Embedder(Protocol):
    """Text to vectors: float32 of shape (len(texts), dimensions), each of length 1. Raises what ChatModel raises.

    `came` is told of each part as soon as it is there, by the place of its first text: trouble with one part is not the
    loss of the others.
    """

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> NDArray[np.float32]: ...


class Stream(Protocol):
    """A command that goes on running. Raises InfrastructureError when the engine fails."""

    @property
    def limit(self) -> str | None:
        """Which bound of the container ended it ("disk"), if one did."""
        ...

    async def send(self, data: bytes) -> None:
        """Write to its input; where it has ended, nothing happens."""
        ...

    async def receive(self) -> bytes:
        """The next bytes of its output, stdout and stderr alike; empty once it has ended."""
        ...

    async def close(self) -> None: ...


class Container(Protocol):
    """A running container. Raises InfrastructureError when the engine, not the command, fails."""

    async def run(self, command: Command) -> CommandResult: ...

    async def attach(self, script: str, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> Stream:
        """Start a bash script that goes on running, at the longest until the container is left."""
        ...

    async def put(self, files: Sequence[FileEntry], *, owner: str = "root") -> None: ...

    async def read(self, path: str, *, max_bytes: int) -> bytes | None: ...

    async def freeze(self) -> str:
        """End all processes and keep the file system as a labelled image; the caller discards it."""
        ...


class Sandbox(Protocol):
    """Starts containers that hold hostile code; leaving the context removes the container."""

    def open(self, spec: ContainerSpec) -> AbstractAsyncContextManager[Container]: ...

    async def discard(self, image: str) -> None:
        """Remove an image made by `freeze`."""
        ...

    async def sweep(self) -> int:
        """Remove what dead processes of ours left behind; how many things were removed."""
        ...


class ImageBuilder(Protocol):
    """Builds images under limits. A Dockerfile's failure is a result; the engine's failure an exception."""

    async def build(self, request: BuildRequest) -> BuildResult: ...

    async def exists(self, image: str, seed: str) -> bool:
        """Whether the image is where the seed is; then it stays until this run ends or removes it, whoever built it."""
        ...

    async def remove(self, image: str) -> None:
        """This run needs it no longer: it goes, unless another run does."""
        ...


class TrialEngine(Protocol):
    """Another program's agent. Raises InfrastructureError where it leaves no job, SettingsError where it is missing."""

    async def run(self, task: Path, *, model: str, jobs: Path, name: str, whole: Callable[[Path], bool]) -> Path:
        """One attempt at the exported task; its job folder `jobs/name`, as Harbor lays it out.

        A folder of that name that is `whole` was made by an earlier process, and is returned as it is.
        """
        ...


class Store(Protocol):
    """Durable records and content-addressed blobs. A put is on disk when it returns."""

    def put(self, record: StoredRecord) -> bool:
        """Keep a record. An address that is taken keeps what it has: False, and nothing was written."""
        ...

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        """Keep many records of one kind in one write: all of them or, in a crash, none. How many were new."""
        ...

    def get(self, kind: type[R], group: str, key: str) -> R | None: ...

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        """Those of many records of one group that are there, by key, in the order of `keys`."""
        ...

    def rows(self, kind: type[R], group: str | None = None) -> list[R]:
        """All records of a kind (of one group), in the order of their keys."""
        ...

    def keys(self, kind: type[StoredRecord], group: str | None = None) -> list[str]:
        """The keys of these records, in the same order, without reading the records."""
        ...

    def fields(self, kind: type[StoredRecord], names: Sequence[str], seen: set[str]) -> list[tuple[Any, ...]]:
        """The values of these plain fields, row by row, of all that came since `seen`, which is added to.

        Costs no more than what is new; no record is parsed. A row may come again, from another file.
        """
        ...

    def put_blob(self, data: bytes) -> str: ...

    def get_blob(self, digest: str) -> bytes: ...


class Ledger(Protocol):
    """The money: what this run has spent, and whether it may spend more."""

    def spent(self) -> tuple[int, float]:
        """Tokens and US dollars spent by this run on calls that were not replayed."""
        ...

    def check(self) -> None:
        """Raise BudgetSpent when a limit of the run is reached."""
        ...

    def cost(self, role: Role, completion: Completion) -> float:
        """US dollars of one completion; a replayed one costs nothing."""
        ...

    def write(self, request: ChatRequest, completion: Completion) -> None:
        """Make the call durable, before anybody parses the answer."""
        ...
