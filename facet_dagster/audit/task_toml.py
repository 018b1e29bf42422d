"""task.toml, read leniently: Harbor 1.4 and what came before it, as far as the gates need it.

Belongs here: what a declaration means and which are wrong. Unknown keys are nobody's business.
"""

import re
import tomllib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_IN_MB = {"K": 1 / 1024, "": 1 / 1024**2, "M": 1, "G": 1024, "T": 1024**2}
_SHOWN_FAULTS = 5

Seconds = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Megabytes = Annotated[int, Field(gt=0, le=10_000_000)]
UserId = Annotated[int, Field(ge=0, lt=2**32)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Task(_Table):
    """Who the task is."""

    name: str | None = None


class Phase(_Table):
    """The agent's or the verifier's turn."""

    timeout_sec: Seconds | None = None
    user: str | UserId | None = None
    env: dict[str, str] = Field(default_factory=dict)
    environment_mode: str = "shared"
    environment: dict[str, Any] | None = None


class Solution(_Table):
    """What the reference solution is given."""

    env: dict[str, str] = Field(default_factory=dict)


class Environment(_Table):
    """The container. Sizes are in megabytes, whichever of the old and new keys gave them."""

    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: Literal["linux", "windows"] = "linux"
    cpus: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    memory_mb: Megabytes | None = None
    storage_mb: Megabytes | None = None
    gpus: Annotated[int, Field(ge=0)] = 0
    workdir: str | None = None
    network_mode: str | None = None
    allow_internet: bool = True
    env: dict[str, str] = Field(default_factory=dict)

    @property
    def network(self) -> bool:
        """Whether its containers ask for a network, as they do unless they say otherwise."""
        return self.allow_internet if self.network_mode is None else self.network_mode != "no-network"

    @model_validator(mode="before")
    @classmethod
    def _old_sizes(cls, given: Any) -> Any:
        """`memory = "2G"` is what `memory_mb = 2048` was once; both at once must agree, or Harbor refuses the task."""
        if not isinstance(given, dict):
            return given
        values = dict(given)
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            if old not in values:
                continue
            size = megabytes(values.pop(old))
            if size is None:
                raise ValueError(f"{old} is not a size such as 2G")
            if values.setdefault(new, size) != size:
                raise ValueError(f"{old} and {new} contradict each other")
        return values


class TaskFile(_Table):
    """What task.toml declares."""

    task: Task = Task()
    environment: Environment = Environment()
    agent: Phase = Phase()
    verifier: Phase = Phase()
    solution: Solution = Solution()
    metadata: dict[str, Any] = Field(default_factory=dict)
    steps: list[Any] = Field(default_factory=list)


def parse(data: bytes) -> tuple[TaskFile, tuple[str, ...]]:
    """What is declared, and what is wrong with it; a file that cannot be read declares nothing."""
    try:
        values = tomllib.loads(data.decode())
        return TaskFile.model_validate(values), ()
    except UnicodeDecodeError as error:
        return TaskFile(), (f"it is not UTF-8 (byte {error.start})",)
    except tomllib.TOMLDecodeError as error:
        return TaskFile(), (f"it is not TOML: {error}",)
    except ValidationError as error:
        return TaskFile(), tuple(_fault(entry) for entry in error.errors()[:_SHOWN_FAULTS])
    except (RecursionError, OverflowError, ValueError):  # Python refuses to read an integer of thousands of digits
        return TaskFile(), ("it is not TOML that can be read: nested too deeply, or a number is too large",)


def megabytes(size: object) -> int | None:
    """A size as older task files gave it ("512M", "2G"), in whole megabytes; None if it is none."""
    match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) and len(size) <= 40 else None
    return round(float(match[1]) * _IN_MB[match[2].upper()]) if match else None


def _fault(entry: Any) -> str:
    place = ".".join(str(part) for part in entry["loc"] if part not in {"str", "int"})
    return f"{place}: {entry['msg'].removeprefix('Value error, ')}"
