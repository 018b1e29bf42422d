"""A job folder of Harbor becomes trials: what was said, what was graded, what went wrong."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from facet_dagster.adapters import harbor_leftovers
from facet_dagster.adapters.harbor_engine import HarborEngine
from facet_dagster.attempts import import_jobs
from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.jobs import REBUILT, TaskRef, import_job, is_graded, task_digest
from facet_dagster.records.bundle import Task
from facet_dagster.records.outcome import Component
from facet_dagster.records.rollout import StopReason, Trial
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.rollout.atif import to_atif
from facet_dagster.testing.accepted import version_of
from facet_dagster.testing.memory_store import MemoryStore

JOB = Path(__file__).parents[2] / "fixtures" / "jobs" / "made"


def test_successes_failures_and_errors_stay_apart():
    won, lost, broken = import_job(JOB, {})
    assert (won.stop, won.reward, won.success) == (StopReason.COMPLETED, 1.0, True)
    assert (lost.stop, lost.reward) == (StopReason.TIME_LIMIT, 0.0) and "too slow" in lost.trouble
    assert (broken.stop, broken.reward, broken.grade) == (StopReason.INFRASTRUCTURE, None, None)
    assert "EnvironmentStartTimeoutError: no image" in broken.trouble and broken.turns == ()
    assert [trial.attempt for trial in (won, lost, broken)] == [0, 1, 2]
    assert {(trial.model, trial.engine, trial.seed) for trial in (won, lost, broken)} == {
        ("openai/m", "harbor", "alpha")
    }
    assert won.seconds == 30.0 and won.tokens == 330
    assert [(t.name, t.outcome) for t in won.grade.tests] == [
        ("test_r1", "passed")
    ] and won.grade.output == "1 passed\n"


def test_the_dialogue_is_kept_as_it_was_held():
    won, lost, _ = import_job(JOB, {})
    assert [turn.prompt for turn in won.turns] == ["the task", "handed over", "sure?"]
    assert json.loads(won.turns[0].raw)["commands"] and won.turns[0].commands[0].keystrokes == "ls\n"
    assert [turn.context for turn in won.turns] == [0, 1, 1] and won.handovers[0].turn == 2
    rebuilt, not_understood = lost.turns
    assert REBUILT in rebuilt.warnings and rebuilt.analysis == "look" and rebuilt.commands[0].duration == 0.5
    assert not_understood.raw == "what?" and not_understood.parse_error is not None
    assert to_atif(won)["steps"][1]["extra"]["raw"] == won.turns[0].raw


def test_a_trial_on_a_task_of_ours_belongs_to_its_seed():
    ref = TaskRef(seed="seed-1", task="org/alpha", bundle="b" * 64)
    assert {(t.seed, t.bundle) for t in import_job(JOB, {"org/alpha": ref})} == {("seed-1", "b" * 64)}


@pytest.mark.parametrize("edited", [False, True])
def test_a_trial_belongs_to_the_bundle_whose_folder_it_was_made_on(tmp_path, edited):
    store, tasks = MemoryStore(), tmp_path / "tasks"
    (tasks / "alpha" / "environment").mkdir(parents=True)
    (tasks / "alpha" / "task.toml").write_text("x")
    (tasks / "alpha" / "environment" / "Dockerfile").write_text("FROM x")
    job = shutil.copytree(JOB, tmp_path / "made")
    for trial in job.glob("*__*"):
        (trial / "lock.json").write_text(json.dumps({"task": {"digest": task_digest(tasks / "alpha")}}))
    task = Task(name="org/alpha", bundle="b" * 64, rounds={}, tests=1, directory="alpha")
    store.put(version_of(Component.TASK, task, seed="alpha"))
    if edited:
        (tasks / "alpha" / "environment" / "Dockerfile").write_text("FROM y")
    trials, strange = import_jobs(job, store, tasks)
    assert {t.seed for t in trials} == {"alpha"} and strange == (["org/alpha"] if edited else [])
    assert {t.bundle for t in trials} == ({"c" * 64} if edited else {"b" * 64})


def test_importing_twice_changes_nothing(tmp_path):
    store = MemoryStore()
    assert len(import_jobs(JOB, store, tmp_path)[0]) == 3
    import_jobs(JOB, store, tmp_path)
    assert len(store.rows(Trial)) == 3


def test_a_folder_that_is_no_job_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="no finished trial"):
        import_job(tmp_path, {})
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "result.json").write_text("{")
    with pytest.raises(SettingsError, match="no result of Harbor"):
        import_job(tmp_path, {})


def program(folder: Path, script: str) -> RolloutTerms:
    path = folder / "harbor"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return RolloutTerms(engine="harbor", harbor=str(path), harbor_options=("--ek", "x=1"), turns=7)


async def test_the_program_is_called_and_its_job_folder_named(tmp_path):
    terms = program(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/said; echo $OPENAI_API_KEY >> {tmp_path}/said')
    engine = HarborEngine("http://127.0.0.1:1/v1", "key", terms)
    job = await engine.run(tmp_path / "task", model="m", jobs=tmp_path / "jobs", name="one", whole=is_graded)
    said = (tmp_path / "said").read_text().splitlines()
    assert job == tmp_path / "jobs" / "one" and said[0] == "run" and said[-1] == "key"
    assert {"openai/m", "api_base=http://127.0.0.1:1/v1", "max_turns=7", "x=1"} <= set(said)
    assert "key" not in said[:-1], "a secret is never an argument"


async def test_a_program_that_fails_or_is_missing_is_named(tmp_path):
    with pytest.raises(InfrastructureError, match="exit code 3: broken"):
        await HarborEngine("u", "", program(tmp_path, "echo broken; exit 3")).run(
            tmp_path, model="m", jobs=tmp_path, name="n", whole=is_graded
        )
    with pytest.raises(SettingsError, match="FACET_HARBOR"):
        await HarborEngine("u", "", RolloutTerms(harbor="no-such-program")).run(
            tmp_path, model="m", jobs=tmp_path, name="n", whole=is_graded
        )


async def test_a_job_that_was_made_is_not_paid_for_again(tmp_path):
    shutil.copytree(JOB / "alpha__aaaaaaa", tmp_path / "jobs" / "one" / "alpha__aaaaaaa")
    engine = HarborEngine("u", "", program(tmp_path, "exit 3"))
    job = await engine.run(tmp_path, model="m", jobs=tmp_path / "jobs", name="one", whole=is_graded)
    assert import_job(job, {})[0].success


async def test_a_program_that_outlived_its_run_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(harbor_leftovers, "POLL_S", 0.01)
    ready, made = tmp_path / "ready", JOB / "alpha__aaaaaaa"
    work = f"touch {ready}; while [ -e {ready} ]; do sleep 0.02; done; cp -r {made} {tmp_path}/jobs/one/"
    engine = HarborEngine("u", "", program(tmp_path, f"mkdir -p {tmp_path}/jobs/one; {work}"))
    job = tmp_path / "jobs" / "one"
    job.parent.mkdir()
    async with harbor_leftovers.held(job) as lock:  # as a run holds it that is killed while its program works
        orphan = subprocess.Popen([tmp_path / "harbor"], pass_fds=(lock,))
    while not ready.exists():
        await asyncio.sleep(0.01)
    again = asyncio.create_task(engine.run(tmp_path, model="m", jobs=job.parent, name="one", whole=is_graded))
    await asyncio.sleep(0.1)
    assert not again.done()
    ready.unlink()
    assert is_graded(await again) and orphan.wait() == 0
