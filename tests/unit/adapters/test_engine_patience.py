"""An engine that is restarted: what has not begun waits for it, what runs in it is lost, and no one waits for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from facet_dagster.adapters.docker_calls import NO_PERMISSION, NOT_RUNNING
from facet_dagster.adapters.engine_patience import PatientEngine
from facet_dagster.errors import EngineLost, EngineUnavailable, InfrastructureError
from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult, ContainerSpec
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox

SPEC = ContainerSpec(image="i", seed="s", purpose="test")
REQUEST = BuildRequest(seed="s", dockerfile="FROM facet-base", context=())


class Engine:
    """Away until it was pinged `pings` times; then it answers. `error` is what it says while it is away."""

    def __init__(self, pings: int, error: InfrastructureError | None = None) -> None:
        self.pings = pings
        self.error = error or EngineUnavailable(NOT_RUNNING)
        self.said: list[str] = []
        self.sandbox = Sandbox(self._run, {"i": {}})
        self.builder = FakeImageBuilder(self.sandbox, self._build)
        self.sandbox.engine = self
        self.calls = 0

    async def answers(self) -> bool:
        self.pings -= 1
        return self.pings <= 0

    def check(self) -> None:
        self.calls += 1
        if self.pings > 0:
            raise self.error

    def patient(self, wait_s: float = 60.0) -> PatientEngine:
        return PatientEngine(self.builder, self.sandbox, self.answers, self.said.append, wait_s=wait_s, look_s=0.001)

    def _run(self, _container: FakeContainer, _command: Command) -> CommandResult:
        self.check()
        return CommandResult(exit_code=0, output="", seconds=0.0)

    def _build(self, request: BuildRequest) -> BuildResult:
        self.check()
        return BuildResult(image=request.tag(), fault=None, log="", seconds=0.0)


class Sandbox(FakeSandbox):
    engine: Engine

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator[FakeContainer]:
        self.engine.check()
        async with super().open(spec) as container:
            yield container


async def test_new_work_waits_for_an_engine_that_is_restarted() -> None:
    engine = Engine(pings=3)
    async with engine.patient().open(SPEC) as container:
        assert (await container.run(Command(script="true"))).exit_code == 0
    assert engine.sandbox.running == []
    assert engine.said == [
        "the container engine does not answer: waiting for it, 1 min at most",
        "the container engine answers again",
    ]


async def test_a_build_begins_again() -> None:
    engine = Engine(pings=2)
    assert (await engine.patient().build(REQUEST)).ok
    assert engine.calls == 2


async def test_all_wait_for_the_same_return_and_it_is_said_once() -> None:
    engine = Engine(pings=6)
    patient = engine.patient()
    done = await asyncio.gather(*(patient.build(REQUEST) for _ in range(4)))
    assert all(result.ok for result in done)
    assert len(engine.said) == 2


async def test_what_runs_in_a_container_is_not_done_twice() -> None:
    engine = Engine(pings=0)
    with pytest.raises(EngineUnavailable):
        async with engine.patient().open(SPEC) as container:
            engine.pings = 1
            await container.run(Command(script="true"))
    assert engine.sandbox.running == []
    assert engine.calls == 2


async def test_an_engine_that_stays_away_is_given_up_and_later_work_does_not_wait_again() -> None:
    engine = Engine(pings=1_000_000)
    patient = engine.patient(wait_s=0.01)
    with pytest.raises(EngineUnavailable):
        await patient.build(REQUEST)
    calls, pings = engine.calls, engine.pings
    with pytest.raises(EngineUnavailable):
        await patient.build(REQUEST)
    assert (engine.calls - calls, pings - engine.pings) == (1, 0)


async def test_the_next_restart_is_waited_for_like_the_first() -> None:
    engine = Engine(pings=1_000_000)
    patient = engine.patient(wait_s=0.01)
    with pytest.raises(EngineUnavailable):
        await patient.build(REQUEST)
    engine.pings = 0
    assert (await patient.build(REQUEST)).ok
    engine.pings = 1  # it is always asked once
    assert (await patient.build(REQUEST)).ok
    assert [line.split()[-2:] for line in engine.said] == [["at", "most"], ["answers", "again"]] * 2


async def test_the_loss_of_one_of_several_says_that_others_answer() -> None:
    engine = Engine(pings=1_000_000)
    patient = engine.patient(wait_s=0.01)
    with pytest.raises(EngineUnavailable):
        await patient.build(REQUEST)
    engine.error = EngineLost("the engine a answers no longer")  # type: ignore[assignment]
    with pytest.raises(EngineLost):
        await patient.build(REQUEST)
    engine.error, engine.pings = EngineUnavailable(NOT_RUNNING), 1
    assert (await patient.build(REQUEST)).ok, "the next time is waited out anew"


async def test_an_engine_that_comes_up_answers_pings_before_it_does_anything_else() -> None:
    engine, refusals = Engine(pings=0), 10

    def not_yet() -> None:
        engine.calls += 1
        if engine.calls <= refusals:
            raise engine.error

    engine.check = not_yet  # type: ignore[method-assign]
    assert (await engine.patient().build(REQUEST)).ok
    assert (engine.calls, len(engine.said)) == (refusals + 1, 2)


async def test_who_is_stopped_while_waiting_leaves_nothing_behind() -> None:
    engine = Engine(pings=1_000_000)
    patient = engine.patient()
    waiting = asyncio.create_task(patient.build(REQUEST))
    await asyncio.sleep(0.02)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    engine.pings = 0
    assert (await patient.build(REQUEST)).ok
    assert engine.said[-1] == "the container engine answers again"


@pytest.mark.parametrize("error", [EngineUnavailable(NO_PERMISSION), InfrastructureError("cannot start: disk full")])
async def test_other_trouble_is_not_waited_out(error: InfrastructureError) -> None:
    engine = Engine(pings=5, error=error)
    with pytest.raises(InfrastructureError, match=str(error)[:10]):
        await engine.patient().build(REQUEST)
    assert engine.calls == 1 and engine.said == []
