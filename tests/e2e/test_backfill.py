"""A backfill of all seeds through Dagster's own webserver and daemon, as a person starts it in the UI."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.records.outcome import Component

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

_spec = importlib.util.spec_from_file_location("e2e_backfill_place", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(e2e)

WAIT_S = 300.0
LAUNCH = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATUS = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status } } }"""


@contextmanager
def user_interface(place: Any) -> Iterator[str]:
    """`facet ui` on a free port; ended, with its daemon, on leaving."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (place.root / "ui.txt").open("w")
    command = [e2e.FACET, "ui", "--port", str(port)]
    running = subprocess.Popen(
        command, env=place.environment(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _until(lambda: _serves(url), running, place)
        yield f"{url}/graphql"
    finally:
        os.killpg(running.pid, signal.SIGINT)
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
        log.close()


def _serves(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=10) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _until(holds: Any, running: subprocess.Popen[bytes], place: Any) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert running.poll() is None and time.monotonic() < end, (place.root / "ui.txt").read_text()[-3000:]
        time.sleep(1)


def test_a_backfill_over_all_seeds(demo: Any) -> None:
    """The daemon finds every seed finished: all cells are there, and nothing is paid for or made twice."""
    seeds, before = list(demo.endings()), (demo.history(), demo.calls())
    wanted = [{"path": [component.value]} for component in Component]

    def ask(url: str, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return answer["data"]

    with user_interface(demo) as url:
        launched = ask(url, LAUNCH, params={"assetSelection": wanted, "partitionNames": seeds})
        backfill = launched["launchPartitionBackfill"]
        assert backfill["__typename"] == "LaunchBackfillSuccess", backfill
        ended: list[str] = []

        def over() -> bool:
            status = ask(url, STATUS, id=backfill["backfillId"])["partitionBackfillOrError"]["status"]
            ended[:] = [status]
            return status not in {"REQUESTED", "COMPLETING"}

        end = time.monotonic() + WAIT_S
        while not over():
            assert time.monotonic() < end, (demo.root / "ui.txt").read_text()[-3000:]
            time.sleep(2)
    rejected = [seed for seed, (status, _) in demo.endings().items() if status.value != "accepted"]
    assert ended == ["COMPLETED_FAILED" if rejected else "COMPLETED_SUCCESS"], (demo.root / "ui.txt").read_text()[
        -3000:
    ]
    assert (demo.history(), demo.calls()) == before
