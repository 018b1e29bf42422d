"""What a killed dockerd leaves behind and a new one stumbles over: pid files, sockets, mounts. Linux, root."""

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EngineFiles:
    """Where one engine keeps its state; the default is Docker's own default."""

    proc: Path = Path("/proc")
    run: Path = Path("/var/run")
    data: Path = Path("/var/lib/docker")


def clear_leftovers(files: EngineFiles | None = None) -> None:
    """Remove pid files and sockets of daemons that no longer run, and the mounts of their containers.

    A daemon that is alive keeps all of its own.
    """
    files = files or EngineFiles()
    if is_running(files, "dockerd"):
        return
    _remove(files.run / "docker.pid", files.run / "docker.sock")
    managed = files.run / "docker" / "containerd"
    if not _is_process(files, managed / "containerd.pid", "containerd"):
        # A re-used pid in this file makes dockerd wait for a containerd that is somebody else.
        _remove(managed / "containerd.pid", *managed.glob("*.sock*"))
    if not is_running(files, "containerd-shim"):  # no container has outlived the daemon: nothing uses the mounts
        for mount in stale_mounts((files.proc / "self" / "mountinfo").read_text(), files):
            subprocess.run(["umount", "--lazy", mount], capture_output=True)


def is_running(files: EngineFiles, name: str) -> bool:
    """Whether any process has this name (or a name that starts with it, as the kernel cuts names at 15 characters)."""
    return any(_name(directory).startswith(name) for directory in files.proc.glob("[0-9]*"))


def stale_mounts(mountinfo: str, files: EngineFiles) -> list[str]:
    """Mount points of containers (layers, shared memory, network namespaces), the innermost first."""
    points = [line.split()[4] for line in mountinfo.splitlines() if len(line.split()) > 4]
    layers, containers = f"{files.data}/overlay2/", f"{files.data}/containers/"
    spaces = (f"{files.run}/docker/netns/", "/run/docker/netns/")
    ours = [p for p in points if p.startswith((layers, containers, *spaces))]
    return sorted(ours, key=len, reverse=True)


def _is_process(files: EngineFiles, pid_file: Path, name: str) -> bool:
    try:
        pid = int(pid_file.read_text())
    except (FileNotFoundError, ValueError):
        return False
    return _name(files.proc / str(pid)) == name


def _name(process: Path) -> str:
    """The name of a process; none for a zombie, which stays for ever where init does not wait for orphans."""
    try:
        stat = (process / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return "" if rest.split()[0] in "ZX" else name


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            path.unlink()
