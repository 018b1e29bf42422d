"""A container whose terminal is a Python function, and a sandbox that hands it out."""

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import AGENT_USER, WORKDIR, Command, CommandResult, ContainerSpec

PROMPT = "agent@task:/app$"
SLICE = 7  # bytes that a stream gives at a time: no line comes whole
AT_ONCE = re.compile(r'run-shell -t main -C "([^"]*)"')
BRIEF = 0.01  # what the terminal waits between two looks for its first prompt


class ScreenContainer:
    """Answers as tmux in control mode: `typed` collects the keys, `screen(typed)` says what stands on the screen."""

    def __init__(self, screen: Callable[[list[str]], str] | None = None) -> None:
        self.typed: list[str] = []
        self.waits: list[float] = []
        self.users: set[str] = set()
        self.screen = screen or (lambda typed: PROMPT)
        self.alive = True
        self.born = 17  # when its first process started
        self.broken = False
        self.ready = True
        self.frozen = 0
        self.streams: list[ScreenStream] = []
        self.stopped = False  # tmux was, by its agent
        self.mute = False  # its streams never say anything
        self.buffer = ""  # of tmux, of which all clients have the same

    async def run(self, command: Command) -> CommandResult:
        self.users.add(command.user)
        if self.broken:
            raise InfrastructureError("the engine has gone")
        ok = self.ready if "facet-entrypoint" in command.script else self.stopped
        return CommandResult(exit_code=0 if ok else 124, output="", seconds=0)

    async def attach(self, script: str, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> "ScreenStream":
        if self.broken:
            raise InfrastructureError("the engine has gone")
        self.streams.append(ScreenStream(self))
        return self.streams[-1]

    async def freeze(self) -> str:
        self.frozen += 1
        return "frozen:1"


class ScreenStream:
    """A client of the container's tmux. `limit` and `dead` end it; `silent` keeps it from answering."""

    def __init__(self, container: ScreenContainer) -> None:
        self._container = container
        self._out = bytearray()
        self._asked = 0
        self.limit: str | None = None
        self.dead = False
        self.silent = container.mute
        self.closed = False

    async def send(self, data: bytes) -> None:
        for line in data.decode().split("\n")[:-1]:
            if not self._ended():
                self._out += self._answer(line).encode()
            elif line == "":  # to be told when it was born takes no tmux
                self._out += f"born {self._container.born}\nno server running\n".encode()

    async def receive(self) -> bytes:
        if self._container.broken:
            raise InfrastructureError("the engine has gone")
        if self.silent:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        data, self._out = bytes(self._out[:SLICE]), self._out[SLICE:]
        return data

    async def close(self) -> None:
        self.closed = True

    def _ended(self) -> bool:
        return self.dead or not self._container.alive

    def _answer(self, line: str) -> str:
        if not line:
            return f"born {self._container.born}\n%begin 1 1 0\n%end 1 1 0\n%session-changed $0 main\n"
        text = self._container.screen(self._container.typed)
        together = AT_ONCE.fullmatch(line)
        if not together:
            return self._block(line, text)
        expanded = _expanded(together[1], text)
        text = self._container.screen(self._container.typed)  # a little later
        return self._block("run-shell -d 0", text) + "".join(self._block(c, text) for c in expanded.split(" ; "))

    def _block(self, command: str, text: str) -> str:
        self._asked += 1
        guard = f"1796011434 {self._asked} 1"
        return f"%begin {guard}\n{self._said(command, text)}%end {guard}\n"

    def _said(self, command: str, text: str) -> str:
        verb, *words = shlex.split(command.replace("\\", "\\\\"))
        if verb == "set-buffer":
            octal = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), words[-1])
            self._container.buffer = octal.encode("latin-1").decode()
        elif verb == "paste-buffer":
            self._container.typed.append(self._container.buffer)
        elif verb == "send-keys":
            self._container.typed.append("\0" if "-H" in words else f"<{words[-1]}>")
        elif verb == "run-shell" and float(words[-1]) not in (0, BRIEF):
            self._container.waits.append(float(words[-1]))
        elif verb == "display-message":
            return f"{_expanded(words[-1], text)}\n"
        elif verb == "capture-pane":
            end = max(0, int(words[words.index("-E") + 1])) + 1 if "-E" in words else None
            return "".join(f"{row}\n" for row in text.split("\n")[max(0, int(words[words.index("-S") + 1])) : end])
        return ""


def _expanded(formats: str, text: str) -> str:
    """What tmux makes of the formats that are used; this terminal has no history and no other screen."""
    values = {"history_size": "0", "cursor_y": str(text.count("\n")), "alternate_on": "0"}
    said = re.sub(r"(?<!#)#\{(\w+)\}", lambda m: values[m[1]], formats)
    said = re.sub(r"#\{e\|-:(\d+),(\d+)\}", lambda m: str(int(m[1]) - int(m[2])), said)
    said = re.sub(r"#\{\?alternate_on,0,(-?\d+)\}", r"\1", said)
    return said.replace("##", "#")


class ScreenSandbox:
    """Opens the one container it was given; `discarded` lists the images that were removed."""

    def __init__(self, container: ScreenContainer) -> None:
        self.container = container
        self.specs: list[ContainerSpec] = []
        self.open_now = 0
        self.discarded: list[str] = []

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[ScreenContainer]:
        self.specs.append(spec)
        self.open_now += 1
        try:
            yield self.container
        finally:
            self.open_now -= 1

    async def discard(self, image: str) -> None:
        self.discarded.append(image)


@pytest.fixture
def container() -> ScreenContainer:
    return ScreenContainer()


@pytest.fixture
def sandbox(container: ScreenContainer) -> ScreenSandbox:
    return ScreenSandbox(container)
