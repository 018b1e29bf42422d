"""What a task's docker-compose.yaml says of its main service: cut off from networks, reaching for the host, others.

Only read, never run: containers of a task are started by the Sandbox, whatever stands here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

# Keys whose presence opens the host, and keys that do with one value.
_OPEN = ("privileged", "cap_add", "devices", "device_cgroup_rules", "security_opt", "userns_mode", "cgroup_parent")
_OF_HOST = ("network_mode", "pid", "ipc", "uts", "cgroup")


@dataclass(frozen=True)
class Compose:
    """`isolated` from every network; `faults` no task may have, `obstacles` this program cannot handle."""

    isolated: bool = False
    faults: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()


def read_compose(data: bytes) -> Compose:
    """A compose file, whatever it holds."""
    try:
        services = yaml.safe_load(data)["services"]
        others = sorted(str(name) for name in services if name != "main")
        main = dict(services.get("main") or {})
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError, ValueError, RecursionError, AttributeError):
        return Compose(obstacles=("environment/docker-compose.yaml cannot be read",))
    obstacle = "services of environment/docker-compose.yaml besides main are not supported"
    reaches = sorted(set(_host(main)))
    said = f"environment/docker-compose.yaml reaches for the host: {', '.join(reaches)}"
    return Compose(
        isolated=main.get("network_mode") == "none",
        faults=(said[:500],) if reaches else (),
        obstacles=(obstacle,) if others else (),
    )


def _host(main: Mapping[str, Any]) -> Iterator[str]:
    """What of a service gives it more of the host than a container has."""
    yield from (key for key in _OPEN if main.get(key))
    yield from (f"{key}: host" for key in _OF_HOST if main.get(key) == "host")
    volumes = main.get("volumes")
    for volume in volumes if isinstance(volumes, list) else []:
        source = volume.get("source") if isinstance(volume, dict) else str(volume).partition(":")[0]
        if _is_of_host(str(source or "")):
            yield f"volume {' '.join(str(source).split())[:80]}"


def _is_of_host(source: str) -> bool:
    return source.startswith(("/", "~")) or ".." in PurePosixPath(source).parts
