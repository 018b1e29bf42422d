"""tmux in control mode over one stream: commands go in as lines, each is answered by a block of lines.

Nothing is started in the container per command. Belongs here: the format of the stream, and how text becomes a command.
Does not belong here: sessions, panes, and what is to be typed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from facet_dagster.ports import Stream

KEPT_BYTES = 10_000  # of the head and of the tail of a long answer
CHUNK_BYTES = 48_000  # of text per command
LONGEST_LINE = 1 << 25  # bytes; the whole history as one line is half of that

_BEGIN = re.compile(rb"%begin (\d+ \d+ 1)")  # the last number: asked by this client, not by a hook
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _./,:=+-")


@dataclass(frozen=True)
class Answer:
    """What a command printed, without the empty lines at its end; of more than 2 x KEPT_BYTES only head and tail.

    `size` is the length in bytes of the whole. Without `ok`, the text says what is wrong.
    """

    ok: bool
    text: str
    size: int


class StreamEnded(Exception):
    """The client is gone, or nothing it says can be made out. `answers` are those that came before."""

    def __init__(self, reason: str, answers: Sequence[Answer] = ()) -> None:
        super().__init__(reason)
        self.answers = list(answers)


class ControlClient:
    """One client. Use it from one task only; after StreamEnded or a cancelled call, not at all."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._searched = 0
        self._aside = ""  # the last line that belongs to no answer

    async def ask(self, commands: Sequence[str]) -> list[Answer]:
        """Run the commands in order; an answer for each. A command that fails stops no other."""
        answers = await self._said_to(commands)
        if len(answers) != len(commands):
            raise StreamEnded("the terminal cannot be read")
        return answers

    async def ask_at_once(self, commands: Sequence[str], target: str) -> list[Answer]:
        """Run the commands with nothing that a program prints between them; the answers end with the first that failed.

        Formats in them, wherever they stand, are expanded for the target a little before; `##{...}` when it is run.
        """
        answers = await self._said_to([f'run-shell -t {target} -C "{" ; ".join(commands)}"'])
        if answers and answers[0].ok:
            del answers[0]  # of the line itself
        if len(answers) != len(commands) and not (answers and not answers[-1].ok):
            raise StreamEnded("the terminal cannot be read")
        return answers

    async def _said_to(self, lines: Sequence[str]) -> list[Answer]:
        """Every answer to the lines; at least one for each line that tmux can make out."""
        mark = uuid4().hex  # not to be guessed by what stands on the screen
        await self._stream.send("".join(f"{line}\n" for line in (*lines, f"display-message -p {mark}")).encode())
        answers: list[Answer] = []
        try:
            while (answer := await self._answer()).text != mark:
                answers.append(answer)
        except StreamEnded as ended:
            raise StreamEnded(str(ended), answers) from None
        return answers

    async def line(self) -> str:
        """The next line that was sent, outside of answers. Raises StreamEnded with the last of them."""
        return (await self._line()).decode(errors="replace")

    async def _answer(self) -> Answer:
        while not (begin := _BEGIN.fullmatch(line := await self._line())):
            if line.startswith(b"%exit"):
                raise StreamEnded("the session has ended")
            if not line.startswith(b"%"):
                self._aside = line.decode(errors="replace")
        text, ends = _Kept(), {b"%end " + begin[1]: True, b"%error " + begin[1]: False}
        while (line := await self._line()) not in ends:
            text.add(line)
        return Answer(ends[line], text.text(), text.size)

    async def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n", self._searched)) < 0:
            self._searched = len(self._buffer)
            data = await self._stream.receive()
            if not data or self._searched > LONGEST_LINE:
                rest = self._buffer.decode(errors="replace") if not data else ""
                raise StreamEnded(rest or self._aside or "the session has ended")
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line


class _Kept:
    """Lines as one text: all of it, or head and tail."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._open = b""  # line feeds, which count only when text follows

    def add(self, line: bytes) -> None:
        if line:
            self._append(self._open + line)
            self._open = b""
        self._open += b"\n"

    def _append(self, data: bytes) -> None:
        self.size += len(data)
        room = KEPT_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * KEPT_BYTES:
            del self._tail[:-KEPT_BYTES]

    def text(self) -> str:
        tail = self._tail if self.size <= 2 * KEPT_BYTES else self._tail[-KEPT_BYTES:]
        return bytes(self._head + tail).decode(errors="replace")


def quoted(data: bytes) -> str:
    """A word of a command that stands for these bytes, whatever they are (but zero, which no word can hold)."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in data) + '"'


def paste(text: str, target: str) -> Iterator[str]:
    """Commands that put a text into a pane as it stands, in pieces where it is long."""
    data = text.encode("utf-8", "replace")
    for number, part in enumerate(data.split(b"\0")):
        if number:
            yield f"send-keys -t {target} -H 00"
        for start in range(0, len(part), CHUNK_BYTES):
            # Line feeds are left as they are (-r): shells take them for the Enter key, and a program that starts in
            # the middle of the text reads lines, where carriage returns typed ahead would reach it as they are.
            yield f"set-buffer -b k -- {quoted(part[start : start + CHUNK_BYTES])}"
            yield f"paste-buffer -d -r -b k -t {target}"
