"""In-memory Sandbox and ImageBuilder: file trees are real, commands and builds are answered by the test.

Belongs here: what the contract suites of the two ports ask for. Does not belong here: an imitation of bash.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import (
    AGENT_USER,
    WORKDIR,
    BuildRequest,
    BuildResult,
    Command,
    CommandResult,
    ContainerSpec,
    FileEntry,
)

Tree = dict[str, bytes]


class FakeContainer:
    """A file tree (`files`, absolute path to bytes) and the commands that were run on it."""

    def __init__(self, sandbox: "FakeSandbox", spec: ContainerSpec, files: Tree) -> None:
        self.spec = spec
        self.files = files
        self.owners: dict[str, str] = {}
        self.modes: dict[str, int] = {}
        self.commands: list[Command] = []
        self._sandbox = sandbox

    async def run(self, command: Command) -> CommandResult:
        """What the sandbox's `answer` says; it may change `files`, as a command would."""
        self.commands.append(command)
        return self._sandbox.answer(self, command)

    async def attach(self, script: str, *, user: str = AGENT_USER, workdir: str = WORKDIR) -> "FakeStream":
        """A stream that answers what the sandbox's `reply` says to everything sent."""
        self.commands.append(Command(script=script, user=user, workdir=workdir))
        return FakeStream(lambda data: self._sandbox.reply(self, script, data))

    async def put(self, files: Sequence[FileEntry], *, owner: str = "root") -> None:
        """Copy files in."""
        for file in files:
            self.files[file.path] = file.data()
            self.owners[file.path] = owner
            self.modes[file.path] = file.mode

    async def read(self, path: str, *, max_bytes: int) -> bytes | None:
        """The first `max_bytes` of a file, or None."""
        data = self.files.get(path)
        return None if data is None else data[:max_bytes]

    async def freeze(self) -> str:
        """Keep the tree as an image of the sandbox."""
        image = f"facet-frozen:{next(self._sandbox.numbers)}"
        self._sandbox.frozen.append(image)
        self._sandbox.images[image] = dict(self.files)
        return image


class FakeStream:
    """Answers at once; what it has to say is said in one piece. Ended once it was closed."""

    limit: str | None = None

    def __init__(self, reply: Callable[[bytes], bytes]) -> None:
        self._reply = reply
        self._said: list[bytes] = []

    async def send(self, data: bytes) -> None:
        """Hear what is answered."""
        self._said.append(self._reply(data))

    async def receive(self) -> bytes:
        """The next answer; empty where there is none."""
        return self._said.pop(0) if self._said else b""

    async def close(self) -> None:
        """Say nothing more."""
        self._said.clear()


Reply = Callable[[FakeContainer, str, bytes], bytes]
Answer = Callable[[FakeContainer, Command], CommandResult]


def from_table(table: Mapping[str, CommandResult]) -> Answer:
    """Answer by exact script; any other script is a command that does not exist (exit code 127)."""
    unknown = CommandResult(exit_code=127, output="not in the table of the test", seconds=0.0)
    return lambda _, command: table.get(command.script, unknown)


class FakeSandbox:
    """Images are trees by name. `opened` lists every container ever started, `running` those that still are."""

    def __init__(
        self,
        answer: Answer,
        images: Mapping[str, Mapping[str, bytes]] | None = None,
        reply: Reply = lambda _container, _script, data: data,
    ) -> None:
        self.answer = answer
        self.reply = reply
        self.images: dict[str, Tree] = {name: dict(tree) for name, tree in (images or {}).items()}
        self.frozen: list[str] = []
        self.numbers = count()
        self.opened: list[FakeContainer] = []
        self.running: list[FakeContainer] = []

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[FakeContainer]:
        """A container on a copy of the image's tree. Raises InfrastructureError without such an image."""
        if spec.image not in self.images:
            raise InfrastructureError(f"cannot start a container: no such image: {spec.image}")
        container = FakeContainer(self, spec, dict(self.images[spec.image]))
        self.opened.append(container)
        self.running.append(container)
        try:
            yield container
        finally:
            self.running.remove(container)

    async def discard(self, image: str) -> None:
        """Forget a frozen image."""
        self.images.pop(image, None)

    async def sweep(self) -> int:
        """Nothing outlives the process of a test."""
        return 0


def always_builds(request: BuildRequest) -> BuildResult:
    """Every Dockerfile builds."""
    return BuildResult(image=request.tag(), fault=None, log="built", seconds=0.0)


class FakeImageBuilder:
    """Builds what `answer` says. A success becomes an image of `sandbox`, with the files of the build context."""

    def __init__(self, sandbox: FakeSandbox, answer: Callable[[BuildRequest], BuildResult] = always_builds) -> None:
        self.requests: list[BuildRequest] = []
        self._sandbox = sandbox
        self._answer = answer

    async def build(self, request: BuildRequest) -> BuildResult:
        """Answer, and make the image known if it was built."""
        self.requests.append(request)
        result = self._answer(request)
        if result.ok:
            self._sandbox.images[result.image] = {f"/{file.path}": file.data() for file in request.context}
        return result

    async def exists(self, image: str, seed: str) -> bool:
        """Whether it was built, and not removed since."""
        return image in self._sandbox.images

    async def remove(self, image: str) -> None:
        """Forget an image."""
        self._sandbox.images.pop(image, None)
