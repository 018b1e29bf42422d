"""What is asked of a container engine and what it answers: limits, container specs, commands, builds."""

from base64 import b64decode, b64encode
from enum import StrEnum
from typing import Literal, Self

from pydantic import Field

from facet_dagster.records.base import Record, digest_of

AGENT_USER = "agent"  # uid 1000 in every image; solves, and never grades
WORKDIR = "/app"  # where tasks live; owned by the agent's user
HOSTNAME = "task"


class Limits(Record):
    """Bounds on one container. `disk_mb` bounds what it writes, `output_bytes` what a command prints."""

    cpus: float = 1.0
    memory_mb: int = 2048
    pids: int = 256
    disk_mb: int = 2048
    output_bytes: int = 200_000


class ContainerSpec(Record):
    """One container to start. Every container is labelled with run, seed and purpose and has no host path."""

    image: str
    seed: str
    purpose: str
    network: bool = False
    limits: Limits = Limits()


class Command(Record):
    """A bash script to run in a container (`bash -c`, no login shell), bounded in time and output."""

    script: str
    user: str = AGENT_USER
    workdir: str = WORKDIR
    timeout_s: float = 60.0
    env: dict[str, str] = Field(default_factory=dict)


class CommandResult(Record):
    """`output` is stdout and stderr as they came, cut in the middle beyond the limit (`truncated`).

    `limit` says which bound ended it: "time", "memory", "disk" or None. exit_code is -1 when cut short.
    """

    exit_code: int
    output: str
    seconds: float
    limit: str | None = None
    truncated: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and self.limit is None


class FileEntry(Record):
    """A file to copy into a container or a build context; binary content travels as base64."""

    path: str  # absolute in a container, relative in a build context
    content: str
    mode: int = 0o644
    encoding: Literal["utf-8", "base64"] = "utf-8"

    def data(self) -> bytes:
        """The file's bytes."""
        return b64decode(self.content) if self.encoding == "base64" else self.content.encode()

    @classmethod
    def of(cls, path: str, data: bytes, mode: int = 0o644) -> Self:
        """Wrap bytes, as text where they are UTF-8 text."""
        try:
            return cls(path=path, content=data.decode(), mode=mode)
        except UnicodeDecodeError:
            return cls(path=path, content=b64encode(data).decode(), mode=mode, encoding="base64")


class BuildRequest(Record):
    """A Dockerfile with its context, all text. The tag follows from the content, so equal requests share an image.

    A `fresh` build takes nothing from the cache, and its image is of that name alone.
    """

    seed: str
    dockerfile: str
    context: tuple[FileEntry, ...]
    timeout_s: float = 900.0
    limits: Limits = Limits()
    fresh: str = ""

    def tag(self) -> str:
        """Image reference, `facet-env:<16 hex digits>`."""
        content = [self.dockerfile, *(file.model_dump_json() for file in self.context)]
        content += [self.fresh] if self.fresh else []  # without it, the address that it always was
        return f"facet-env:{digest_of(chr(0).join(content))[:16]}"


class BuildFault(StrEnum):
    """What ended a build that did not succeed."""

    FAILED = "failed"
    LIMIT = "limit"


class BuildResult(Record):
    """Outcome of a build; `log` is the tail that a person or a model can act on (at most 20,000 characters).

    `user` and `workdir` are as whom and where the image's containers start; empty where neither it nor its base says.
    """

    image: str
    fault: BuildFault | None
    log: str
    seconds: float
    user: str = ""
    workdir: str = ""

    @property
    def ok(self) -> bool:
        return self.fault is None
