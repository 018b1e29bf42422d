"""The frames of an attached command's output, read from its socket as they come.

The SDK's own reader asks the kernel first whether there is something; what TLS has decrypted already stays unread.
"""

from collections.abc import Callable, Iterator
from typing import Any

HEADER = 8  # kind of the output, three times zero, length of the payload (4 bytes, most significant first)
PIECE = 1 << 16  # bytes of a payload that are read at a time


def frames(receive: Callable[[int], bytes]) -> Iterator[bytes]:
    """The payloads of both kinds of output in pieces, never empty, up to the end of the stream.

    `receive(n)` gives 1 to n bytes, none at the end. Nothing is asked for beyond the frame that is being read.
    """
    while len(header := _whole_header(receive)) == HEADER:
        left = int.from_bytes(header[4:], "big")
        while left:
            piece = receive(min(left, PIECE))
            if not piece:
                return
            left -= len(piece)
            yield piece


def patient(opened: Any) -> Callable[[int], bytes]:
    """`recv` of a socket that waits as long as it takes.

    The socket keeps its timeout: with one, Python waits outside of TLS, and another thread can send meanwhile.
    """

    def receive(most: int) -> bytes:
        while True:
            try:
                return bytes(opened.recv(most))
            except TimeoutError as error:
                if error.errno is not None:  # said by the network: the other side is gone
                    raise

    return receive


def _whole_header(receive: Callable[[int], bytes]) -> bytes:
    header = b""
    while len(header) < HEADER and (more := receive(HEADER - len(header))):
        header += more
    return header
