"""`facet evaluate`: models on a folder of Harbor tasks, shown live, then as tables, as JSON and as HTML."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.recordings import export_recordings
from facet_dagster.cli.files import check_target, write_file
from facet_dagster.cli.live import LiveWork
from facet_dagster.cli.plain import plain
from facet_dagster.errors import FacetError
from facet_dagster.evaluation.report import as_html, as_json, interval, outcome, pass_at, side_by_side, signed
from facet_dagster.evaluations import compare_stored, evaluate_folder, scored
from facet_dagster.records.evaluation import Evaluation, EvaluationTrial
from facet_dagster.settings import Settings


def evaluate_models(
    settings: Settings,
    console: Console,
    *,
    run_id: str,
    only: Sequence[str],
    json_file: Path | None,
    html_file: Path | None,
    record: Path | None,
) -> None:
    """Make the attempts that are missing; print and write what was found, also where trouble or a person ended it."""
    for file in (json_file, html_file):
        check_target(file)
    with EvaluationProgress(console) as progress:
        try:
            found = evaluate_folder(settings, run_id=run_id, invigilator=progress, progress=progress.note, only=only)
        except (FacetError, KeyboardInterrupt):
            if progress.trials:
                _report(scored(settings, progress.trials), console, json_file, html_file)
            raise
        finally:
            if record is not None and progress.trials:
                subjects = {trial.seed for trial in progress.trials}
                count = export_recordings(ParquetStore(settings.store), record, subjects)
                progress.note(f"{count} completions recorded in {record}")
    _report(found, console, json_file, html_file)


def compare_models(
    settings: Settings, console: Console, models: Sequence[str], *, json_file: Path | None, html_file: Path | None
) -> None:
    """Print and write two models of the store side by side. Raises SettingsError."""
    for file in (json_file, html_file):
        check_target(file)
    _report(compare_stored(settings, models), console, json_file, html_file)


def _report(found: Evaluation, console: Console, json_file: Path | None, html_file: Path | None) -> None:
    print_evaluation(found, console)
    if json_file is not None:
        write_file(json_file, as_json(found))
    if html_file is not None:
        write_file(html_file, as_html(found))


def print_evaluation(found: Evaluation, console: Console) -> None:
    """The tasks, the models and the pairs of models as tables."""
    tasks = Table("task", *[Column(plain(model.model), justify="right") for model in found.models], "error", box=None)
    for name, _, row in side_by_side(found):
        error = next((score.errors[0] for score in row if score and score.errors), "")
        tasks.add_row(plain(name), *(outcome(score) for score in row), plain(error[:200]))
    console.print(tasks)
    ks = range(2, found.attempts + 1)
    heads = ("tasks", "solved", "errors", "turns", "tokens", "USD")
    models = Table(
        "model", "pass rate [95%]", *(f"pass@{k}" for k in ks), *(Column(h, justify="right") for h in heads), box=None
    )
    for model in found.models:
        models.add_row(
            plain(model.model) + (" (recorded)" if model.recorded else ""),
            plain(interval(model.pass_rate)),
            *(plain(pass_at(model, k)) for k in ks),
            f"{model.graded_tasks} of {len(model.tasks)}",
            f"{model.solved} of {model.graded}",
            str(model.errors),
            str(model.turns),
            f"{model.tokens:,}",
            f"{model.cost_usd:.4f}",
        )
    console.print(models)
    if found.comparisons:
        console.print(_pairs(found))


def _pairs(found: Evaluation) -> Table:
    heads = ("tasks", "better", "worse", "same")
    table = Table("model", "against", *(Column(h, justify="right") for h in heads), "difference [95%]", "p", box=None)
    for pair in found.comparisons:
        numbers = [str(n) for n in (pair.tasks, pair.better, pair.worse, pair.same)]
        table.add_row(plain(pair.other), plain(pair.model), *numbers, plain(signed(pair.difference)), f"{pair.p:.4f}")
    return table


class EvaluationProgress(LiveWork):
    """An Invigilator that draws: the trials at work, and one line per trial that has ended."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._all = 0
        self.trials: list[EvaluationTrial] = []

    def note(self, line: str) -> None:
        self._console.print(line, style="dim", highlight=False, markup=False)

    def planned(self, tasks: int, trials: int) -> None:
        self._all = trials
        self.note(f"{tasks} task(s), {trials} trial(s)")

    def at(self, what: str, doing: str) -> None:
        self._at[what] = doing

    def ended(self, trial: EvaluationTrial, *, again: bool) -> None:
        self.trials.append(trial)
        self._at.pop(trial.task, None)
        self._at.pop(f"{trial.task} {trial.model} #{trial.attempt}", None)
        if again:
            return
        if trial.error:
            said = f"[yellow]error[/] - {plain(trial.error[:200])}"
        else:
            said = (
                "[green]solved[/]" if trial.success else f"[red]failed[/] (reward {trial.reward:g}, {trial.stop.value})"
            )
        what = f"{plain(trial.task)} {plain(trial.model)} #{trial.attempt}"
        end = f"[dim]{len(trial.turns)} turns, {trial.seconds:.0f} s[/]"
        self._console.print(f"[dim]{len(self.trials)}/{self._all}[/] {what} {said} {end}", highlight=False)
