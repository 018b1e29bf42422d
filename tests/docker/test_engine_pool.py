"""A workshop on two endpoints, one of which dies with a container open: the work goes on at the other."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest
from docker import DockerClient

from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.errors import EngineLost
from facet_dagster.records.container import BuildRequest, Command, ContainerSpec, FileEntry
from facet_dagster.settings import Settings

pytestmark = pytest.mark.docker


class Relay:
    """A second address of an engine: what comes in on one socket goes to the engine's, until `die`."""

    def __init__(self, path: Path, engine: str) -> None:
        self.host = f"unix://{path}"
        self._engine = engine
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def die(self) -> None:
        """End every connection, and accept none."""
        for each in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._engine)
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(engine: DockerClient, tmp_path: Path) -> Iterator[Relay]:
    address = urlparse(str(engine.api.base_url).replace("http+docker://", "unix:///"))
    path = "/var/run/docker.sock" if address.netloc == "" and "localhost" in address.path else address.path
    if not Path(path).is_socket():
        pytest.skip(f"the engine here is not behind a local socket: {engine.api.base_url}")
    made = Relay(tmp_path / "second.sock", path)
    yield made
    made.die()


async def test_the_work_of_an_engine_that_dies_goes_on_at_another(
    engine: DockerClient, run_id: str, relay: Relay, tmp_path: Path, assert_nothing_left: Callable[..., None]
) -> None:
    hosts = (relay.host, "unix:///var/run/docker.sock", f"unix://{tmp_path}/never-there.sock")
    settings = Settings(store=str(tmp_path / "store"), out=tmp_path / "out", docker_hosts=hosts)
    head = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY x /x\n"
    request = BuildRequest(seed="moves", dockerfile=head, context=(FileEntry.of("x", run_id.encode()),))
    spec = ContainerSpec(image=request.tag(), seed="moves", purpose="test")
    said: list[str] = []
    with open_workshop(settings, run_id=run_id, progress=said.append) as workshop:
        assert (await workshop.builder.build(request)).ok
        with pytest.raises(EngineLost):
            async with workshop.sandbox.open(spec) as container:
                assert (await container.run(Command(script="true"))).ok
                relay.die()
                await container.run(Command(script="true"))
        assert await workshop.builder.exists(request.tag(), "moves")
        async with workshop.sandbox.open(spec) as container:
            assert await container.read("/x", max_bytes=100) == run_id.encode()
    assert [line for line in said if "never-there" in line and "left out" in line]
    assert [line for line in said if relay.host in line and "answers no longer" in line]
    assert_nothing_left(engine, run_id)
