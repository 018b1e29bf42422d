"""A container whose terminal is a Python function, and a sandbox that hands it out."""

import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import Command, CommandResult, ContainerSpec

STEP = re.compile(
    r"^sleep (?P<wait>[0-9.]+) \|\| true$|base64 -d <<< (?P<pasted>\S+)|send-keys -t main -- (?P<key>\S+)", re.MULTILINE
)
PROMPT = "agent@task:/app$"


class ScreenContainer:
    """Understands what Terminal sends: `typed` collects the keys, `screen(typed)` says what stands on the screen."""

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

    async def run(self, command: Command) -> CommandResult:
        self.users.add(command.user)
        if self.broken:
            raise InfrastructureError("the engine has gone")
        script = command.script
        if script.endswith("echo $born"):
            return CommandResult(exit_code=0, output=f"{self.born}\n", seconds=0)
        if not self.alive:
            return CommandResult(exit_code=1, output="no server running", seconds=0)
        if "facet-entrypoint" in script:
            return CommandResult(exit_code=0 if self.ready else 124, output="", seconds=0)
        for step in STEP.finditer(script):
            if step["wait"]:
                self.waits.append(float(step["wait"]))
            elif step["pasted"]:
                self.typed.append(b64decode(step["pasted"]).decode())
            else:
                self.typed.append(f"<{step['key']}>")
        if "display-message" in script:
            return self._captured()
        return CommandResult(exit_code=0, output="", seconds=0)

    def _captured(self) -> CommandResult:
        text = self.screen(self.typed)
        context, _, _ = text.rpartition("\n")
        output = f"{text.count(chr(10))} 0 0 {len(text.encode())} {self.born}\n{context}\x1e{text}"
        return CommandResult(exit_code=0, output=output, seconds=0)

    async def freeze(self) -> str:
        self.frozen += 1
        return "frozen:1"


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
