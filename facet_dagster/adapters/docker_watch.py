"""What the engine can tell about a container from outside: bytes written, and whether memory ran out. Synchronous."""

import json
import time
from typing import Any

from docker import APIClient
from docker.errors import NotFound

_UPDATE_ATTEMPTS = 20


def written_bytes(api: APIClient, container_id: str) -> int:
    """Bytes in the container's own writable layer (apparent sizes); 0 when it is gone."""
    try:
        rows: list[dict[str, Any]] = api.containers(all=True, size=True, filters={"id": container_id})
    except NotFound:  # removed while the engine was measuring
        return 0
    return sum(int(row.get("SizeRw") or 0) for row in rows)


def memory_ran_out(api: APIClient, container_id: str, *, since: float) -> bool:
    """Whether the kernel killed something in the container for want of memory since then (seconds of the epoch)."""
    wanted = {"container": [container_id], "event": ["oom"]}
    # Not the SDK's events(): it knows whole seconds only, and the command before may have run out in the same second.
    params = {"since": f"{since:.3f}", "until": f"{time.time():.3f}", "filters": json.dumps(wanted)}
    response = api.get(f"{_base(api)}/events", params=params, timeout=60)
    response.raise_for_status()
    return bool(response.content.strip())


def stop_now(api: APIClient, container_id: str) -> None:
    """Kill everything in a container; the file system stays. It may have stopped, or be gone, already."""
    response = api.post(api_url(api, container_id, "kill"), timeout=60)
    if response.status_code not in (204, 404, 409):
        response.raise_for_status()


def set_limits(api: APIClient, container_id: str, *, pids: int, cpus: float) -> None:
    """Limit a container that somebody else created; the SDK's update_container knows no process limit."""
    body = {"PidsLimit": pids, "NanoCpus": int(cpus * 1e9)}
    for _ in range(_UPDATE_ATTEMPTS):
        response = api.post(api_url(api, container_id, "update"), json=body, timeout=60)
        if response.status_code == 200 or _has_ended(api, container_id):
            return
        time.sleep(0.05)  # neither before its start nor after it, but in the middle
    response.raise_for_status()


def _has_ended(api: APIClient, container_id: str) -> bool:
    try:
        state: dict[str, Any] = api.inspect_container(container_id)["State"]
    except NotFound:
        return True
    return state["Status"] in ("exited", "dead", "removing")


def api_url(api: APIClient, container_id: str, verb: str) -> str:
    """Address of a call about one container."""
    return f"{_base(api)}/containers/{container_id}/{verb}"


def _base(api: APIClient) -> str:
    return f"{api.base_url}/v{api.api_version}"
