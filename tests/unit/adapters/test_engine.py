"""An engine that cannot be reached: what the user is told to do, and that nobody waits for it for ever."""

import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from docker import DockerClient

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


class Daemon(BaseHTTPRequestHandler):
    """Says its version and its OK; a ping waits while `hang` is cleared."""

    protocol_version = "HTTP/1.1"
    hang: threading.Event

    def do_GET(self) -> None:
        if self.path.startswith("/_ping"):
            self.hang.wait(60)
        said = b'{"ApiVersion": "1.41"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def daemon() -> Iterator[tuple[DockerClient, threading.Event]]:
    """A client of an engine behind TCP, and what its pings wait for."""
    goes_on = threading.Event()
    goes_on.set()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Daemon,), {"hang": goes_on})) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        client = engine.connect(f"tcp://127.0.0.1:{server.server_port}")
        yield client, goes_on
        goes_on.set()
        client.close()
        server.shutdown()


async def test_a_ping_that_hangs_is_no_answer(
    daemon: tuple[DockerClient, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More at once than the loop's own threads: those who ask in vain keep nobody waiting."""
    client, goes_on = daemon
    assert await engine.answers(client) is True
    monkeypatch.setattr(engine, "_ANSWER_S", 0.05)
    goes_on.clear()
    async with asyncio.timeout(20):
        assert not any(await asyncio.gather(*(engine.answers(client) for _ in range(40))))
        assert await asyncio.to_thread(lambda: "free") == "free"


def test_a_silent_machine_is_given_up(daemon: tuple[DockerClient, threading.Event]) -> None:
    api = daemon[0].api
    with api.get(f"{api.base_url}/version", stream=True) as response:
        opened = api._get_raw_response_socket(response)._sock
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
