"""The reverse and joint schemes: the order of writing, repairs within it, and the comparison on the same seeds."""

import importlib.util
from pathlib import Path

import pytest

from facet_dagster.comparison import left_out, name_of, settings_of, take_over
from facet_dagster.construction import construct
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.bundle import Status
from facet_dagster.records.outcome import Component
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import ConstructionTerms, Scheme
from facet_dagster.settings import Settings
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.workshop import Workshop

_spec = importlib.util.spec_from_file_location("schemes_world", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
w = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(w)

RIGHT = ("/app/out.txt", "ab")
REVERSE = ConstructionTerms(scheme=Scheme.REVERSE)
JOINT = ConstructionTerms(scheme=Scheme.JOINT)
DIAGNOSIS = {"component": "verifier", "evidence": "expected other content", "advice": "Compare with the sorted list."}


def joint(test=RIGHT) -> dict[str, object]:
    return {**w.INSTRUCTION, **w.solution(RIGHT), **w.verifier(test)}


async def walk(workshop: Workshop):
    seen = w.Seen()
    return await construct(w.SEED, [w.SKILL], workshop, seen), seen


async def test_reverse_writes_the_verifier_before_the_solution(world) -> None:
    script = w.good_script()
    script["authoring.verifier_first"] = script.pop("authoring.verifier")
    script["authoring.solution_last"] = script.pop("authoring.solution")
    outcome, seen = await walk(world.workshop(script, terms=REVERSE))
    assert (outcome.status, outcome.first_pass) == (Status.ACCEPTED, True)
    order = [component for component, _, _ in seen.steps()]
    assert order.index("verifier") < order.index("solution")
    asked = {r.call.station: r.messages[0].content for r in world.model.requests}
    assert "What the reference solution changed" not in asked["authoring.verifier_first"]
    assert "test_r1_sorted" in asked["authoring.solution_last"]


async def test_a_reverse_verifier_is_repaired_by_its_own_prompt_and_the_solution_runs_again(world) -> None:
    script = w.good_script()
    del script["authoring.verifier"], script["authoring.solution"]
    script["authoring.verifier_first"] = [w.verifier(("/app/out.txt", "ba")), w.verifier(RIGHT)]
    script["authoring.solution_last"] = [w.solution(RIGHT)]
    script["repair.diagnose"] = [DIAGNOSIS]
    outcome, seen = await walk(world.workshop(script, terms=REVERSE))
    assert (outcome.status, outcome.rounds) == (Status.ACCEPTED, 1)
    assert ("solution", 1, "re-executed") in seen.steps()


async def test_by_hand_the_solution_is_written_against_the_new_verifier(world) -> None:
    script = w.good_script()
    script["authoring.verifier_first"] = script.pop("authoring.verifier")
    script["authoring.solution_last"] = script.pop("authoring.solution")
    await walk(world.workshop(script, terms=REVERSE))
    again = {
        "authoring.verifier_first": [w.verifier(RIGHT, note="the new tests")],
        "authoring.solution_last": [w.solution(RIGHT, note="# other")],
    }
    seen, selection = w.Seen(), frozenset({Component.SOLUTION, Component.VERIFIER, Component.VALIDATION})
    await construct(w.SEED, [w.SKILL], world.workshop(again, terms=REVERSE, run_id="run-2"), seen, selection=selection)
    assert [step[0] for step in seen.steps()] == ["verifier", "solution", "validation"]
    assert "the new tests" in world.model.requests[-1].messages[0].content


async def test_joint_asks_once_for_all_three(world) -> None:
    script = {name: w.good_script()[name] for name in ("environment.manifest", "environment.materials")}
    script["authoring.joint"] = [joint()]
    outcome, seen = await walk(world.workshop(script, terms=JOINT))
    assert (outcome.status, outcome.first_pass) == (Status.ACCEPTED, True)
    assert [r.call.station for r in world.model.requests][2:] == ["authoring.joint"]
    assert [s[0] for s in seen.steps()][1:4] == ["instruction", "solution", "verifier"]


async def test_a_joint_verifier_is_repaired_alone(world) -> None:
    script = {name: w.good_script()[name] for name in ("environment.manifest", "environment.materials")}
    script |= {"authoring.joint": [joint(("/app/out.txt", "ba"))], "authoring.verifier": [w.verifier(RIGHT)]}
    script["repair.diagnose"] = [DIAGNOSIS]
    outcome, seen = await walk(world.workshop(script, terms=JOINT))
    assert (outcome.status, outcome.rounds) == (Status.ACCEPTED, 1)
    assert [s for s in seen.steps() if s[1] == 1 and s[2] == "repaired"] == [("verifier", 1, "repaired")]


async def test_another_scheme_takes_over_what_is_shared_and_nothing_else(world) -> None:
    await walk(world.workshop(w.good_script()))
    target = MemoryStore()
    (seed,) = take_over(world.store, target, [w.SEED], Scheme.REVERSE)
    assert seed.seed_id == name_of(w.SEED.seed_id, Scheme.REVERSE)
    script = {"authoring.verifier_first": [w.verifier(RIGHT)], "authoring.solution_last": [w.solution(RIGHT)]}
    world.store = target
    seen = w.Seen()
    outcome = await construct(seed, [w.SKILL], world.workshop(script, terms=REVERSE), seen)
    assert outcome.status is Status.ACCEPTED
    assert [s[0] for s in seen.steps()] == ["verifier", "solution", "validation", "task"]


async def test_another_scheme_reads_the_skills_of_its_seeds_only_in_the_revision_that_counts(
    world, monkeypatch
) -> None:
    await walk(world.workshop(w.good_script()))
    later = w.SKILL.model_copy(update={"revision": 1, "siblings": ("run.py",)})
    world.store.put_all([later, w.SKILL.model_copy(update={"skill_id": "of-no-seed"})])
    target, read = MemoryStore(), list[type]()
    whole = MemoryStore.rows

    def rows(store, kind, group=None):
        read.append(kind)
        return whole(store, kind, group)

    monkeypatch.setattr(MemoryStore, "rows", rows)
    for _ in range(2):
        take_over(world.store, target, [w.SEED], Scheme.REVERSE)
    assert read and Skill not in read
    monkeypatch.undo()
    assert [(each.key, each.siblings) for each in target.rows(Skill)] == [(w.SKILL.skill_id, ("run.py",))]


async def test_a_seed_without_an_environment_is_not_compared(world) -> None:
    assert take_over(world.store, MemoryStore(), [w.SEED], Scheme.JOINT) == []


async def test_a_seed_that_is_not_compared_says_why(world) -> None:
    stores = {Scheme.FORWARD: world.store, Scheme.REVERSE: MemoryStore(), Scheme.JOINT: MemoryStore()}
    assert left_out(stores) == {"sort-a-list-ab12": "forward: not walked yet"}
    script = w.good_script()
    script["authoring.instruction"] = [InfrastructureError("the daemon is gone")]
    await walk(world.workshop(script))
    assert left_out(stores) == {"sort-a-list-ab12": "forward: pending"}
    rejected = [{**w.INSTRUCTION, "text": "no"}] * 9
    await walk(world.workshop({"authoring.instruction": rejected}, run_id="run-2"))
    why = "reverse: no instruction of the forward first pass to start from"
    assert left_out(stores) == {"sort-a-list-ab12": why}


async def test_a_seed_is_compared_when_it_ended_under_every_scheme(world) -> None:
    await walk(world.workshop(w.good_script()))
    stores = {Scheme.FORWARD: world.store, Scheme.REVERSE: MemoryStore(), Scheme.JOINT: MemoryStore()}
    assert set(left_out(stores).values()) == {"reverse: not walked yet"}
    last = {"authoring.verifier_first": [w.verifier(RIGHT)], "authoring.solution_last": [w.solution(RIGHT)]}
    for scheme, script, terms in (
        (Scheme.REVERSE, last, REVERSE),
        (Scheme.JOINT, {"authoring.joint": [joint()]}, JOINT),
    ):
        (seed,) = take_over(stores[Scheme.FORWARD], stores[scheme], [w.SEED], scheme)
        world.store = stores[scheme]
        await construct(seed, [w.SKILL], world.workshop(script, terms=terms), w.Seen())
    assert left_out(stores) == {}


@pytest.mark.parametrize("scheme", list(Scheme))
def test_a_scheme_has_a_store_of_its_own_and_the_same_repair_budget(scheme: Scheme) -> None:
    settings = Settings(store="data/store")
    other = settings_of(settings, scheme)
    assert other.construction.task_repairs == settings.construction.task_repairs
    assert other.construction.scheme is scheme
    assert (other.store == settings.store) == (scheme is Scheme.FORWARD)
