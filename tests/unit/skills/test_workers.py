"""Processes that read skills end when the one that started them does, however that was."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
import time
from multiprocessing import active_children
from facet_dagster.skills import workers
from facet_dagster.skills.sources.entry import Entry

workers.POOL_FROM = 0
with workers.Judges(2) as judges:
    for number in range(900):
        data = b"text %d" % number
        list(judges.put(number, Entry("s", str(number), data, len(data)), str(number)))
    print(len(list(judges.rest())), *(child.pid for child in active_children()), flush=True)
    time.sleep(600)
"""


def test_workers_do_not_outlive_a_parent_that_is_killed() -> None:
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        _, *pids = parent.stdout.readline().split()
        assert len(pids) == 2
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.1)
    assert left == []


def _runs(pid: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
