"""`facet validate DIR`: the gates over a folder of Harbor tasks, shown live, as a table, as JSON and as HTML."""

import asyncio
import time
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.table import Column, Table

from facet_dagster.adapters.wiring import open_engine
from facet_dagster.audit.load import load_folder
from facet_dagster.audit.report import as_html, as_json, percent
from facet_dagster.audit.run import AuditTerms, Bench, audit, cut_short
from facet_dagster.cli.files import check_target, write_file
from facet_dagster.cli.live import LiveWork
from facet_dagster.cli.plain import plain
from facet_dagster.records.audit import AuditedTask, AuditReport
from facet_dagster.records.validation import GateResult

_VERDICTS = {True: "[green]accepted[/]", False: "[red]not accepted[/]", None: "[yellow]no verdict[/]"}
_MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]?[/]"}


def validate_folder(
    directory: Path,
    console: Console,
    *,
    repeats: int,
    controls: int,
    in_flight: int,
    only: list[str] | None,
    json_file: Path | None,
    html_file: Path | None,
) -> int:
    """Examine, print and write what was found, also when interrupted; the exit code.

    Raises SettingsError, EngineUnavailable.
    """
    for file in (json_file, html_file):
        check_target(file)
    tasks = load_folder(directory, only or ())
    with open_engine(f"validate-{uuid4().hex[:12]}", lambda line: _note(console, line)) as engine:
        terms = AuditTerms(repeats=repeats, controls=controls, in_flight=in_flight, cpus_max=engine.cpus)
        bench = Bench(engine.builder, engine.sandbox, engine.stand_ins)
        began, interrupted = time.monotonic(), False
        with AuditProgress(console, len(tasks)) as progress:
            try:
                report = asyncio.run(audit(str(directory), tasks, bench, terms, progress))
            except KeyboardInterrupt:
                report = cut_short(str(directory), tasks, progress.ended, time.monotonic() - began)
                interrupted = True
        print_report(report, console)
        if json_file is not None:
            write_file(json_file, as_json(report))
        if html_file is not None:
            write_file(html_file, as_html(report))
    if interrupted:
        return 130
    return 0 if all(task.accepted is True for task in report.tasks) else 1


def print_report(report: AuditReport, console: Console) -> None:
    """The tasks as a table, and the counts in one line."""
    summary = report.summary()
    gates = [row.gate for row in summary.gates]
    heads = [Column(gate.value.partition("-")[0], justify="center") for gate in gates]
    table = Table("task", "verdict", *heads, Column("kills", justify="right"), "component", "reason", box=None)
    for task in report.tasks:
        marks = [_MARKS[result.passed] if (result := task.gate(gate)) else "[dim]·[/]" for gate in gates]
        component = task.component.value if task.component else ""
        table.add_row(
            plain(task.name), _VERDICTS[task.accepted], *marks, percent(task.kill_rate), component, plain(task.reason)
        )
    console.print(table)
    console.print(
        f"{summary.tasks} task(s): {summary.accepted} accepted, {summary.rejected} not accepted, "
        f"{summary.open} without a verdict; kill rate {percent(summary.kill_rate)}, "
        f"{summary.container_starts} container starts, {summary.seconds:.0f} s",
        highlight=False,
    )


class AuditProgress(LiveWork):
    """A Watcher that draws: the tasks at work with their latest gate, and one line per task that is done."""

    def __init__(self, console: Console, number: int) -> None:
        super().__init__(console)
        self._number = number
        self.ended: list[AuditedTask] = []

    def started(self, name: str) -> None:
        self._at[name] = "reading and building"

    def gate(self, name: str, result: GateResult) -> None:
        self._at[name] = f"{_MARKS[result.passed]} {result.gate.value}"

    def finished(self, task: AuditedTask) -> None:
        self._at.pop(task.name, None)
        self.ended.append(task)
        why = "" if task.accepted else f" - {plain(task.reason)}"
        line = f"[dim]{len(self.ended)}/{self._number}[/] {plain(task.name)} {_VERDICTS[task.accepted]}{why}"
        self._console.print(f"{line} [dim]{task.seconds:.1f} s[/]", highlight=False)


def _note(console: Console, line: str) -> None:
    console.print(line, style="dim", highlight=False, markup=False)
