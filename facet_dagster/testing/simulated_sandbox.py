"""Sandbox and builder of a simulation: toy tasks, nothing remembered of what is over, the engine failing as fated."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult, ContainerSpec
from facet_dagster.testing.fates import Rates, fate_of
from facet_dagster.testing.prompt_terminal import tmux_says
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox, Tree, always_builds
from facet_dagster.testing.simulated_model import BREAKS
from facet_dagster.testing.toy_tasks import ToyBuilder, answer, work

IMAGES = 400  # that are kept; an older one is built again when it is asked for


class _Images(OrderedDict[str, Tree]):
    """The newest images."""

    def __setitem__(self, name: str, tree: Tree) -> None:
        super().__setitem__(name, tree)
        while len(self) > IMAGES:
            self.popitem(last=False)


class SimulatedSandbox(FakeSandbox):
    """`started` counts the containers; those of a rollout fail once where that is the fate of the seed."""

    def __init__(self, rates: Rates) -> None:
        super().__init__(answer, reply=_terminal)
        self.images = _Images()
        self.started = 0
        self._rates = rates
        self._troubled: set[str] = set()

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[FakeContainer]:
        """As the fake's, without a list of all that there ever were."""
        fails = spec.purpose == "rollout" and fate_of(spec.seed, self._rates).rollout_trouble
        if fails and spec.seed not in self._troubled:
            self._troubled.add(spec.seed)
            raise InfrastructureError("the simulated engine does not answer")
        self.started += 1
        async with super().open(spec) as container:
            yield container
        self.opened.clear()
        self.frozen.clear()


class SimulatedBuilder(ToyBuilder):
    """Builds all but the materials that are broken on purpose."""

    def __init__(self, sandbox: SimulatedSandbox) -> None:
        super().__init__(sandbox, _built)

    async def build(self, request: BuildRequest) -> BuildResult:
        """As the toy's, without a list of all that was ever asked for."""
        result = await super().build(request)
        self.requests.clear()
        return result


def _built(request: BuildRequest) -> BuildResult:
    if any(BREAKS in file.content for file in request.context):
        return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log="E: it ends with 1", seconds=1.0)
    return always_builds(request)


def _terminal(container: FakeContainer, _script: str, data: bytes) -> bytes:
    return tmux_says(data, lambda typed: work(container, typed))
