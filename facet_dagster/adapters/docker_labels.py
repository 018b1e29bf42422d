"""Labels that say what is ours, of which run, and which process owns it. Starts and removes nothing."""

import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

PROJECT = "facet-dagster"
PROJECT_LABEL = "facet.project"
RUN_LABEL = "facet.run"
OWNER_LABEL = "facet.pid"
MAY_BE_OURS = {"label": [PROJECT_LABEL]}  # filter for the engine's lists; `ours` reads what they give


def labels(*, run_id: str, seed: str, purpose: str) -> dict[str, str]:
    """Labels of a container or image that this process owns."""
    return {
        PROJECT_LABEL: PROJECT,
        RUN_LABEL: run_id,
        "facet.seed": seed,
        "facet.purpose": purpose,
        OWNER_LABEL: owner_of(os.getpid()),
    }


def label_of_build(*, run_id: str, seed: str, purpose: str) -> dict[str, str]:
    """The same for an image to be built, in one label: each is a step of the build (40 ms; benchmarks/builds.py)."""
    return {PROJECT_LABEL: json.dumps(labels(run_id=run_id, seed=seed, purpose=purpose))}


def own_labels(found: Mapping[str, str] | None) -> dict[str, str]:
    """What the labels of a container or image say in either form; empty for what is not ours."""
    named = (found or {}).get(PROJECT_LABEL, "")
    if found and named == PROJECT:
        return dict(found)
    try:
        packed = json.loads(named)
    except (ValueError, RecursionError):  # somebody else's text
        return {}
    ours = isinstance(packed, dict) and packed.get(PROJECT_LABEL) == PROJECT
    return {str(key): str(value) for key, value in packed.items()} if ours else {}


def ours(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Those rows of a list of the engine that are ours, each with our labels."""
    return ((row, owned) for row in rows if (owned := own_labels(row.get("Labels"))))


def owner_of(pid: int) -> str:
    """`pid:start time:host`, which no other process ever has; the start time tells a re-used pid apart."""
    return f"{pid}:{_start_time(pid)}:{host()}"


def is_dead(owner: str) -> bool:
    """True only if the owner ran on this very host and boot and is gone; what cannot be known counts as alive."""
    pid, _, rest = owner.partition(":")
    start, _, where = rest.partition(":")
    if not pid.isdigit() or where != host():
        return False
    return _start_time(int(pid)) != start


def is_of_earlier_boot(owner: str) -> bool:
    """True if the owner ran on a host of this name in another boot; it is gone if no other machine has that name."""
    node, _, rest = owner.split(":", 2)[-1].partition("/")
    boot = rest.partition("/")[0]
    here, _, now = host().partition("/")
    return bool(boot) and node == here and boot != now.partition("/")[0]


def host() -> str:
    """This host, boot and pid namespace, in one word."""
    # The pid namespace keeps containers that share the engine (and the boot) from judging one another's pids.
    boot = Path("/proc/sys/kernel/random/boot_id")
    space = Path("/proc/self/ns/pid")
    boot_id = boot.read_text().strip() if boot.exists() else "no-boot-id"
    pid_space = str(space.readlink()) if space.is_symlink() else "no-namespace"
    return f"{platform.node()}/{boot_id}/{pid_space}"


def _start_time(pid: int) -> str:
    """Clock ticks since boot at which the process started; "gone" without one (or once it is only a zombie)."""
    if not Path("/proc/self/stat").exists():
        return _signalled(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    return "gone" if fields[0] in "ZX" else fields[19]


def _signalled(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "running"
    return "running"
