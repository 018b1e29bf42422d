"""A seed's walk: first pass, routed repair, refusal of bad repairs, trouble, resumption, work by hand."""

import asyncio
import importlib.util
import threading
from pathlib import Path

import pytest

from facet_dagster.construction import construct
from facet_dagster.errors import EngineLost, InfrastructureError, ModelUnavailable
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.terms import ConstructionTerms
from facet_dagster.workshop import Workshop

_spec = importlib.util.spec_from_file_location("walk_world", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
w = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(w)

DIAGNOSIS = {"component": "verifier", "evidence": "expected other content", "advice": "Compare with the sorted list."}


async def walk(workshop: Workshop, selection: frozenset[Component] | None = None) -> tuple[SeedOutcome, "w.Seen"]:
    seen = w.Seen()
    return await construct(w.SEED, [w.SKILL], workshop, seen, selection=selection), seen


async def test_a_good_seed_is_accepted_at_the_first_pass(world) -> None:
    outcome, seen = await walk(world.workshop(w.good_script()))
    assert (outcome.status, outcome.first_pass, outcome.rounds) == (Status.ACCEPTED, True, 0)
    assert [step[0] for step in seen.steps()] == [c.value for c in Component if c is not Component.SCENARIO]
    assert (world.out / "tasks" / w.SEED.seed_id / "task.toml").is_file()


async def test_a_row_of_the_ledger_is_read_once_to_count_what_was_spent(world, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    get_all = world.store.get_all

    def noted(kind, group, keys):  # type: ignore[no-untyped-def]
        found = get_all(kind, group, keys)
        read.extend(found if kind is LedgerRow else ())
        return found

    monkeypatch.setattr(world.store, "get_all", noted)
    _, seen = await walk(world.workshop(w.good_script()))
    assert sorted(read) == sorted(world.store.keys(LedgerRow, w.SEED.seed_id))
    rows = world.store.rows(LedgerRow, w.SEED.seed_id)
    assert sum(v.tokens for v in seen.versions) == sum(row.prompt_tokens + row.completion_tokens for row in rows)


async def test_the_same_command_again_does_nothing(world) -> None:
    await walk(world.workshop(w.good_script()))
    outcome, seen = await walk(world.workshop({}, run_id="run-2"))
    assert outcome.status is Status.ACCEPTED
    assert seen.versions == [] and world.model.requests == []


async def test_a_failing_solution_is_repaired_alone(world) -> None:
    script = w.good_script()
    script["authoring.solution"] = [w.solution(note="fail"), w.solution(("/app/out.txt", "ab"))]
    outcome, seen = await walk(world.workshop(script))
    assert (outcome.status, outcome.first_pass, outcome.rounds) == (Status.ACCEPTED, False, 1)
    steps = seen.steps()
    assert ("solution", 1, "repaired") in steps
    assert [s for s in steps if s[0] in {"environment", "instruction"}] == [
        ("environment", 0, "authored"),
        ("instruction", 0, "authored"),
    ]
    assert "sort: cannot read" in world.model.requests[-2].messages[0].content


async def test_a_wrong_verifier_is_diagnosed_and_rewritten(world) -> None:
    script = w.good_script()
    script["authoring.verifier"] = [w.verifier(("/app/out.txt", "ba")), w.verifier(("/app/out.txt", "ab"))]
    script["repair.diagnose"] = [DIAGNOSIS]
    outcome, seen = await walk(world.workshop(script))
    assert (outcome.status, outcome.rounds) == (Status.ACCEPTED, 1)
    repaired = next(v for v in seen.versions if v.origin.value == "repaired")
    assert repaired.component is Component.VERIFIER
    assert repaired.diagnosis is not None and repaired.diagnosis.decided_by == "model"
    assert [s for s in seen.steps() if s[0] == "solution"] == [("solution", 0, "authored")]


async def test_a_repaired_solution_is_followed_by_a_re_executed_verifier(world) -> None:
    script = w.good_script()
    script["authoring.solution"] = [w.solution(("/app/out.txt", "ba")), w.solution(("/app/out.txt", "ab"))]
    script["repair.diagnose"] = [{**DIAGNOSIS, "component": "solution"}]
    outcome, seen = await walk(world.workshop(script))
    assert outcome.status is Status.ACCEPTED
    assert ("verifier", 1, "re-executed") in seen.steps()
    assert sum(request.call.station == "authoring.verifier" for request in world.model.requests) == 1


async def test_an_identical_patch_is_refused_and_costs_a_round(world) -> None:
    script = w.good_script()
    wrong = w.verifier(("/app/out.txt", "ba"))
    script["authoring.verifier"] = [wrong, wrong, w.verifier(("/app/out.txt", "ab"))]
    script["repair.diagnose"] = [DIAGNOSIS, DIAGNOSIS]
    outcome, seen = await walk(world.workshop(script))
    assert (outcome.status, outcome.rounds) == (Status.ACCEPTED, 2)
    assert [v.rejected.reason for v in seen.versions if v.rejected] == [Reason.IDENTICAL_PATCH]


async def test_rounds_are_used_up_and_the_history_is_kept(world) -> None:
    script = w.good_script()
    script["authoring.solution"] = [w.solution(note=f"fail {n}") for n in range(6)]
    script["repair.diagnose"] = [{"component": "solution", "evidence": "sort: cannot read", "advice": "Read it."}] * 5
    outcome, _ = await walk(world.workshop(script, terms=ConstructionTerms(task_repairs=2)))
    assert (outcome.status, outcome.reason) == (Status.REJECTED, Reason.REPAIRS_EXHAUSTED)
    assert (outcome.component, outcome.rounds) == (Component.SOLUTION, 2)
    versions = [v for v in world.store.rows(ComponentVersion, w.SEED.seed_id) if v.component is Component.SOLUTION]
    assert [v.round for v in versions] == [0, 1, 2]


async def test_rounds_that_were_used_up_go_on_when_more_are_allowed(world) -> None:
    script = w.good_script()
    script["authoring.solution"] = [w.solution(note="fail 0"), w.solution(note="fail 1")]
    blamed = {"component": "solution", "evidence": "sort: cannot read", "advice": "Read it."}
    script["repair.diagnose"] = [blamed]
    outcome, _ = await walk(world.workshop(script, terms=ConstructionTerms(task_repairs=1)))
    assert (outcome.reason, outcome.rounds) == (Reason.REPAIRS_EXHAUSTED, 1)
    same, seen = await walk(world.workshop({}, run_id="run-2", terms=ConstructionTerms(task_repairs=1)))
    assert same == outcome and seen.versions == []
    more = {
        "authoring.solution": [w.solution(("/app/out.txt", "ab"))],
        "authoring.verifier": script["authoring.verifier"],
        "repair.diagnose": [blamed],
    }
    after, _ = await walk(world.workshop(more, run_id="run-3", terms=ConstructionTerms(task_repairs=2)))
    assert (after.status, after.rounds) == (Status.ACCEPTED, 2)


async def test_an_environment_that_never_builds_ends_the_seed(world) -> None:
    def fails(request: BuildRequest) -> BuildResult:
        return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log="E: no such package", seconds=1.0)

    script = w.good_script()
    script["environment.repair"] = [w.materials(f"{n}\n") for n in range(3)]
    outcome, _ = await walk(world.workshop(script, builds=fails))
    assert (outcome.status, outcome.component) == (Status.REJECTED, Component.ENVIRONMENT)
    assert outcome.reason is Reason.BUILD_FAILED and "no such package" in outcome.evidence


@pytest.mark.parametrize("trouble", [ModelUnavailable("no answer"), InfrastructureError("daemon gone")])
async def test_trouble_is_pending_and_the_next_run_goes_on(world, trouble: Exception) -> None:
    script = w.good_script()
    script["authoring.verifier"] = [trouble]
    outcome, _ = await walk(world.workshop(script))
    assert outcome.status is Status.PENDING and str(trouble) in outcome.evidence
    rest = {"authoring.verifier": [w.verifier(("/app/out.txt", "ab"))]}
    outcome, seen = await walk(world.workshop(rest, run_id="run-2"))
    assert outcome.status is Status.ACCEPTED
    assert [request.call.station for request in world.model.requests] == ["authoring.verifier"]
    assert seen.steps()[0][0] == "verifier"


class Killed(BaseException):
    """The process has ended here."""


async def test_what_was_made_is_kept_and_told_although_somebody_stops_the_walk(world, monkeypatch) -> None:
    workshop, put, walks = world.workshop(w.good_script()), world.store.put, list[asyncio.Task[object]]()
    stopped, seen = threading.Event(), w.Seen()

    def slowly(record: object) -> bool:
        if isinstance(record, ComponentVersion) and record.component is Component.SOLUTION:
            loop.call_soon_threadsafe(lambda: (walks[0].cancel(), stopped.set()))
            assert stopped.wait(timeout=30)
        return put(record)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(world.store, "put", slowly)
    walks.append(asyncio.create_task(construct(w.SEED, [w.SKILL], workshop, seen)))
    with pytest.raises(asyncio.CancelledError):
        await walks[0]
    kept = world.store.rows(ComponentVersion, w.SEED.seed_id)
    assert kept[-1].component is Component.SOLUTION
    assert seen.versions == kept[1:]  # the scenario stood there before


async def test_a_walk_killed_after_the_call_pays_for_nothing_twice(world, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop = world.workshop(w.good_script())
    put = world.store.put

    def dies(record: object) -> bool:
        if isinstance(record, ComponentVersion) and record.component is Component.SOLUTION:
            raise Killed
        return put(record)

    monkeypatch.setattr(world.store, "put", dies)
    with pytest.raises(Killed):
        await walk(workshop)
    monkeypatch.setattr(world.store, "put", put)
    rest = {"authoring.verifier": [w.verifier(("/app/out.txt", "ab"))]}
    outcome, _ = await walk(world.workshop(rest, run_id="run-2"))
    assert outcome.status is Status.ACCEPTED
    assert [request.call.station for request in world.model.requests] == ["authoring.verifier"]


async def test_by_hand_makes_only_what_is_selected(world) -> None:
    await walk(world.workshop(w.good_script()))
    script = {"authoring.instruction": [{**w.INSTRUCTION, "text": f"{w.TEXT} Thank you."}]}
    _, seen = await walk(world.workshop(script, run_id="run-2"), frozenset({Component.INSTRUCTION}))
    assert seen.steps() == [("instruction", 1, "by-hand")]


async def test_by_hand_what_stands_downstream_is_executed_again_and_not_rewritten(world) -> None:
    await walk(world.workshop(w.good_script()))
    other = {"authoring.solution": [w.solution(("/app/out.txt", "ab"), note="# other")]}
    selection = frozenset({Component.SOLUTION, Component.VALIDATION, Component.TASK})
    outcome, seen = await walk(world.workshop(other, run_id="run-2"), selection)
    assert outcome.status is Status.ACCEPTED
    assert seen.steps() == [
        ("solution", 1, "by-hand"),
        ("verifier", 1, "re-executed"),
        ("validation", 1, "by-hand"),
        ("task", 1, "authored"),
    ]


async def test_two_runs_on_one_seed_do_not_mix(world) -> None:
    """The version of the run that came second is refused, not silently dropped."""
    first = world.workshop(w.good_script())
    put = world.store.put
    ahead = []

    def overtaken(record) -> bool:
        if isinstance(record, ComponentVersion) and record.component is Component.SOLUTION and not ahead:
            ahead.append(record)
            put(record.model_copy(update={"run_id": "run-2"}))
        return put(record)

    world.store.put = overtaken
    outcome, _ = await walk(first)
    world.store.put = put
    assert outcome.status is Status.PENDING and "another run is at work on" in outcome.evidence
    rest = {"authoring.verifier": [w.verifier(("/app/out.txt", "ab"))]}
    outcome, seen = await walk(world.workshop(rest, run_id="run-3"))
    assert outcome.status is Status.ACCEPTED and seen.steps()[0] == ("verifier", 0, "authored")


async def test_the_end_of_a_run_that_was_faster_stands(world) -> None:
    """Else an accepted seed would be pending until somebody walks it again."""
    slow = world.workshop(w.good_script())
    put = world.store.put

    def overtaken(record) -> bool:
        if isinstance(record, ComponentVersion) and record.component is Component.TASK and record.run_id != "run-2":
            put(record.model_copy(update={"run_id": "run-2"}))
            end = {"seed": record.seed, "sequence": record.sequence, "run_id": "run-2", "at": record.at}
            put(SeedOutcome(status=Status.ACCEPTED, first_pass=True, rounds=0, **end))
        return put(record)

    world.store.put = overtaken
    outcome, seen = await walk(slow)
    world.store.put = put
    assert (outcome.status, outcome.run_id) == (Status.ACCEPTED, "run-2")
    assert [each.run_id for each in world.store.rows(SeedOutcome)] == ["run-2"]
    assert seen.outcomes == [outcome]


async def test_validation_by_hand_asks_no_model(world) -> None:
    await walk(world.workshop(w.good_script()))
    outcome, seen = await walk(world.workshop({}, run_id="run-2"), frozenset({Component.VALIDATION}))
    assert seen.steps() == [("validation", 1, "by-hand")]
    assert seen.versions[0].body.verdict is True
    assert outcome.status is Status.ACCEPTED


async def test_a_validation_by_other_gates_is_made_again(world, monkeypatch: pytest.MonkeyPatch) -> None:
    await walk(world.workshop(w.good_script()))
    for module in ("construction", "validation.validate"):
        monkeypatch.setattr(f"facet_dagster.{module}.GATES_VERSION", 99)
    outcome, seen = await walk(world.workshop({}, run_id="run-2"))
    assert (outcome.status, seen.steps()) == (Status.ACCEPTED, [("validation", 0, "authored")])
    _, seen = await walk(world.workshop({}, run_id="run-3"))
    assert seen.steps() == []


async def test_a_lost_image_is_built_again(world) -> None:
    await walk(world.workshop(w.good_script()))
    workshop = world.workshop({}, run_id="run-2")
    await walk(workshop, frozenset({Component.VALIDATION}))
    assert len(workshop.builder.requests) == 1


async def test_a_failing_edit_by_hand_is_not_the_end_of_the_seed(world) -> None:
    await walk(world.workshop(w.good_script()))
    broken = {"authoring.solution": [w.solution(note="fail")]}
    outcome, _ = await walk(world.workshop(broken, run_id="run-2"), frozenset({Component.SOLUTION}))
    assert (outcome.status, outcome.reason) == (Status.PENDING, Reason.SOLUTION_FAILED)
    assert outcome.by_hand and world.store.rows(SeedOutcome)[-1].by_hand
    mended = {"authoring.solution": [w.solution(("/app/out.txt", "ab"), note="# again")]}
    outcome, _ = await walk(world.workshop(mended, run_id="run-3"))
    assert outcome.status is Status.ACCEPTED and not outcome.by_hand


async def test_what_a_person_makes_by_hand_uses_up_no_repair_round(world) -> None:
    await walk(world.workshop(w.good_script()))
    one = ConstructionTerms(task_repairs=1)
    for run in (2, 3):
        broken = {"authoring.solution": [w.solution(note=f"fail {run}")]}
        broken["repair.diagnose"] = [{"component": "solution", "evidence": "sort: cannot read", "advice": "Read it."}]
        await walk(world.workshop(broken, run_id=f"run-{run}", terms=one), frozenset({Component.SOLUTION}))
    mended = {"authoring.solution": [w.solution(("/app/out.txt", "ab"), note="# again")]}
    outcome, seen = await walk(world.workshop(mended, run_id="run-4", terms=one))
    assert (outcome.status, outcome.rounds) == (Status.ACCEPTED, 1)
    assert ("solution", 3, "repaired") in seen.steps()


async def test_trouble_while_a_person_makes_something_is_known_as_such(world) -> None:
    await walk(world.workshop(w.good_script()))
    script = {"authoring.solution": [OSError(28, "No space left on device")]}
    outcome, _ = await walk(world.workshop(script, run_id="run-2"), frozenset({Component.SOLUTION}))
    assert (outcome.status, outcome.by_hand) == (Status.PENDING, True)


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), ValueError("a damaged row")])
async def test_trouble_of_the_host_ends_one_walk_only(world, trouble: Exception) -> None:
    script = w.good_script()
    script["authoring.solution"] = [trouble]
    outcome, _ = await walk(world.workshop(script))
    assert outcome.status is Status.PENDING and str(trouble) in outcome.evidence


async def test_a_verifier_out_of_date_finds_its_image_built_again(world) -> None:
    await walk(world.workshop(w.good_script()))
    other = {"authoring.solution": [w.solution(("/app/out.txt", "ab"), note="# other")]}
    await walk(world.workshop(other, run_id="run-2"), frozenset({Component.SOLUTION}))
    outcome, seen = await walk(world.workshop({}, run_id="run-3"))
    assert outcome.status is Status.ACCEPTED
    assert seen.steps()[0] == ("verifier", 1, "re-executed")


async def test_a_walk_whose_engine_dies_goes_on_elsewhere(world) -> None:
    """Nothing that was paid for is asked for again, and the loss is no verdict."""
    lost = []

    def builds(request: BuildRequest) -> BuildResult:
        if not lost:
            lost.append(request)
            raise EngineLost("the engine a answers no longer")
        return BuildResult(image=request.tag(), fault=None, log="built", seconds=0.0)

    outcome, seen = await walk(world.workshop(w.good_script(), builds=builds))
    assert (outcome.status, outcome.rounds, len(lost)) == (Status.ACCEPTED, 0, 1)
    assert [step[0] for step in seen.steps()].count("environment") == 1
    assert [row.status for row in world.store.rows(SeedOutcome)] == [Status.ACCEPTED]


async def test_a_seed_under_which_engine_after_engine_dies_is_given_up(world) -> None:
    """Engines come back: a seed that brings them down must not do so all night."""
    lost = []

    def builds(request: BuildRequest) -> BuildResult:
        lost.append(request)
        raise EngineLost(f"the engine {len(lost)} answers no longer")

    outcome, _ = await walk(world.workshop(w.good_script(), builds=builds))
    assert (outcome.status, len(lost)) == (Status.PENDING, 3)
    assert outcome.evidence == "EngineLost: the engine 3 answers no longer"
