"""What a killed daemon left is cleared; what belongs to a live one is not."""

from pathlib import Path

import pytest

from facet_dagster.adapters.docker_leftovers import EngineFiles, clear_leftovers, stale_mounts


@pytest.fixture
def files(tmp_path: Path) -> EngineFiles:
    """State of an engine that was killed: pid files that point at processes of other programs, and sockets."""
    files = EngineFiles(proc=tmp_path / "proc", run=tmp_path / "run", data=tmp_path / "data")
    (files.proc / "self").mkdir(parents=True)
    (files.proc / "self" / "mountinfo").write_text("")
    managed = files.run / "docker" / "containerd"
    managed.mkdir(parents=True)
    (files.run / "docker.pid").write_text("41")
    (managed / "containerd.pid").write_text("42")
    for name in ("containerd.sock", "containerd.sock.ttrpc", "containerd-debug.sock"):
        (managed / name).write_text("")
    process(files, 41, "python3")
    process(files, 42, "bash")
    return files


def process(files: EngineFiles, pid: int, name: str, state: str = "S") -> None:
    directory = files.proc / str(pid)
    directory.mkdir(exist_ok=True)
    (directory / "stat").write_text(f"{pid} ({name}) {state} 1 2 3\n")


def names(files: EngineFiles) -> list[str]:
    return sorted(path.name for path in files.run.rglob("*") if path.is_file())


def test_stale_files_go(files: EngineFiles) -> None:
    clear_leftovers(files)
    assert names(files) == []


def test_a_live_containerd_keeps_its_own(files: EngineFiles) -> None:
    process(files, 42, "containerd")
    clear_leftovers(files)
    assert names(files) == ["containerd-debug.sock", "containerd.pid", "containerd.sock", "containerd.sock.ttrpc"]


def test_a_live_daemon_keeps_everything(files: EngineFiles) -> None:
    process(files, 77, "dockerd")
    clear_leftovers(files)
    assert len(names(files)) == 5


def test_a_zombie_is_no_daemon(files: EngineFiles) -> None:
    process(files, 77, "dockerd", state="Z")
    clear_leftovers(files)
    assert names(files) == []


def test_only_mounts_of_containers_are_stale() -> None:
    files = EngineFiles()
    points = ["/", "/var/lib/docker", "/var/lib/docker/overlay2/a/merged", "/run/docker/netns/x", "/home"]
    info = "".join(f"{n} 1 0:1 / {point} rw - ext4 /dev/x rw\n" for n, point in enumerate(points))
    assert stale_mounts(info, files) == ["/var/lib/docker/overlay2/a/merged", "/run/docker/netns/x"]
