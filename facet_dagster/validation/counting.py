"""How many containers an examination starts: a sandbox that counts. A whole gate may cost 25 (docs/gates.md)."""

from contextlib import AbstractAsyncContextManager

from facet_dagster.ports import Container, Sandbox
from facet_dagster.records.container import ContainerSpec


class CountingSandbox:
    """The sandbox given, with the number of containers started through it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.starts = 0

    def open(self, spec: ContainerSpec) -> AbstractAsyncContextManager[Container]:
        """As the sandbox given does."""
        self.starts += 1
        return self._sandbox.open(spec)

    async def discard(self, image: str) -> None:
        """As the sandbox given does."""
        await self._sandbox.discard(image)

    async def sweep(self) -> int:
        """As the sandbox given does."""
        return await self._sandbox.sweep()
