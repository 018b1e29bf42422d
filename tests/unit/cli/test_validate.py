"""`facet validate`: usage errors in one line before anything is started, results readable, exit codes."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from facet_dagster.cli.main import app, guarded
from facet_dagster.cli.validate import AuditProgress, print_report
from facet_dagster.errors import EngineUnavailable
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.outcome import Component
from facet_dagster.records.validation import Gate, GateResult


def facet(*arguments: str) -> int:
    codes: list[int] = []

    def call() -> None:
        try:
            app(list(arguments))
        except SystemExit as end:
            codes.append(end.code if isinstance(end.code, int) else 1)

    trouble = guarded(call)
    return trouble or (codes[0] if codes else 0)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(builder=None, sandbox=None, stand_ins={}, cpus=2.0)

    monkeypatch.setattr("facet_dagster.cli.validate.open_engine", opened)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    (line,) = [line for line in captured.err.splitlines() if line.strip()]
    return line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{tmp}/nowhere",), "not a folder"),
        (("{tmp}",), "no task in"),
        (("{tasks}", "--only", "[red]x"), "no task [red]x"),
        (("{tasks}", "--json", "{tmp}"), "is a folder"),
        (("{tasks}", "--html", "{tmp}/no/such/x.html"), "there is no folder"),
    ],
)
def test_usage(
    tmp_path: Path, tasks: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "tasks2").mkdir()
    filled = [argument.format(tmp=tmp_path / "tasks2", tasks=tasks) for argument in arguments]
    assert facet("validate", *filled) == 2
    assert said in one_line(capsys)


@pytest.mark.parametrize("option", [("--repeats", "0"), ("--controls", "-1"), ("--repeats", "x")])
def test_senseless_numbers(tasks: Path, option: tuple[str, str]) -> None:
    assert facet("validate", str(tasks), *option) == 2


def test_no_engine(tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: object) -> None:
        raise EngineUnavailable("start it")

    monkeypatch.setattr("facet_dagster.cli.validate.open_engine", refuse)
    assert facet("validate", str(tasks)) == 4
    assert "start it" in one_line(capsys)


@pytest.mark.usefixtures("engine")
def test_not_accepted_is_exit_code_one_and_both_files_are_written(
    tmp_path: Path, tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert facet("validate", str(tasks), "--json", f"{tmp_path}/r.json", "--html", f"{tmp_path}/r.html") == 1
    assert '"accepted": false' in (tmp_path / "r.json").read_text()
    assert "instruction.md is missing" in (tmp_path / "r.html").read_text()
    assert "org/one" in capsys.readouterr().out


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("engine", "interruptible")
@pytest.mark.parametrize("end", [interrupt, partial(signal.raise_signal, signal.SIGINT)])
def test_an_interrupted_audit_reports_what_it_found(
    tmp_path: Path,
    tasks: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    end: Callable[[], None],
) -> None:
    for name in ("three", "two"):
        (tasks / name).mkdir()
        (tasks / name / "task.toml").write_text(f'[task]\nname = "org/{name}"\n')
    started = AuditProgress.started

    def interrupted(progress: AuditProgress, name: str) -> None:
        started(progress, name)
        if name == "org/three":
            end()

    monkeypatch.setattr(AuditProgress, "started", interrupted)
    files = ("--json", f"{tmp_path}/r.json", "--html", f"{tmp_path}/r.html")
    assert facet("validate", str(tasks), "--in-flight", "1", *files) == 130
    report = json.loads((tmp_path / "r.json").read_text())
    assert {task["name"]: task["accepted"] for task in report["tasks"]} == {
        "org/one": False,
        "org/three": None,
        "org/two": None,
    }
    assert "interrupted" in report["tasks"][2]["reason"]
    assert "instruction.md is missing" in (tmp_path / "r.html").read_text()
    captured = capsys.readouterr()
    assert "org/two" in captured.out and "Traceback" not in captured.out + captured.err


HOSTILE = "[bold]x[/] [link=file:///etc]"


@pytest.mark.parametrize(
    ("text", "wanted"), [(HOSTILE, HOSTILE), ("\x1b]0;owned\x07a\x9b2J\u202eb\tc", "]0;owneda2Jb c")]
)
def test_what_a_task_says_is_shown_and_never_obeyed(text: str, wanted: str) -> None:
    task = AuditedTask(
        name=text,
        path=text,
        accepted=False,
        component=Component.VERIFIER,
        reason=text,
        gates=(GateResult(gate=Gate.NOOP, passed=False, runs=1, evidence=text),),
        controls=2,
        killed=1,
    )
    console = Console(width=300, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with AuditProgress(console, 1) as progress:
        progress.started(text)
        progress.gate(text, task.gates[0])
        progress.finished(task)
    print_report(AuditReport(directory=text, tasks=(task,), seconds=1), console)
    shown = console.export_text()
    assert shown.count(wanted) >= 4 and "50%" in shown
    assert "\x1b" not in shown and "\x9b" not in shown
