"""Plan, build, probe and repair over scripted answers: what is asked, when it ends, what is left behind."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from facet_dagster.environment.prepare import prepare
from facet_dagster.environment.rebuild import rebuild
from facet_dagster.errors import InfrastructureError
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult, Command, CommandResult, Limits
from facet_dagster.records.environment import Environment, InlineFile, Manifest, Materials, ObservedState
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Diagnosis, Feedback
from facet_dagster.testing.sandbox import FakeContainer, FakeImageBuilder, FakeSandbox
from facet_dagster.testing.scripted_model import ScriptedModel

E0 = ObservedState(files=(), packages=(), tools={"git": "2"}, users=("agent",), listening=())
OK = CommandResult(exit_code=0, output="", seconds=0.0)


class Machine:
    """The fakes of one test: a model, and an engine whose builds and probes end as told."""

    def __init__(
        self, answers: dict[str, list[Any]], builds: Sequence[BuildFault | None], probes: Sequence[bool]
    ) -> None:
        self.model = ScriptedModel(answers)
        self._builds = iter(builds)
        self._probes = iter(probes)
        self.sandbox = FakeSandbox(self._answer)
        self.builder = FakeImageBuilder(self.sandbox, self._build)

    def _build(self, request: BuildRequest) -> BuildResult:
        fault = next(self._builds, None)
        return BuildResult(image=request.tag(), fault=fault, log="E: no such package", seconds=1.0)

    def _answer(self, container: FakeContainer, command: Command) -> CommandResult:
        if "observer" in command.script:
            place = command.script.rpartition("> ")[2]
            container.files[place] = E0.model_dump_json().encode()
        if command.script.startswith("grep -c"):
            good = next(self._probes, True)
            return OK if good else CommandResult(exit_code=1, output="only one row", seconds=0.0)
        return OK

    async def prepare(self, scenario: Scenario, **more: Any) -> Environment | Rejected:
        return await prepare(
            "orders",
            scenario,
            asker=Asker(self.model),
            builder=self.builder,
            sandbox=self.sandbox,
            limits=Limits(),
            build_timeout_s=60,
            **more,
        )

    def asked(self) -> list[str]:
        return [request.call.label() for request in self.model.requests]


Start = Callable[..., Machine]


@pytest.fixture
def start(manifest: Manifest, materials: Materials) -> Start:
    def make(*, builds: Sequence[BuildFault | None] = (), probes: Sequence[bool] = (), **answers: Any) -> Machine:
        plan = {"manifest": [manifest.model_dump()], "materials": [materials.model_dump()], **answers}
        return Machine({f"environment.{name}": value for name, value in plan.items()}, builds, probes)

    return make


def changed(materials: Materials, text: str) -> dict[str, Any]:
    return materials.model_copy(update={"files": [InlineFile(path="/app/a.csv", content=text)]}).model_dump()


async def test_what_builds_and_holds_is_an_environment(start: Start, scenario: Scenario, manifest: Manifest) -> None:
    machine = start()
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment)
    assert environment.manifest == manifest and environment.e0 == E0 and environment.build_repairs == 0
    assert [(p.id, p.ok) for p in environment.probes] == [("paths", True), ("P1", True)]
    assert "FROM ${BASE_IMAGE}" in environment.dockerfile and "apt-get" in environment.dockerfile
    assert machine.asked() == ["environment.manifest/orders/r0/a0/t0", "environment.materials/orders/r0/a0/t0"]
    probe = next(c for c in machine.sandbox.opened[0].commands if c.script.startswith("grep"))
    assert (probe.user, machine.sandbox.opened[0].spec.network) == ("agent", False)
    assert machine.sandbox.running == []


async def test_a_failed_build_is_repaired_from_its_log(start: Start, scenario: Scenario, materials: Materials) -> None:
    machine = start(builds=[BuildFault.FAILED], repair=[changed(materials, "id\n")])
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment) and environment.build_repairs == 1
    assert environment.materials.files[0].content == "id\n"
    repair = machine.model.requests[-1]
    assert repair.call.label() == "environment.repair/orders/r0/a1/t0"
    assert "E: no such package" in repair.messages[0].content and "R1: merged" in repair.messages[0].content


async def test_a_failed_probe_is_repaired_and_its_image_removed(
    start: Start, scenario: Scenario, materials: Materials
) -> None:
    machine = start(probes=[False], repair=[changed(materials, "id\n")])
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment)
    assert "P1 does not hold: an id appears twice\nonly one row" in machine.model.requests[-1].messages[0].content
    assert list(machine.sandbox.images) == [environment.image]


@pytest.mark.parametrize(
    ("builds", "probes", "reason"),
    [
        ([BuildFault.FAILED] * 9, [], Reason.BUILD_FAILED),
        ([BuildFault.LIMIT] * 9, [], Reason.BUILD_LIMIT),
        ([], [False] * 9, Reason.PROBE_FAILED),
    ],
)
async def test_after_the_last_repair_it_is_rejected(
    start: Start,
    scenario: Scenario,
    materials: Materials,
    builds: list[BuildFault],
    probes: list[bool],
    reason: Reason,
) -> None:
    machine = start(builds=builds, probes=probes, repair=[changed(materials, str(n)) for n in range(3)])
    rejected = await machine.prepare(scenario, repairs=2)
    assert isinstance(rejected, Rejected)
    assert (rejected.component, rejected.reason) == (Component.ENVIRONMENT, reason)
    assert machine.asked()[2:] == ["environment.repair/orders/r0/a1/t0", "environment.repair/orders/r0/a2/t0"]
    assert machine.sandbox.images == {}


async def test_a_repair_cannot_drop_a_property(
    start: Start, scenario: Scenario, manifest: Manifest, materials: Materials
) -> None:
    without = materials.model_copy(update={"properties": []}).model_dump()
    machine = start(builds=[BuildFault.FAILED], repair=[without])
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment) and environment.materials.properties == manifest.properties


async def test_a_sharpened_probe_takes_the_place_of_the_planned_one(
    start: Start, scenario: Scenario, manifest: Manifest, materials: Materials
) -> None:
    sharper = manifest.properties[0].model_copy(update={"probe": "grep -q 7 /app/in/b.csv"})
    answer = materials.model_copy(update={"properties": [sharper]}).model_dump()
    machine = start(builds=[BuildFault.FAILED], repair=[answer])
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment)
    assert environment.materials.properties == [sharper, *manifest.properties[1:]]


async def test_feedback_revises_the_previous_materials(
    start: Start, scenario: Scenario, manifest: Manifest, materials: Materials
) -> None:
    previous = json.dumps({"manifest": manifest.model_dump(), "materials": materials.model_dump()})
    diagnosis = Diagnosis(
        component=Component.ENVIRONMENT, reason=Reason.ORACLE_FAILED, evidence="b.csv lacks id 7", decided_by="model"
    )
    machine = start(revise=[changed(materials, "new\n")])
    environment = await machine.prepare(scenario, round=2, feedback=Feedback(diagnosis=diagnosis, previous=previous))
    assert isinstance(environment, Environment) and environment.materials.files[0].content == "new\n"
    assert machine.asked() == ["environment.revise/orders/r2/a0/t0"]
    assert "b.csv lacks id 7" in machine.model.requests[0].messages[0].content


async def test_feedback_on_what_was_never_made_plans_anew(start: Start, scenario: Scenario) -> None:
    diagnosis = Diagnosis(
        component=Component.ENVIRONMENT, reason=Reason.BUILD_FAILED, evidence="no such package", decided_by="table"
    )
    previous = Rejected(component=Component.ENVIRONMENT, reason=Reason.BUILD_FAILED, evidence="e").model_dump_json()
    machine = start()
    assert isinstance(
        await machine.prepare(scenario, round=1, feedback=Feedback(diagnosis=diagnosis, previous=previous)), Environment
    )
    assert all("no such package" in request.messages[0].content for request in machine.model.requests)


async def test_an_engine_that_fails_is_no_verdict(start: Start, scenario: Scenario) -> None:
    machine = start()
    machine.sandbox.answer = lambda *_: CommandResult(exit_code=137, output="", seconds=0.0, limit="memory")
    with pytest.raises(InfrastructureError, match="cannot be observed"):
        await machine.prepare(scenario)
    assert machine.sandbox.running == []


async def test_a_rebuild_gives_the_same_image(start: Start, scenario: Scenario) -> None:
    machine = start()
    environment = await machine.prepare(scenario)
    assert isinstance(environment, Environment)
    again = await rebuild("orders", environment, builder=machine.builder, limits=Limits(), build_timeout_s=60)
    assert again.image == environment.image
