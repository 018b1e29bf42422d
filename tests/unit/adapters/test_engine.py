"""An engine that cannot be reached: what the user is told to do."""

import shutil
import socket
from pathlib import Path

import pytest

from facet_dagster.adapters import engine
from facet_dagster.adapters.docker_calls import NO_PERMISSION, NOT_INSTALLED, NOT_RUNNING
from facet_dagster.adapters.docker_debian import _host_sources
from facet_dagster.errors import EngineUnavailable


def told(host: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineUnavailable) as caught:
        engine.connect()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(f"unix://{tmp_path}/none.sock", monkeypatch).startswith(NOT_RUNNING)


def test_a_socket_without_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    assert told(f"unix://{path}", monkeypatch).startswith(NOT_RUNNING)


def test_a_port_without_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert told(f"tcp://127.0.0.1:{port}", monkeypatch).startswith(NOT_RUNNING)


def test_no_permission_and_not_installed_read_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert engine._advice(PermissionError(13, "Permission denied")) == NO_PERMISSION
    assert engine._advice(FileNotFoundError(2, "No such file")) == NOT_INSTALLED
    assert len({NO_PERMISSION, NOT_INSTALLED, NOT_RUNNING}) == 3


def test_nothing_is_installed_where_the_user_named_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr(engine, "install_engine", lambda: pytest.fail("installed"))
    monkeypatch.setattr(engine, "start_daemon", lambda: pytest.fail("started"))
    with pytest.raises(EngineUnavailable):
        engine.ensure_engine(lambda _: None)


def test_the_hosts_own_mirror_is_taken_from_both_kinds_of_sources(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://old.example bookworm main\ndeb [signed-by=/k] http://mirror.example/debian bookworm main x\n"
        "deb http://tools.example/apt cloud main\ndeb-src http://mirror.example/debian bookworm main\n"
    )
    (tmp_path / "sources.list.d" / "debian.sources").write_text(
        "Types: deb\nURIs: http://sec.example/debian-security\nSuites: bookworm-security\nComponents: main\n\n"
        "Types: deb\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\nEnabled: no\n"
    )
    assert _host_sources(tmp_path) == [
        "deb http://mirror.example/debian bookworm main",
        "deb http://sec.example/debian-security bookworm-security main",
    ]
