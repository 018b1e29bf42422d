"""Are verdicts right or absent, never wrong, on a host in trouble: python benchmarks/stress.py [none|load|restarts ...]

Audits the hand-made tasks of tests/fixtures/tasks once per kind of trouble and counts verdicts that are right, that
are missing (null: nothing was decided) and that are wrong. `load`: twice as many busy processes as CPUs, and one that
writes and syncs without end; `restarts`: the same, and the engine's daemon is ended and started again every two
minutes. Needs root for `restarts`. Ends with 1 where a verdict was wrong.
"""

import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from facet_dagster.adapters.docker_daemon import start_daemon

TASKS = Path(__file__).parents[1] / "tests" / "fixtures" / "tasks"
BETWEEN_RESTARTS_S = 120.0
WRITTEN = 64 * 1024 * 1024  # bytes between two syncs


def main(troubles: list[str]) -> int:
    """Print one line per kind of trouble, and what was missing or wrong under it."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs; {len(_expected())} hand-made tasks")
    return max(_under(trouble) for trouble in troubles)


def _under(trouble: str) -> int:
    began = time.monotonic()
    with _load(trouble != "none"), _restarts(trouble == "restarts") as restarts:
        found = _audit()
    expected = _expected()
    missing = {name: said for name, (v, said) in found.items() if v is None and expected[name] is not None}
    wrong = {name: said for name, (v, said) in found.items() if v is not None and v is not expected[name]}
    right = len(found) - len(missing) - len(wrong)
    print(
        f"{trouble}: {right} right, {len(missing)} null, {len(wrong)} wrong; {len(restarts)} restarts of the daemon, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    for kind, tasks in (("null", missing), ("wrong", wrong)):
        for name, said in sorted(tasks.items()):
            print(f"  {kind}: {name}: {said}")
    return int(bool(wrong) or len(found) != len(expected))


def _expected() -> dict[str, bool | None]:
    files = sorted(TASKS.glob("*/expected.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8"))["accepted"] for file in files}


def _audit() -> Mapping[str, tuple[bool | None, str]]:
    """Task -> verdict and reason, by the command that a user has."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report.json"
        command = [Path(sys.executable).with_name("facet"), "validate", TASKS, "--json", target]
        done = subprocess.run(command, capture_output=True, text=True)
        if not target.exists():
            raise SystemExit(f"facet validate wrote no report: {done.stderr.strip() or done.stdout[-2_000:]}")
        tasks = json.loads(target.read_text(encoding="utf-8"))["tasks"]
    return {Path(task["path"]).name: (task["accepted"], task["reason"]) for task in tasks}


@contextmanager
def _load(wanted: bool) -> Iterator[None]:
    kinds = [*[_busy] * (2 * (os.cpu_count() or 1)), _writing] if wanted else []
    processes = [multiprocessing.Process(target=kind, daemon=True) for kind in kinds]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _busy() -> None:
    while True:
        sum(range(100_000))


def _writing() -> None:
    with tempfile.TemporaryFile() as file:
        while True:
            file.seek(0)
            file.write(os.urandom(WRITTEN))
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _restarts(wanted: bool) -> Iterator[list[float]]:
    """The list grows by one moment per restart."""
    over, moments = threading.Event(), list[float]()

    def restart() -> None:
        while not over.wait(BETWEEN_RESTARTS_S):
            _restart_daemon()
            moments.append(time.monotonic())

    thread = threading.Thread(target=restart)
    if wanted:
        thread.start()
    try:
        yield moments
    finally:
        over.set()
        if wanted:
            thread.join()


def _restart_daemon() -> None:
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "restart", "docker"], check=True)
        return
    pids = subprocess.run(["pgrep", "-x", "dockerd"], capture_output=True, text=True, check=True).stdout.split()
    for pid in pids:
        os.kill(int(pid), signal.SIGTERM)
    while any(Path(f"/proc/{pid}").exists() and "Z" not in _state(pid) for pid in pids):
        time.sleep(0.2)
    start_daemon()


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "Z"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["none", "load", "restarts"]))
