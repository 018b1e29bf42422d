"""The skeleton's run_as_agent: bounded, isolated, nothing left running."""

import importlib.util
import os
import pwd
import subprocess
import time
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

import facet_dagster.task_template.tests as skeleton


@pytest.fixture
def support(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with a user that exists on any machine in place of the agent."""
    path = Path(next(iter(skeleton.__path__))) / "support.py"
    spec = importlib.util.spec_from_file_location("skeleton_support", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "AGENT", "nobody")
    return module


def test_output_code_and_input_come_back(support: ModuleType) -> None:
    done = support.run_as_agent(["sh", "-c", "cat; echo wrong >&2; exit 3"], cwd="/", stdin="héllo\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "héllo\n", "wrong\n")


def test_the_environment_is_small_and_can_be_extended(support: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    done = support.run_as_agent(["env"], cwd="/", env={"MODE": "dry"})
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert {"PATH", "HOME", "USER", "LANG", "MODE"} <= names
    assert "SECRET" not in names


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_becomes_the_agent(support: ModuleType) -> None:
    done = support.run_as_agent(["id", "-u"], cwd="/")
    assert int(done.stdout) == pwd.getpwnam("nobody").pw_uid
    assert support.run_as_agent(["id", "-G"], cwd="/").stdout.split() == [str(pwd.getpwnam("nobody").pw_gid)]


def test_a_background_process_neither_blocks_nor_survives(support: ModuleType) -> None:
    done = support.run_as_agent(["sh", "-c", "sleep 600 & echo $!"], cwd="/", timeout=30)
    pid = int(done.stdout)
    deadline = time.monotonic() + 10  # a killed process is gone soon, not at once
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in {"Z", "X"}


def test_too_slow_raises(support: ModuleType) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        support.run_as_agent(["sleep", "600"], cwd="/", timeout=0.2)


@pytest.mark.parametrize(("share", "spells"), [(0.9, 4), (0.1, 1), (None, 1)])
def test_a_program_gets_more_time_where_the_host_keeps_it_waiting(
    support: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, share: float | None, spells: int
) -> None:
    class Hanging:
        waits: ClassVar[list[float]] = []

        def wait(self, timeout: float) -> int:
            self.waits.append(timeout)
            clock.now += timeout
            raise subprocess.TimeoutExpired("x", timeout)

    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            if share is not None:
                stalls.write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={int(self.now * share * 1e6)}\nfull\n")
            return self.now

    clock, stalls = Clock(), tmp_path / "cpu"
    monkeypatch.setattr(support, "STALLS", stalls)
    monkeypatch.setattr(support, "time", clock)
    process = Hanging()
    process.waits.clear()
    with pytest.raises(subprocess.TimeoutExpired):
        support._wait(process, 5.0)
    assert process.waits == [5.0] * spells
