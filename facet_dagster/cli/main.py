"""The command `facet`: arguments in, exit code out. Each command's work stands in its own module or station.

Exit codes: 0 done (rejected seeds are a result, not an error), 1 unexpected, 2 settings or usage, 3 model,
4 engine or host, 5 budget spent, 130 interrupted. `validate` and `rerun` end with 1 when a task was not
accepted.
"""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli import doctor as doctoring
from facet_dagster.cli.common import CsvFile, JsonFile, Profile, make_console, new_run_id, read_settings
from facet_dagster.cli.plain import plain
from facet_dagster.cli.show import seed_table, show_seed
from facet_dagster.cli.skills import skills_app
from facet_dagster.errors import FacetError, InfrastructureError, SettingsError
from facet_dagster.records.outcome import Component

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Agent skills in, verified terminal tasks, trajectories and SFT sets out.",
)
app.add_typer(skills_app, name="skills")


@app.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="install and start an engine, build the base image")] = False,
    profile: Profile = None,
) -> None:
    """Check what a run needs; with --fix bring what is missing."""
    console, settings = make_console(), read_settings(profile)
    if fix:
        doctoring.fix(settings, lambda line: console.print(line, style="dim", highlight=False))
    if not doctoring.report(doctoring.examine(settings), console):
        raise typer.Exit(2)


@app.command()
def run(
    profile: Profile = None,
    skills: Annotated[
        Path | None, typer.Option(help="a source of skills: a folder, a checkout, a dump, an archive")
    ] = None,
    seed: Annotated[list[str] | None, typer.Option(help="only this seed (repeatable)")] = None,
    record: Annotated[Path | None, typer.Option(help="keep every completion as a recording in this folder")] = None,
) -> None:
    """Run the whole line: skills, seeds, construction, rollouts, datasets, reports."""
    # Dagster takes seconds to import, and only this command and `ui` need it.
    from facet_dagster.cli.run import run_line

    settings = read_settings(profile)
    if skills is not None:
        settings = settings.model_copy(update={"skills": skills})
    run_line(settings, make_console(), seeds=seed, record=record)


@app.command()
def rerun(seed: str, component: Component, profile: Profile = None) -> None:
    """Write one component of one seed again; execute and validate what depends on it."""
    from facet_dagster.cli.rerun import rerun as rerun_component

    if not rerun_component(read_settings(profile), make_console(), seed, component):
        raise typer.Exit(1)


@app.command()
def schemes(
    profile: Profile = None,
    seed: Annotated[list[str] | None, typer.Option(help="only this seed (repeatable)")] = None,
    record: Annotated[Path | None, typer.Option(help="keep every completion as a recording in this folder")] = None,
) -> None:
    """Compare the forward, reverse and joint schemes on the seeds that were walked."""
    from facet_dagster.cli.schemes import compare_schemes

    compare_schemes(read_settings(profile), make_console(), seed, record)


@app.command()
def show(seed: str, profile: Profile = None) -> None:
    """Show the life of one seed: versions, rounds, evidence, cost."""
    show_seed(ParquetStore(read_settings(profile).store), seed, make_console())


@app.command()
def seeds(profile: Profile = None) -> None:
    """List the scenario seeds and where they stand."""
    make_console().print(seed_table(ParquetStore(read_settings(profile).store)))


@app.command()
def yields(
    query: Annotated[str | None, typer.Argument(help="name of a question; without one, all are named")] = None,
    csv_file: CsvFile = None,
    json_file: JsonFile = None,
    profile: Profile = None,
) -> None:
    """Answer a ready question about yields, failures, rounds, time or cost (docs/yields.md)."""
    from facet_dagster.cli.yields import answer, name_all

    if query is None:
        name_all(make_console())
        return
    answer(read_settings(profile, asked=()).store, query, make_console(), csv_file, json_file)


@app.command()
def sql(
    select: Annotated[str, typer.Argument(metavar="SELECT", help="one SELECT over the tables of docs/store.md")],
    csv_file: CsvFile = None,
    json_file: JsonFile = None,
    profile: Profile = None,
) -> None:
    """Ask the store in SQL. It reads the store and nothing else, and writes nothing."""
    from facet_dagster.cli.yields import answer_sql

    answer_sql(read_settings(profile, asked=()).store, select, make_console(), csv_file, json_file)


@app.command()
def plan(
    seeds: Annotated[int | None, typer.Option(min=1, help="so many; without, those that are not begun")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="those that are rejected or pending")] = False,
    json_file: JsonFile = None,
    profile: Profile = None,
) -> None:
    """Project what a backfill will take: calls, tokens, US dollars and hours per station (docs/cost.md)."""
    from facet_dagster.cli.plan import show_plan

    show_plan(read_settings(profile, asked=()), make_console(), seeds, failed, json_file)


@app.command()
def lineage(
    name: Annotated[str, typer.Argument(metavar="ROW|TASK|SEED", help="SEED/TRIAL, org/name, or a seed's id")],
    json_file: JsonFile = None,
    profile: Profile = None,
) -> None:
    """Show where a row of an SFT set, a task or a seed came from, back to the skills and their licences."""
    from facet_dagster.cli.lineage import show_lineage

    show_lineage(ParquetStore(read_settings(profile, asked=()).store), name, make_console(), json_file)


@app.command()
def report(
    html_file: Annotated[Path, typer.Argument(metavar="FILE.html", help="page to write")],
    profile: Profile = None,
) -> None:
    """Write the yields of the store as one HTML page: figures beside the paper's, pictures, tables (docs/yields.md)."""
    from facet_dagster.cli.yields import write_report

    write_report(read_settings(profile, asked=()).store, make_console(), html_file)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="folder to write to")],
    profile: Profile = None,
) -> None:
    """Write the accepted tasks (a Harbor dataset) and the SFT set to a folder."""
    from facet_dagster.cli.exporting import export_all

    for line in export_all(read_settings(profile), out):
        make_console().print(line, highlight=False, markup=False)


@app.command()
def sft(
    out: Annotated[Path | None, typer.Argument(help="folder to write to; the run's own without")] = None,
    profile: Profile = None,
) -> None:
    """Make the SFT set anew from the trials of the store, under the settings' [sft]; shows what each rule removed."""
    from facet_dagster.cli.sft import make_set

    make_set(read_settings(profile), make_console(), out)


@app.command()
def validate(
    directory: Annotated[Path, typer.Argument(help="a Harbor task, or a folder of them")],
    json_file: Annotated[Path | None, typer.Option("--json", help="write the report as JSON to this file")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="write the report as one HTML page")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="no-op and oracle runs per task")] = 2,
    controls: Annotated[int, typer.Option(min=0, help="wrong solutions tried per task, at most")] = 8,
    only: Annotated[list[str] | None, typer.Option(help="only this task or folder (repeatable)")] = None,
    in_flight: Annotated[int, typer.Option(min=1, help="tasks examined at a time")] = 2,
) -> None:
    """Put Harbor tasks, anyone's, to the gates; exit code 1 when one is not accepted."""
    from facet_dagster.cli.validate import validate_folder

    code = validate_folder(
        directory,
        make_console(),
        repeats=repeats,
        controls=controls,
        in_flight=in_flight,
        only=only,
        json_file=json_file,
        html_file=html_file,
    )
    if code:
        raise typer.Exit(code)


@app.command()
def evaluate(
    tasks: Annotated[
        Path | None, typer.Option(help="a Harbor task, or a folder of them; the exported tasks without")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="as the endpoint calls it (repeatable)")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="per task and model")] = None,
    only: Annotated[list[str] | None, typer.Option(help="only this task or folder (repeatable)")] = None,
    network: Annotated[bool, typer.Option("--network", help="let tasks that ask for the network have it")] = False,
    compare: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="two models as the store knows them; runs nothing")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the scores as JSON to this file")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="write the scores as one HTML page")] = None,
    record: Annotated[Path | None, typer.Option(help="keep every completion as a recording in this folder")] = None,
    profile: Profile = None,
) -> None:
    """Score models on Harbor tasks, anyone's: pass rates with intervals, pass@k, models side by side."""
    from facet_dagster.cli.evaluate import compare_models, evaluate_models

    settings = read_settings(profile, asked=())  # it names its models itself
    given = {"tasks": tasks, "models": tuple(model or ()), "attempts": attempts, "network": network}
    terms = settings.evaluation.model_copy(update={name: value for name, value in given.items() if value})
    settings = settings.model_copy(update={"evaluation": terms})
    if compare is not None:
        compare_models(settings, make_console(), compare, json_file=json_file, html_file=html_file)
        return
    evaluate_models(
        settings,
        make_console(),
        run_id=new_run_id(),
        only=only or (),
        json_file=json_file,
        html_file=html_file,
        record=record,
    )


@app.command()
def behaviour(
    model: Annotated[list[str] | None, typer.Option(help="only this model (repeatable)")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the statistics as JSON to this file")] = None,
    profile: Profile = None,
) -> None:
    """Show how models work in the terminal: what observes, what acts, which commands, beside the paper's figures."""
    from facet_dagster.cli.behaviour import report_behaviour

    report_behaviour(read_settings(profile, asked=()), make_console(), model, json_file)


@app.command("import-job")
def import_job(
    directory: Annotated[Path, typer.Argument(help="job folder of Harbor")],
    profile: Profile = None,
) -> None:
    """Keep the trials of a job folder that Harbor made elsewhere; a second time changes nothing."""
    from facet_dagster.attempts import import_jobs

    settings = read_settings(profile)
    trials, strange = import_jobs(directory, ParquetStore(settings.store), settings.out / "tasks")
    errors = sum(trial.grade is None for trial in trials)
    won = sum(trial.success for trial in trials)
    failed = len(trials) - won - errors
    console = make_console()
    console.print(f"{len(trials)} trials: {won} successes, {failed} failures, {errors} errors", highlight=False)
    if strange:
        console.print(
            f"made on another state of the task than the one in {settings.out / 'tasks'}, and kept apart from its "
            f"trials: {', '.join(strange)}",
            highlight=False, markup=False,
        )  # fmt: skip


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="port on the loopback interface")] = 3000, profile: Profile = None
) -> None:
    """Open Dagster on the same instance and store."""
    from facet_dagster.cli.ui import serve

    serve(read_settings(profile), profile, port)


def guarded(command: Callable[[], None]) -> int:
    """Run a command; trouble becomes one line on stderr and its exit code."""
    try:
        command()
    except FacetError as error:
        Console(stderr=True, soft_wrap=True).print(f"[red]{_kind(error)}:[/] {plain(str(error))}", highlight=False)
        return error.exit_code
    except OSError as error:
        print(f"trouble: {error}", file=sys.stderr)
        return InfrastructureError.exit_code
    except KeyboardInterrupt:
        print("interrupted: the same command goes on where this one stopped", file=sys.stderr)
        return 130
    return 0


def _kind(error: FacetError) -> str:
    return "settings" if isinstance(error, SettingsError) else "trouble"


def main() -> None:
    """Entry point of the console script."""
    # A polite kill cleans up as Ctrl-C does: containers of the run are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(guarded(app))
