"""Harbor itself judges what is exported: oracle 1, nop 0 on tasks, and its validator on a trajectory.

By default one hand-made task is scored. FACET_TASKS_DIR names a folder of exported tasks to score instead (all of
them). Harbor is installed by install.sh into FACET_HARBOR_HOME (default: ~/.cache/facet/harbor), once.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

import pytest
from docker import DockerClient

from facet_dagster.adapters.harbor_engine import HarborEngine
from facet_dagster.datasets.harbor import TaskTerms, export_task
from facet_dagster.environment.dockerfile import build_context, render_dockerfile
from facet_dagster.jobs import import_job, is_graded, task_digest
from facet_dagster.records.authoring import Execution, Instruction, Solution, StateDiff, Verifier
from facet_dagster.records.container import FileEntry, Limits
from facet_dagster.records.environment import InlineFile, Manifest, Materials, ObservedState, Service
from facet_dagster.records.rollout import Handover, HelperCall, Keystrokes, StopReason, Trial, Turn
from facet_dagster.records.scenario import (
    Requirement,
    Scenario,
)
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.terms import RolloutTerms
from facet_dagster.records.validation import ValidationReport
from facet_dagster.rollout.atif import to_atif
from facet_dagster.testing.examples import a_scenario, an_environment
from facet_dagster.testing.harbor_place import harbor_environment, public_stand_in
from facet_dagster.testing.http_endpoint import HttpEndpoint, answer

pytestmark = pytest.mark.harbor

SALES = "region,amount\nnorth,10\nsouth,x\nNorth ,5\nsouth,7\n"
SOLVE = """\
#!/bin/bash
set -euo pipefail
curl -fs http://127.0.0.1:8080/sales.csv | cmp - /app/sales.csv
python3 - <<'PY'
import csv, json
totals = {}
with open("/app/sales.csv", newline="") as handle:
    rows = list(csv.DictReader(handle))
kept = [row for row in rows if row["amount"].isdigit()]
for row in kept:
    region = row["region"].strip().lower()
    totals[region] = totals.get(region, 0) + int(row["amount"])
with open("/app/totals.json", "w") as handle:
    json.dump(totals, handle)
with open("/app/sales.csv", "w", newline="") as handle:
    writer = csv.DictWriter(handle, ["region", "amount"], lineterminator="\\n")
    writer.writeheader()
    writer.writerows(kept)
PY
"""
TESTS = """\
import csv, json
from pathlib import Path

from support import E0, run_as_agent


def original():
    with (E0 / "app/sales.csv").open(newline="") as handle:
        return [row for row in csv.DictReader(handle) if row["amount"].isdigit()]


def test_r1_totals():
    expected = {}
    for row in original():
        region = row["region"].strip().lower()
        expected[region] = expected.get(region, 0) + int(row["amount"])
    assert json.loads(Path("/app/totals.json").read_text()) == expected


def test_r2_bad_rows_are_gone():
    with open("/app/sales.csv", newline="") as handle:
        assert list(csv.DictReader(handle)) == original()


def test_r1_totals_are_served():
    shown = run_as_agent(["curl", "-fs", "http://127.0.0.1:8080/totals.json"])
    assert shown.stdout == Path("/app/totals.json").read_text()
"""


@pytest.fixture(scope="session")
def harbor() -> dict[str, str]:
    return harbor_environment()


@pytest.fixture(scope="session")
def stand_in(engine: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with public_stand_in(engine, tmp_path_factory.mktemp("overlay")) as options:
        yield options


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("FACET_TASKS_DIR")
    if given:
        return Path(given).resolve()
    directory = tmp_path_factory.mktemp("tasks")
    make_task(directory)
    return directory


def names_of(tasks: Path) -> set[str]:
    names = {path.parent.name for path in tasks.glob("*/task.toml") if not path.parent.name.startswith(".")}
    assert names, f"no task in {tasks}"
    return names


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_scores_every_task(
    harbor: dict[str, str], stand_in: list[str], tasks: Path, tmp_path: Path, agent: str, reward: float
) -> None:
    command = [f"{harbor['HARBOR']}/harbor", "run", "-p", tasks, "-a", agent, "-n", "2", "-q", *stand_in]
    done = subprocess.run(
        [*command, "-o", tmp_path, "--job-name", agent], env=harbor, capture_output=True, text=True, timeout=3600
    )
    trials = [json.loads(path.read_text()) for path in tmp_path.glob(f"{agent}/*/result.json")]
    errors = {t["trial_name"]: t["exception_info"] for t in trials if t["exception_info"]}
    assert done.returncode == 0 and not errors, f"{errors}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    scores = {Path(t["task_id"]["path"]).name: t["verifier_result"]["rewards"]["reward"] for t in trials}
    assert scores == dict.fromkeys(names_of(tasks), reward)


def test_harbor_reads_the_task_as_it_was_meant(harbor: dict[str, str], tasks: Path) -> None:
    read = dedent("""
        import json, sys, pathlib
        from harbor.models.task.task import Task
        for folder in sys.argv[1:]:
            task = Task(task_dir=pathlib.Path(folder))
            config = task.config
            print(json.dumps([task.name, config.schema_version, config.agent.user, config.verifier.user,
                              config.environment.network_mode.value, config.metadata["difficulty"]]))
    """)
    folders = [str(tasks / name) for name in sorted(names_of(tasks))]
    done = subprocess.run(
        [f"{harbor['HARBOR']}/python", "-c", read, *folders], env=harbor, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[1:] for row in seen] == [["1.4", "agent", "root", "public", "unmeasured"]] * len(folders)
    assert len({row[0] for row in seen}) == len(folders)


@pytest.mark.parametrize(("turns", "handovers"), [(0, 0), (3, 0), (3, 1)])
def test_harbors_validator_accepts_the_trajectory(
    harbor: dict[str, str], tmp_path: Path, turns: int, handovers: int
) -> None:
    document = tmp_path / "trajectory.json"
    trial = made_trial(turns).model_copy(update={"handovers": (made_handover(),) * handovers})
    details = {"prompt_token_ids": (1, 2), "completion_token_ids": (3,), "logprobs": (-0.1,), "warnings": ("w",)}
    detailed = tuple(turn.model_copy(update=details) for turn in trial.turns)
    document.write_text(json.dumps(to_atif(trial.model_copy(update={"turns": detailed}))))
    command = [f"{harbor['HARBOR']}/python", "-m", "harbor.utils.trajectory_validator", document]
    done = subprocess.run(command, env=harbor, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_harbors_agent_attempts_the_task_and_its_job_is_imported(
    harbor: dict[str, str], stand_in: list[str], tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sorted(names_of(tasks))[0]
    say = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": "echo seen-$((6 * 7))\n", "duration": 0.5}]}
    replies = [answer(json.dumps({**say, "task_complete": done})) for done in (False, True, True)]
    monkeypatch.setenv("DOCKER_CONFIG", harbor["DOCKER_CONFIG"])
    terms = RolloutTerms(engine="harbor", harbor=f"{harbor['HARBOR']}/harbor", harbor_options=tuple(stand_in))
    with HttpEndpoint(replies) as endpoint:
        job = await HarborEngine(endpoint.url, "", terms).run(
            tasks / name, model="m", jobs=tmp_path, name="one", whole=is_graded
        )
    (trial,) = import_job(job, {})
    (lock,) = job.glob("*__*/lock.json")
    assert json.loads(lock.read_text())["task"]["digest"] == task_digest(tasks / name)
    assert trial.stop is StopReason.COMPLETED and trial.reward == 0.0, trial.trouble
    assert [json.loads(turn.raw)["task_complete"] for turn in trial.turns] == [False, True, True]
    told = (tasks / name / "instruction.md").read_text(encoding="utf-8").split("\n")[0]
    assert told in trial.turns[0].prompt and "seen-42" in trial.turns[0].observation
    assert trial.grade is not None and len(trial.grade.tests) >= 1


def made_handover() -> Handover:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    call = HelperCall(name="summary", prompt="p", raw="r", prompt_tokens=1, completion_tokens=1, cost_usd=0, at=at)
    return Handover(context=1, turn=3, text="so far", calls=(call,))


def made_trial(turns: int) -> Trial:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    made = [
        Turn(
            number=1,
            prompt="task",
            raw="?",
            analysis="",
            plan="",
            commands=(),
            task_complete=False,
            parse_error="no object",
            observation="again",
            prompt_tokens=1,
            completion_tokens=1,
            cost_usd=0,
            at=at,
        ),
        Turn(
            number=2,
            prompt="again",
            raw="{}",
            analysis="a",
            plan="p",
            task_complete=False,
            parse_error=None,
            commands=(Keystrokes(keystrokes="ls\n"),),
            observation="x",
            prompt_tokens=1,
            completion_tokens=1,
            cost_usd=0,
            at=at,
        ),
        Turn(
            number=3,
            prompt="x",
            raw="{}",
            analysis="a",
            plan="p",
            task_complete=True,
            parse_error=None,
            commands=(Keystrokes(keystrokes="a"), Keystrokes(keystrokes="C-c")),
            observation="y",
            prompt_tokens=1,
            completion_tokens=1,
            cost_usd=0,
            at=at,
        ),
    ]
    return Trial(
        seed="s",
        task="org/s",
        bundle="b" * 64,
        attempt=0,
        model="m",
        recorded=False,
        stop=StopReason.TURN_LIMIT,
        reward=None,
        grade=None,
        turns=tuple(made[:turns]),
        seconds=1,
        started_at=at,
        run_id="r",
    )


def make_task(directory: Path) -> Path:
    """A small task of the project's own: totals from a CSV file that is also cleaned in place."""
    serve = "exec setpriv --reuid agent --clear-groups python3 -m http.server 8080 --bind 127.0.0.1 --directory /app"
    materials = Materials(
        apt_packages=[],
        pip_packages=["tabulate"],
        files=[InlineFile(path="/app/sales.csv", content=SALES)],
        generators=[],
        setup_commands=[],
        services=[Service(name="web", command=serve, health="curl -fs http://127.0.0.1:8080/")],
        properties=[],
    )
    environment = an_environment(
        manifest=Manifest(directories=[], files=[], apt_packages=[], pip_packages=[], services=[], properties=[]),
        materials=materials,
        image="",
        build_seconds=0,
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
    )
    run = Execution(exit_code=0, output="", seconds=0, limit=None, diff=StateDiff(files=()))
    skill = Skill(
        skill_id="csv-1",
        source="samples",
        path="csv/SKILL.md",
        content_hash="c" * 64,
        name="csv",
        description="d",
        body="b",
        licence="MIT",
    )
    return export_task(
        directory,
        org="facet-test",
        seed=ScenarioSeed(seed_id="csv-totals", title="Totals", skill_ids=("csv-1",), hypothesis_ids=(), rationale=""),
        skills=[skill],
        scenario=made_scenario(),
        environment=environment,
        instruction=Instruction(
            text=(
                "/app/sales.csv holds region and amount. Write /app/totals.json: for each region (lower case, without "
                "surrounding spaces) the sum of its amounts. Rows whose amount is no whole number do not count; remove "
                "them from the file."
            ),
            clauses={},
        ),
        solution=Solution(script=SOLVE, workflow="", execution=run),
        verifier=Verifier(
            test_file=TESTS,
            e0_copies=(FileEntry(path="/app/sales.csv", content=SALES),),
            tests=("test_r1_totals", "test_r2_bad_rows_are_gone", "test_r1_totals_are_served"),
        ),
        report=ValidationReport(bundle="b" * 64, verdict=True, gates=(), noop_runs=(), oracle_runs=()),
        provenance={"models": {"author": "none"}, "cost_usd": 0.0, "recorded": False},
        dockerfile=render_dockerfile(materials),
        context=build_context(materials),
        terms=TaskTerms(limits=Limits(memory_mb=512)),
    )


def made_scenario() -> Scenario:
    return a_scenario(
        title="Totals per region",
        description="",
        skill_ids=("csv-1",),
        solution_reference="",
        instruction_reference="",
        requirements=tuple(Requirement(id=f"R{n}", text="totals and cleaning", observable="") for n in (1, 2)),
    )
