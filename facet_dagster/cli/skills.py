"""`facet skills`: read sources of skills, say why one was kept or refused, count what there is."""

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.common import Profile, make_console, read_settings
from facet_dagster.cli.plain import plain
from facet_dagster.errors import SettingsError
from facet_dagster.pipeline import ingest_skills, skill_sources
from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillClass, SkillEntry, SkillIngest, SkillReject
from facet_dagster.skills.history import History, read_history
from facet_dagster.skills.sources.detect import open_sources
from facet_dagster.skills.stats import SkillStats, stats_of

skills_app = typer.Typer(no_args_is_help=True, help="Read skills, and see why each was kept or refused.")
MOST_ANSWERS = 20  # skills of one name that `why` tells of
MOST_COPIES = 10
MOST_ROWS = 40
BAR = 40  # characters of the longest bar


@skills_app.command()
def ingest(
    source: Annotated[
        list[str] | None,
        typer.Argument(help="folder, git checkout, Parquet or JSONL dump, tar or zip; or NAME=PATH"),
    ] = None,
    profile: Profile = None,
) -> None:
    """Read sources; only what is new or has changed is worked on, what is gone is marked."""
    settings, console = read_settings(profile), make_console()
    store = ParquetStore(settings.store)
    sources = open_sources(source) if source else skill_sources(settings.skills, settings.inbox)
    with console.status("reading") as status:

        def say(line: str) -> None:
            status.update(plain(line))
            if not console.is_terminal:
                console.print(plain(line), highlight=False)

        done = ingest_skills(sources, store, settings.ingest, say)
    _told(done, stats_of(store), console)


@skills_app.command()
def why(
    skill: Annotated[str, typer.Argument(help="id, path or name of a skill")],
    profile: Profile = None,
) -> None:
    """Say whether a skill was kept or refused, and what shows it."""
    tell_why(ParquetStore(read_settings(profile).store), skill, make_console())


@skills_app.command()
def stats(profile: Profile = None) -> None:
    """Count what there is: the funnel, reasons, categories, licences, languages, copies."""
    show_stats(ParquetStore(read_settings(profile).store), make_console())


def _told(done: SkillIngest, now: SkillStats, console: Console) -> None:
    console.print(
        f"{done.found:,} found in {', '.join(done.collections)}: "
        f"{done.fresh:,} new or changed, {done.removed:,} removed\n"
        f"now {done.kept:,} kept, {done.refused:,} refused ({done.duplicates:,} of them duplicates)\n"
        f"{now.open:,} of the kept are open: the rules do not say whether a terminal can act on them\n"
        f"{outdated_line(now)}next  facet skills stats | facet skills why SKILL",
        highlight=False,
        markup=False,
    )


def outdated_line(now: SkillStats) -> str:
    """What was read under other rules than those of now, as a line of its own; empty where nothing was."""
    if not now.outdated:
        return ""
    folders = f"{now.outdated.total():,} folders of {', '.join(sorted(now.outdated))}"
    return f"{folders} were read under earlier rules: ingest them again from where they are\n"


def tell_why(store: Store, wanted: str, console: Console) -> None:
    """Print the story of every skill of this id, path or name. Raises SettingsError where there is none."""
    history = read_history(store)
    found = [entry for entry in history.latest.values() if _is(entry, wanted)]
    if not found:
        count = len(history.latest)
        raise SettingsError(f"no skill {wanted!r} among {count:,} folders in the store: give an id, a path or a name")
    for entry in found[:MOST_ANSWERS]:
        _tell(entry, history, store, console)
    if len(found) > MOST_ANSWERS:
        console.print(f"and {len(found) - MOST_ANSWERS} more of this name: give a path or an id", markup=False)


def _is(entry: SkillEntry, wanted: str) -> bool:
    path = wanted.rstrip("/").removesuffix("/SKILL.md")
    places = {entry.path, f"{entry.source}/{entry.path}", entry.path.rsplit("/", 1)[-1]}
    return wanted in (entry.skill_id, entry.skill_key, entry.name) or path in places


def _tell(entry: SkillEntry, history: History, store: Store, console: Console) -> None:
    views = [entry.by_rule, store.get(SkillClass, "model", entry.content_hash)]
    out = entry.state == "kept" and any(view is not None and view.actionable is False for view in views)
    state = "refused by a model" if out else entry.state
    colour = {"kept": "green", "removed": "yellow"}.get(state, "red")
    console.print(f"[bold]{plain(entry.name or entry.path)}[/]  [{colour}]{state}[/]", highlight=False)
    lines = [("place", f"{entry.source}: {entry.path}"), ("read", f"by ingest {entry.ingest} of {entry.collection}")]
    reject = store.get(SkillReject, "all", entry.reject_key) if entry.reject_key else None
    if reject:
        lines.append(("because", f"{reject.fault.value}: {reject.evidence}"))
    if entry.skill_id:
        lines += [("id", entry.skill_id), ("licence", entry.licence or "unknown")]
    if entry.language:
        lines.append(("language", entry.language))
    lines += [("class", _class(view)) for view in views if view is not None]
    skill = store.get(Skill, "all", entry.skill_key) if entry.skill_key else None
    lines += [("note", note) for note in (skill.notes if skill else ())]
    copies = [e for e in history.live() if e.cluster and e.cluster == entry.cluster and e.address != entry.address]
    lines += [("copies", f"{each.source}: {each.path} ({each.state})") for each in copies[:MOST_COPIES]]
    if len(copies) > MOST_COPIES:
        lines.append(("copies", f"and {len(copies) - MOST_COPIES} more"))
    for name, value in lines:
        console.print(f"  [dim]{name:9}[/]{plain(value)}", highlight=False)


def _class(view: SkillClass) -> str:
    answer = {True: "actionable", False: "not actionable", None: "open"}[view.actionable]
    where = f", {view.family.value} / {view.category}" if view.family else ""
    return f"{answer}{where}, by {view.decided_by}: {view.evidence}"


def show_stats(store: Store, console: Console) -> None:
    """Print the counts as tables with bars."""
    figures = stats_of(store)
    if not figures.found and not figures.removed:
        raise SettingsError("the store holds no skills yet: facet skills ingest")
    console.print(_bars("what is left after every step", dict(figures.funnel)))
    if figures.removed:
        console.print(f"{figures.removed:,} more were there once and have been removed")
    if line := outdated_line(figures):
        console.print(line.strip(), markup=False, highlight=False)
    for title, counts in (
        ("refused because", figures.reasons),
        ("kept, by family", figures.families),
        ("kept, by category", figures.categories),
        ("kept, by licence", figures.licences),
        ("language of all that could be read", figures.languages),
    ):
        console.print(_bars(title, dict(counts.most_common(MOST_ROWS))))
    sizes = {f"{size} copies": count for size, count in sorted(figures.clusters.items())}
    console.print(_bars("clusters of copies", sizes))


def _bars(title: str, counts: Mapping[str, int]) -> Table:
    table = Table(title, "count", "", box=None, title_justify="left")
    most = max([*counts.values(), 1])
    for name, count in counts.items():
        table.add_row(escape(name), f"{count:,}", "█" * round(BAR * count / most) or "▏")
    return table
