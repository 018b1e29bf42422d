"""Sensors that ask for work on seeds: what waits is asked for once, in portions, and not what costs too much."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from assets.partitions import BATCH, scenario_seed
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status, Task
from facet_dagster.records.call import CallId, Completion, LedgerRow, Role
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.settings import Budget, Models, Settings
from facet_dagster.testing.accepted import version_of
from facet_dagster.under_way import line_under_way
from sensors.asking import ASKED_BY, MOST_TIMES, MOST_WAITING, PER_TICK
from sensors.budget import budget_watch
from sensors.work import new_seeds, repairable_seeds, untried_tasks

DONE, BROKEN = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE
QUEUED = dg.DagsterRunStatus.NOT_STARTED  # as good as: a queued one needs a code location


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=str(tmp_path / "store"))


def end(settings: Settings, status: Status, *seeds: str, **changes: Any) -> None:
    values: dict[str, Any] = {"first_pass": False, "rounds": 5, "sequence": 0, "run_id": "r", "at": now(), **changes}
    outcomes = [SeedOutcome(seed=seed, status=status, **values) for seed in seeds]
    ParquetStore(settings.store).put_all(outcomes)


def accept(settings: Settings, *seeds: str, bundle: str, sequence: int = 6) -> None:
    """The version of a task of this bundle, which is the seeds' last."""
    body = Task(name="org/x", bundle=bundle, rounds={}, tests=1, directory="x")
    ParquetStore(settings.store).put_all([version_of(Component.TASK, body, sequence, seed) for seed in seeds])


def with_teacher(settings: Settings, teacher: str, attempts: int = 1) -> Settings:
    models = Models(base_url="http://nowhere", teacher=teacher)
    return settings.model_copy(update={"models": models, "rollouts": RolloutTerms(attempts=attempts)})


def tick(sensor: Any, instance: dg.DagsterInstance, settings: Settings) -> Any:
    return sensor(dg.build_sensor_context(instance=instance, resources={"settings": settings}, sensor_name=sensor.name))


def asked(result: Any) -> list[list[str]]:
    """First and last seed of each stretch, or the seeds of each list."""
    found = []
    for request in result.run_requests:
        ops = (request.run_config or {}).get("ops", {})
        listed = [seed for op in ops.values() for seed in op["config"]["seeds"]]
        stretch = request.partition_key_range
        found.append(listed or ([stretch.start, stretch.end] if stretch else [request.partition_key]))
    return found


def start(instance: dg.DagsterInstance, result: Any, status: dg.DagsterRunStatus) -> None:
    """Make runs of what was asked for, as the daemon does, with this status."""
    for request in result.run_requests:
        tags = {**request.tags, **({"dagster/partition": request.partition_key} if request.partition_key else {})}
        run = dg.DagsterRun(
            job_name="job", run_id=str(uuid4()), run_config=request.run_config or {}, tags=tags, status=status
        )
        instance.add_run(run)


def test_seeds_without_an_end_are_asked_for_stretch_by_stretch(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    assert asked(tick(new_seeds, instance, settings)) == [["alpha", "gamma"]]
    end(settings, Status.REJECTED, "beta")
    result = tick(new_seeds, instance, settings)
    assert asked(result) == [["alpha"], ["delta", "gamma"]]
    assert all(request.tags[ASKED_BY] == "new_seeds" for request in result.run_requests)


def test_nobody_is_asked_twice_for_what_is_at_work_or_done(instance: dg.DagsterInstance, settings: Settings) -> None:
    first = tick(new_seeds, instance, settings)
    start(instance, first, QUEUED)
    assert "none of 4 seeds waits" in tick(new_seeds, instance, settings).skip_message  # nothing is kept in a cursor
    end(settings, Status.ACCEPTED, "alpha", "beta", "delta", "gamma")
    assert "none of 4 seeds waits" in tick(new_seeds, instance, settings).skip_message


def test_runs_that_break_down_are_asked_for_a_few_times_a_day(instance: dg.DagsterInstance, settings: Settings) -> None:
    for _ in range(MOST_TIMES):
        start(instance, tick(new_seeds, instance, settings), BROKEN)
    assert "4 were asked for too often today" in tick(new_seeds, instance, settings).skip_message


def test_eight_thousand_new_seeds_come_in_portions(settings: Settings) -> None:
    seeds = [f"seed-{number:05d}" for number in range(8_000)]
    end(settings, Status.REJECTED, *seeds[:1_000], reason=Reason.INFEASIBLE)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(scenario_seed.name or "", seeds)
        result = tick(new_seeds, instance, settings)
        stretches = asked(result)
        assert len(stretches) == PER_TICK / BATCH and stretches[0] == ["seed-01000", "seed-01024"]
        start(instance, result, DONE if PER_TICK / BATCH < MOST_WAITING else QUEUED)
        later = tick(new_seeds, instance, settings)
        assert f"{MOST_WAITING} runs wait already" in later.skip_message


def test_scattered_new_seeds_do_not_flood_the_queue(settings: Settings) -> None:
    """Every other seed has ended: each stretch is one seed, and each would be a run."""
    seeds = [f"seed-{number:03d}" for number in range(200)]
    end(settings, Status.REJECTED, *seeds[::2], reason=Reason.INFEASIBLE)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(scenario_seed.name or "", seeds)
        first = tick(new_seeds, instance, settings)
        assert asked(first) == [[seed] for seed in seeds[1::2][:MOST_WAITING]]
        first.run_requests[5:] = []
        start(instance, first, QUEUED)
        later = tick(new_seeds, instance, settings)
        assert asked(later) == [[seed] for seed in seeds[1::2][5:MOST_WAITING]]


def test_what_can_end_otherwise_is_walked_on_in_lists(instance: dg.DagsterInstance, settings: Settings) -> None:
    end(settings, Status.PENDING, "gamma", at=now() - timedelta(hours=1))
    end(settings, Status.REJECTED, "alpha", reason=Reason.REPAIRS_EXHAUSTED, rounds=3, component=Component.VERIFIER)
    end(settings, Status.REJECTED, "beta", reason=Reason.REPAIRS_EXHAUSTED, rounds=5, component=Component.VERIFIER)
    end(settings, Status.REJECTED, "delta", reason=Reason.INFEASIBLE, rounds=0, component=Component.SCENARIO)
    assert asked(tick(repairable_seeds, instance, settings)) == [["gamma", "alpha"]]
    # An earlier reason is not taken for that of the last end.
    end(settings, Status.ACCEPTED, "alpha", sequence=1, at=now() + timedelta(seconds=1))
    assert asked(tick(repairable_seeds, instance, settings)) == [["gamma"]]


def test_what_a_person_makes_by_hand_is_not_taken_over(instance: dg.DagsterInstance, settings: Settings) -> None:
    end(settings, Status.REJECTED, "alpha", reason=Reason.INFEASIBLE, at=now() - timedelta(hours=1))
    end(settings, Status.PENDING, "alpha", sequence=1, by_hand=True, evidence="EngineUnavailable: no engine")
    # Of earlier versions, which put no mark on what was made by hand:
    by_its_fault = {"component": Component.SOLUTION, "reason": Reason.SOLUTION_FAILED, "evidence": "exit code 1"}
    end(settings, Status.PENDING, "beta", **by_its_fault)
    end(settings, Status.PENDING, "gamma", evidence="made by hand")
    assert "none of 4 seeds waits" in tick(repairable_seeds, instance, settings).skip_message


def test_trouble_that_lasts_is_left_to_people(instance: dg.DagsterInstance, settings: Settings) -> None:
    before = now() - timedelta(hours=1)
    lasting = ("NotObservable", "TextRefused", "ContextOverflow", "NoRecording")
    for seed, kind in zip(("alpha", "beta", "delta", "gamma"), lasting, strict=True):
        end(settings, Status.PENDING, seed, evidence=f"{kind}: it is so: always", at=before)
    assert "none of 4 seeds waits" in tick(repairable_seeds, instance, settings).skip_message
    end(settings, Status.PENDING, "beta", sequence=1, evidence="ModelRefused: a wrong key")
    end(settings, Status.PENDING, "gamma", sequence=1, evidence="OSError: [Errno 28] No space left on device")
    assert asked(tick(repairable_seeds, instance, settings)) == [["beta", "gamma"]]


def test_seeds_of_a_store_that_are_no_partitions_are_left_alone(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    end(settings, Status.PENDING, "of-another-instance")
    assert "none of 4" in tick(repairable_seeds, instance, settings).skip_message


def test_accepted_tasks_without_attempts_are_rolled_out(
    instance: dg.DagsterInstance, settings: Settings, make_trial: Any
) -> None:
    settings = with_teacher(settings, "m")
    before = now() - timedelta(hours=1)
    end(settings, Status.ACCEPTED, "alpha", "beta", "gamma", at=before)
    end(settings, Status.REJECTED, "delta", at=before)
    accept(settings, "alpha", "beta", "gamma", bundle="b")
    # Trouble is no attempt.
    ParquetStore(settings.store).put_all([make_trial("alpha", 0.0), make_trial("beta", None)])
    assert asked(tick(untried_tasks, instance, settings)) == [["beta", "gamma"]]


def test_attempts_count_by_bundle_teacher_and_engine_as_the_teacher_counts_them(
    instance: dg.DagsterInstance, settings: Settings, make_trial: Any
) -> None:
    """Not by time: a task that was accepted again, unchanged, has its attempts; one that changed has none."""
    settings = with_teacher(settings, "m", attempts=2)
    store = ParquetStore(settings.store)
    done = {seed: make_trial(seed, 1.0) for seed in ("alpha", "beta", "delta", "gamma")}
    more = {seed: trial.model_copy(update={"attempt": 1}) for seed, trial in done.items()}
    by_harbor = more["gamma"].model_copy(update={"engine": "harbor", "origin": "job/1"})
    again = more["delta"].model_copy(update={"attempt": 0, "origin": "job/2"})  # twice the first is not two
    store.put_all([*done.values(), more["alpha"], more["beta"], by_harbor, again])
    accept(settings, "alpha", "beta", "delta", "gamma", bundle="b")
    accept(settings, "beta", bundle="changed", sequence=7)
    later = now() + timedelta(hours=1)
    end(settings, Status.ACCEPTED, "alpha", "beta", "delta", "gamma", at=later)
    assert asked(tick(untried_tasks, instance, settings)) == [["beta", "delta", "gamma"]]
    other = with_teacher(settings, "another", attempts=2)
    assert asked(tick(untried_tasks, instance, other)) == [["alpha", "beta", "delta", "gamma"]]


def pay(settings: Settings, usd: float) -> None:
    call = CallId(station="authoring.solution", subject="alpha")
    completion = Completion(text="", model="m", prompt_tokens=1, completion_tokens=1)
    row = LedgerRow(
        fingerprint=uuid4().hex, call=call, role=Role.AUTHOR, station=call.station, subject="alpha", round=0,
        prompt_hash="", opening_hash="", model="m", prompt_tokens=1, completion_tokens=1, cost_usd=usd, seconds=0.0,
        recorded=False, at=now(), run_id="r", completion=completion,
    )  # fmt: skip
    ParquetStore(settings.store).put(row)


def enqueue(instance: dg.DagsterInstance, job: str, **tags: str) -> None:
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("facet_dagster"), "__repository__")
    origin = RemoteJobOrigin(place, job)
    queued = dg.DagsterRunStatus.QUEUED
    instance.add_run(dg.DagsterRun(job_name=job, status=queued, tags=tags, remote_job_origin=origin))


def watch(instance: dg.DagsterInstance, settings: Settings, cursor: str | None) -> tuple[Any, str | None]:
    context = dg.build_sensor_context(instance=instance, cursor=cursor, resources={"settings": settings})
    result = budget_watch(context)
    return result, getattr(result, "cursor", None) or cursor


def test_the_budget_of_the_day_warns_once_and_then_stops_what_has_not_begun(
    instance: dg.DagsterInstance, settings: Settings
) -> None:
    settings = settings.model_copy(update={"budget": Budget(day_usd=1.0)})
    calm, cursor = watch(instance, settings, None)
    assert "0% of the day's usd" in calm.skip_message
    pay(settings, 0.85)
    warned, cursor = watch(instance, settings, cursor)
    (shown,) = warned.asset_events
    assert shown.metadata["budget"].value == "warned" and shown.metadata["share_of_usd"].value == pytest.approx(0.85)
    assert warned.run_requests == [] and asked(tick(new_seeds, instance, settings))
    again, cursor = watch(instance, settings, cursor)
    assert "as was said" in again.skip_message
    pay(settings, 0.15)
    enqueue(instance, "compact_store")  # costs nothing
    spent, cursor = watch(instance, settings, cursor)
    assert spent.run_requests == [] and spent.asset_events[0].metadata["budget"].value == "spent"
    enqueue(instance, "construct_all", **{"facet/cost": "model"})
    held, cursor = watch(instance, settings, cursor)
    assert len(held.run_requests) == 1 and not held.asset_events
    enqueue(instance, "hold_queue")
    waits, cursor = watch(instance, settings, cursor)
    assert "as was said" in waits.skip_message
    for sensor in (new_seeds, repairable_seeds, untried_tasks):
        assert "the day's budget is spent" in tick(sensor, instance, settings).skip_message


def test_nothing_is_asked_for_while_facet_run_is_at_work(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Its runs come one after the other: those that are still to come are on no record."""
    with line_under_way(Path(instance.root_directory)), line_under_way(Path(instance.root_directory)):
        for sensor in (new_seeds, repairable_seeds, untried_tasks):
            assert "`facet run` is at work" in tick(sensor, instance, settings).skip_message
    assert asked(tick(new_seeds, instance, settings))


def test_without_a_budget_per_day_there_is_nothing_to_watch(instance: dg.DagsterInstance, settings: Settings) -> None:
    result, _ = watch(instance, settings, None)
    assert "FACET_BUDGET_DAY_USD" in result.skip_message
