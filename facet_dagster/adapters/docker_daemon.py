"""Installing and starting dockerd on a Debian or Ubuntu host, as root. Leftovers: docker_leftovers.py."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from docker import DockerClient
from docker.errors import DockerException
from requests.exceptions import RequestException

from facet_dagster.adapters.docker_leftovers import clear_leftovers
from facet_dagster.errors import EngineUnavailable, InfrastructureError

SOCKET = Path("/var/run/docker.sock")
LOG = Path("/var/log/facet-dockerd.log")
_START_S = 90.0


def can_install() -> bool:
    """Whether packages may be installed and daemons started here: root, with apt."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(*packages: str) -> None:
    """Install packages of the distribution; raises InfrastructureError with apt's last line."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "-q", *arguments], env=environment, capture_output=True, text=True)
        # An update fails as a whole for one unreachable third-party source; the install shows whether it mattered.
        if done.returncode and arguments[0] == "install":
            last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            raise InfrastructureError(f"cannot install {' '.join(packages)}: {last}")


def install_engine() -> None:
    """Install docker.io, and what its networks and pulls need although it only recommends it."""
    apt_install("docker.io", "iptables", "ca-certificates")


def start_daemon() -> None:
    """Start dockerd and wait until it answers. Raises EngineUnavailable with its last error.

    Where systemd runs, it starts its unit; elsewhere dockerd gets a session of its own and a log file.
    """
    if _answers():  # the package's own scripts may have started it
        return
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "start", "docker"], capture_output=True)
        _wait(None)
        return
    clear_leftovers()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            ["dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    _wait(process)


def _wait(process: "subprocess.Popen[bytes] | None") -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if _answers():
            return
        if process is not None and process.poll() is not None:
            raise EngineUnavailable(f"dockerd ended at once: {_last_error()} (see {LOG})")
        time.sleep(0.3)
    where = f"{_last_error()} (see {LOG})" if process is not None else "see `journalctl -u docker`"
    raise EngineUnavailable(f"dockerd did not answer within {_START_S:.0f} s: {where}")


def _answers() -> bool:
    if not SOCKET.exists():
        return False
    try:
        return bool(DockerClient(base_url=f"unix://{SOCKET}", timeout=5).ping())
    except (DockerException, RequestException, OSError):
        return False


def _last_error() -> str:
    lines = LOG.read_text(errors="replace").splitlines() if LOG.exists() else []
    wrong = [line for line in lines[-200:] if "level=error" in line or "level=fatal" in line or "failed to" in line]
    return (wrong or lines or ["its log is empty"])[-1][-400:]
