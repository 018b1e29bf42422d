"""What test_outputs.py may use: the files of the initial state, and running a delivered program safely.

No assertions here. `E0 / "app/a.csv"` is /app/a.csv as it was before the agent worked. Kept are the files below /app
(without git's own folders and what is too large) and those elsewhere that the task changes: bytes and names, not modes.
"""

import contextlib
import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

E0 = Path("/tests/e0")
AGENT = "agent"
OUTPUT_LIMIT = 1_000_000  # characters kept of each stream
STALLS = Path("/proc/pressure/cpu")  # of the whole host: how long some process waited for a processor
PATIENCE = 4  # times `timeout` that a program gets at most where the host keeps it waiting


def run_as_agent(
    argv: Sequence[str],
    *,
    timeout: float = 30,
    cwd: str = "/app",
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program as the agent's user (where the tests run as root); `env` is added to a small fixed environment.

    Streams go to files, not pipes: a process left in the background cannot hold up the test. Its whole process group
    is killed at the end. Raises subprocess.TimeoutExpired after `timeout` seconds (later on a host whose processors
    are taken: that the machine was slow is nobody's fault), OSError if it cannot start.
    """
    root = os.geteuid() == 0
    user = pwd.getpwnam(AGENT) if root else pwd.getpwuid(os.geteuid())
    fixed = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LANG": "C.UTF-8",
    }
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((stdin or "").encode())
        given.seek(0)
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            stdin=given,
            stdout=out,
            stderr=err,
            env={**fixed, **(env or {})},
            start_new_session=True,
            user=user.pw_uid if root else None,
            group=user.pw_gid if root else None,
            extra_groups=[] if root else None,
        )
        try:
            code = _wait(process, timeout)
        finally:
            _end(process)
        return subprocess.CompletedProcess(list(argv), code, _text(out), _text(err))


def _wait(process: subprocess.Popen[bytes], timeout: float) -> int:
    for spell in range(1, PATIENCE + 1):
        began, stalled = time.monotonic(), _stalled()
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            spent, waited = time.monotonic() - began, _stalled() - stalled
            if spell == PATIENCE or waited < spent / 2:
                raise
    raise AssertionError("the last spell returns or raises")


def _stalled() -> float:
    """Seconds, since the host started, in which some process waited for a processor; 0 where nobody counts them."""
    try:
        some = STALLS.read_text().splitlines()[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1e6


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(OUTPUT_LIMIT).decode(errors="replace")
