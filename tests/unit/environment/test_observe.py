"""What is made of a container that cannot be observed: trouble that passes, or trouble that stays."""

from dataclasses import dataclass

import pytest

from facet_dagster.environment.observe import observe
from facet_dagster.errors import InfrastructureError, NotObservable
from facet_dagster.records.container import Command, CommandResult, ContainerSpec
from facet_dagster.testing.sandbox import FakeContainer, FakeSandbox


@dataclass
class Observer:
    """Answers as the observer program would in a container."""

    exit_code: int = 0
    limit: str | None = None
    state: bytes = b"{}"

    def __call__(self, container: FakeContainer, command: Command) -> CommandResult:
        if command.script.startswith("rm -rf"):
            container.files.clear()
        elif self.exit_code == 0:
            container.files["/usr/local/lib/facet-observe/state.json"] = self.state
        return CommandResult(exit_code=self.exit_code, output="broken", seconds=0.1, limit=self.limit)


@pytest.mark.parametrize(
    ("observer", "stays"),
    [(Observer(1), True), (Observer(state=b"{"), True), (Observer(-1, "time"), False), (Observer(-1, "memory"), False)],
)
async def test_a_limit_passes_and_a_broken_python_stays(observer: Observer, stays: bool) -> None:
    sandbox = FakeSandbox(observer, {"image": {}})
    async with sandbox.open(ContainerSpec(image="image", seed="s", purpose="test")) as container:
        with pytest.raises(InfrastructureError) as raised:
            await observe(container)
        assert container.files == {}  # nothing of ours is left where the tests run
    assert isinstance(raised.value, NotObservable) is stays
