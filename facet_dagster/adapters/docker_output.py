"""Output of hostile code, kept within a byte limit: the head and the tail stay, the middle goes."""

from collections import deque


class BoundedOutput:
    """Collects chunks; never holds more than about `limit` bytes. One writer, any readers."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Append what has come; the oldest bytes of the tail make room."""
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size > self._tail_limit:
            self._shorten(self._tail_size - self._tail_limit)

    def _shorten(self, excess: int) -> None:
        oldest = self._tail.popleft()
        gone = min(excess, len(oldest))
        if gone < len(oldest):
            self._tail.appendleft(oldest[gone:])
        self._tail_size -= gone
        self._dropped += gone

    @property
    def truncated(self) -> bool:
        """Whether something was dropped."""
        return self._dropped > 0

    def text(self) -> str:
        """What was kept, undecodable bytes replaced, with a line that says how much is missing."""
        tail = b"".join(tuple(self._tail))
        if not self._dropped:
            return (bytes(self._head) + tail).decode(errors="replace")
        gap = f"\n[... {self._dropped} bytes left out ...]\n"
        return bytes(self._head).decode(errors="replace") + gap + tail.decode(errors="replace")
