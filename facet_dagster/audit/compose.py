"""What a task's docker-compose.yaml says of its main service: cut off from networks, reaching for the host, others.

Only read, never run: containers of a task are started by the Sandbox, whatever stands here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

_NAME = "environment/docker-compose.yaml"
# Keys whose presence opens the host, and keys that do with some values.
_OPEN = (
    "privileged",
    "cap_add",
    "devices",
    "device_cgroup_rules",
    "security_opt",
    "userns_mode",
    "cgroup_parent",
    "volumes_from",
)
_NAMESPACES = ("network_mode", "pid", "ipc", "uts", "cgroup")
_HARBORS = re.compile(r"\$\{?(HOST|T_BENCH)_\w+_PATH\}?")  # variables of runners, which lead to the logs of a trial
_LARGEST = 100_000  # bytes
_DEEPEST = 50  # levels; a compose file has six


@dataclass(frozen=True)
class Compose:
    """`isolated` from every network; `faults` no task may have, `obstacles` this program cannot handle."""

    isolated: bool = False
    faults: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()


def read_compose(data: bytes) -> Compose:
    """A compose file, whatever it holds."""
    if len(data) > _LARGEST:
        return Compose(obstacles=(f"{_NAME} is too large: at most {_LARGEST // 1_000} kB are read",))
    try:
        if not _is_plain(data):
            return Compose(obstacles=(f"aliases in {_NAME} are not supported",))
        said = yaml.safe_load(data)
        others = {name for name in said["services"] if name != "main"}
        main = dict(said["services"].get("main") or {})
    except (
        yaml.YAMLError,
        UnicodeDecodeError,
        TypeError,
        KeyError,
        ValueError,
        OverflowError,
        RecursionError,
        AttributeError,
    ):
        return Compose(obstacles=(f"{_NAME} cannot be read",))
    unread = {"services besides main": others, "extends": main.get("extends"), "include": said.get("include")}
    reaches = sorted({*_host(main), *_host_files(said, main)})
    return Compose(
        isolated=main.get("network_mode") == "none",
        faults=(f"{_NAME} reaches for the host: {', '.join(reaches)}"[:500],) if reaches else (),
        obstacles=tuple(f"{what} in {_NAME}: not supported" for what, there in unread.items() if there),
    )


def _is_plain(data: bytes) -> bool:
    """Whether nothing stands for something else: a few aliases of aliases would be more than a memory holds."""
    depth = 0
    for event in yaml.parse(data, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise RecursionError
        if isinstance(event, yaml.AliasEvent):
            return False
    return True


def _host(main: Mapping[str, Any]) -> Iterator[str]:
    """What of a service gives it more of the host than a container has."""
    yield from (key for key in _OPEN if main.get(key))
    for key in _NAMESPACES:
        value = main.get(key)
        if isinstance(value, str) and (value == "host" or value.startswith("container:") or "$" in value):
            yield f"{key}: {_shown(value)}"


def _host_files(said: Mapping[str, Any], main: Mapping[str, Any]) -> Iterator[str]:
    """What of the host's files and variables a service is given."""
    for volume in _list(main.get("volumes")):
        path = volume.partition(":")[0] if isinstance(volume, str) else _path(volume, "source")
        if _is_of_host(path):
            yield f"volume {_shown(path)}"
    for file in _list(main.get("env_file")):
        path = _path(file, "path")
        if _is_of_host(path):
            yield f"env_file {_shown(path)}"
    for name, volume in _named(said.get("volumes")):
        options = volume.get("driver_opts")
        if isinstance(options, dict) and options.get("device", "tmpfs") != "tmpfs":
            yield f"volume {name}"
    for kind in ("secrets", "configs"):
        for name, given in _named(said.get(kind)):
            if _is_of_host(given.get("file")) or given.get("environment"):
                yield f"{kind} {name}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _path(value: Any, key: str) -> Any:
    """Of the short form the value, of the long one what stands under the key."""
    return value.get(key) if isinstance(value, dict) else value


def _named(value: Any) -> Iterator[tuple[str, dict[Any, Any]]]:
    """Names and long forms of what stands at the top."""
    for name, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, dict):
            yield _shown(name), each


def _shown(value: Any) -> str:
    return " ".join(value.split())[:80] if isinstance(value, str) else "?"


def _is_of_host(source: Any) -> bool:
    """Whether a path leaves the task's folder: from the root, upwards, or by a variable of who knows what."""
    if not isinstance(source, str) or _HARBORS.fullmatch(source):
        return False
    return source.startswith(("/", "~")) or ".." in PurePosixPath(source).parts or "$" in source
