"""What a command in a container prints, read off its socket: in any pieces, cut anywhere, with TLS and without."""

import asyncio
import errno
import socket
import ssl
import threading
from collections.abc import Iterator
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.adapters.docker_calls import EngineCalls
from facet_dagster.adapters.docker_frames import frames, patient
from facet_dagster.adapters.docker_stream import DockerStream
from facet_dagster.records.container import Limits

_UNCERTIFIED = "AECDH-AES256-SHA:@SECLEVEL=0"  # TLS without a certificate: nobody is to be trusted here


def frame(payload: bytes, kind: int = 1) -> bytes:
    return bytes([kind, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40))),
    st.lists(st.integers(1, 30), min_size=1),
    st.none() | st.integers(0, 200),
)
def test_payloads_come_whole_in_whatever_pieces_and_a_cut_gives_what_came(
    said: list[tuple[int, bytes]], sizes: list[int], cut: int | None
) -> None:
    sent = b"".join(frame(payload, kind) for kind, payload in said)
    left, next_size = bytearray(sent[:cut]), cycle(sizes)

    def receive(most: int) -> bytes:
        size = min(most, next(next_size))
        piece = bytes(left[:size])
        del left[:size]
        return piece

    pieces = list(frames(receive))
    whole = b"".join(payload for _, payload in said)
    assert all(pieces) and whole.startswith(b"".join(pieces))
    if cut is None or cut >= len(sent):
        assert b"".join(pieces) == whole


def test_nothing_is_asked_for_beyond_a_frame() -> None:
    left = bytearray(frame(b"one") + b"rest")

    def receive(most: int) -> bytes:
        piece = bytes(left[:most])
        del left[:most]
        return piece

    assert next(frames(receive)) == b"one"
    assert left == b"rest"


def over_tls() -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
    """Engine and client."""
    ends = socket.socketpair()
    contexts = [ssl.SSLContext(protocol) for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)]
    for context in contexts:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_UNCERTIFIED)
    engine = contexts[0].wrap_socket(ends[0], server_side=True, do_handshake_on_connect=False)
    client = contexts[1].wrap_socket(ends[1], do_handshake_on_connect=False)
    shaking = threading.Thread(target=engine.do_handshake)
    shaking.start()
    client.do_handshake()
    shaking.join()
    return engine, client


@pytest.fixture(params=["plain", "tls"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    made = over_tls() if request.param == "tls" else socket.socketpair()
    yield made
    for end in made:
        end.close()


class Api:
    """The calls of the SDK that start a command with its socket."""

    def __init__(self, opened: socket.socket) -> None:
        self._opened = opened

    def exec_create(self, *_: object, **__: object) -> dict[str, str]:
        return {"Id": "1"}

    def exec_start(self, *_: object, **__: object) -> socket.socket:
        return self._opened


async def test_a_frame_is_there_when_it_has_come_and_the_end_too(ends: tuple[socket.socket, socket.socket]) -> None:
    engine, client = ends
    client.settimeout(0.02)  # as the SDK sets one, only longer
    stream = DockerStream(Api(client), EngineCalls(), "c", Limits())  # type: ignore[arg-type]
    await stream.open("cat", "root", "/")
    try:
        async with asyncio.timeout(10):
            waiting = asyncio.ensure_future(stream.receive())
            await asyncio.sleep(0.1)  # longer than the timeout: silence is no trouble
            engine.sendall(frame(b"born 17\n") + frame(b"said at once", 2))
            assert (await waiting, await stream.receive()) == (b"born 17\n", b"said at once")
            await stream.send(b"typed\n")
            assert engine.recv(100) == b"typed\n"
            engine.shutdown(socket.SHUT_RDWR)
            assert await stream.receive() == b""
            await stream.send(b"too late\n")
            await stream.send(b"too late\n")
    finally:
        await stream.close()


def test_a_connection_that_the_network_gave_up_is_not_waited_for() -> None:
    class Lost:
        def recv(self, _most: int) -> bytes:
            raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    with pytest.raises(TimeoutError):
        next(frames(patient(Lost())))
