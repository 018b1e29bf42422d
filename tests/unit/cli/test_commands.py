"""The command line: trouble is one line and an exit code, results are readable."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.main import app, guarded
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed

Run = Callable[..., int]
SEED = ScenarioSeed(
    seed_id="mend-a-log-12ab", title="Mend a log", skill_ids=("a", "b"), hypothesis_ids=(), rationale="They fit."
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `facet` on a store of its own; the exit code."""
    for name, value in {
        "FACET_STORE": tmp_path / "store",
        "FACET_OUT": tmp_path / "out",
        "FACET_DAGSTER_HOME": tmp_path / "dagster",
        "COLUMNS": "200",
    }.items():
        monkeypatch.setenv(name, str(value))
    for name in ("FACET_LLM_BASE_URL", "FACET_PROFILE", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str) -> int:
        def call() -> None:
            try:
                app(list(arguments))
            except SystemExit as end:
                codes.append(end.code if isinstance(end.code, int) else 1)

        codes: list[int] = []
        trouble = guarded(call)
        return trouble or (codes[0] if codes else 0)

    return command


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    lines = [line for line in captured.err.splitlines() if line.strip()]
    assert len(lines) == 1
    return lines[0]


def test_an_unknown_seed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "nowhere") == 2
    assert "unknown seed 'nowhere'" in one_line(capsys)


@pytest.mark.parametrize("odd", ["[/bold]x", "\udcff\udcfe", "../../etc", "ü" * 300])
def test_an_odd_seed_is_merely_unknown(run: Run, capsys: pytest.CaptureFixture[str], odd: str) -> None:
    assert run("show", odd) == 2
    assert "unknown seed" in one_line(capsys)


@pytest.mark.parametrize("damage", [b"", b"garbage", b"PAR1" + b"x" * 900 + b"PAR1"])
@pytest.mark.parametrize("command", [("seeds",), ("yields", "funnel"), ("sql", "FROM seeds")])
def test_a_damaged_file_is_named(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: bytes, command: tuple[str, ...]
) -> None:
    ParquetStore(str(tmp_path / "store")).put(SEED)
    (file,) = (tmp_path / "store" / "seeds").rglob("*.parquet")
    file.write_bytes(damage)
    assert run(*command) == 4
    assert str(tmp_path / "store") in one_line(capsys)


def test_a_store_of_a_newer_version(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "format.json").write_text(json.dumps({"version": 999}))
    assert run("seeds") == 2
    assert "newer" in one_line(capsys)


def test_an_unknown_question_names_those_there_are(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("yields", "nonsense") == 2
    assert "funnel" in one_line(capsys)


def test_nothing_to_export(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("export", str(tmp_path / "copy")) == 2
    assert "facet run" in one_line(capsys)


def test_an_export_copies_what_is_there(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = tmp_path / "out" / "tasks" / "a" / "task.toml"
    task.parent.mkdir(parents=True)
    task.write_text("x = 1\n")
    assert run("export", str(tmp_path / "copy")) == 0
    assert (tmp_path / "copy" / "tasks" / "a" / "task.toml").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 3", "models"),
        ("not toml [", "not TOML"),
        ("[construction]\nrepeats = 0\n", "construction.repeats"),
        ("[x]\ny = 1\n", "setting x"),
    ],
)
def test_a_bad_profile(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text(text)
    assert run("seeds", "--profile", str(profile)) == 2
    assert said in one_line(capsys)


def test_an_endpoint_without_model_names(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FACET_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    assert run("seeds") == 2
    assert "FACET_MODEL_AUTHOR" in one_line(capsys)


def test_no_engine_is_one_line_that_says_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setenv("FACET_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    for role in ("AUTHOR", "JUDGE", "TEACHER"):
        monkeypatch.setenv(f"FACET_MODEL_{role}", "m")
    assert run("run") == 4
    assert "DOCKER_HOST" in one_line(capsys)


def test_a_missing_skill_folder(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--skills", str(tmp_path / "none")) == 2
    assert str(tmp_path / "none") in one_line(capsys)


def test_seeds_and_show_tell_where_a_seed_stands(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ParquetStore(str(tmp_path / "store"))
    store.put(SEED)
    store.put(
        SeedOutcome(
            seed=SEED.seed_id,
            sequence=3,
            status=Status.REJECTED,
            first_pass=False,
            rounds=5,
            component=Component.VERIFIER,
            reason=Reason.REPAIRS_EXHAUSTED,
            evidence="test_r1_rows: 3 rows expected",
            run_id="r",
            at=now(),
        )
    )
    assert run("seeds") == 0
    assert "repairs_exhausted" in capsys.readouterr().out
    assert run("show", SEED.seed_id) == 0
    shown = capsys.readouterr().out
    assert "Mend a log" in shown and "test_r1_rows: 3 rows expected" in shown


def test_the_funnel_of_an_empty_store(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("yields", "funnel") == 0
    assert "seeds" in capsys.readouterr().out


@pytest.mark.parametrize("command", [("rerun", "nowhere", "verifier"), ("run", "--seed", "nowhere")])
def test_an_unknown_seed_is_one_line_and_needs_no_engine(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert run(*command) == 2
    assert "unknown seed 'nowhere'" in one_line(capsys)


def test_rerun_of_an_unknown_component_names_those_there_are(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rerun", "nowhere", "verifyer") == 2
    assert "'verifier'" in capsys.readouterr().err


def test_an_interrupted_command_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert guarded(interrupted) == 130
    assert "the same command goes on" in one_line(capsys)


def test_a_job_folder_is_imported_once(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = Path(__file__).parents[2] / "fixtures" / "jobs" / "made"
    for _ in range(2):
        assert run("import-job", str(job)) == 0
        assert capsys.readouterr().out.strip() == "3 trials: 1 successes, 1 failures, 1 errors"
    assert len(ParquetStore(str(tmp_path / "store")).rows(Trial)) == 3
    assert run("import-job", str(tmp_path)) == 2
