"""`facet plan`: what a backfill will take before it starts, from what the ledger says of seeds that have ended."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from facet_dagster.cli.files import check_target, write_file
from facet_dagster.records.call import Role
from facet_dagster.settings import Settings
from facet_dagster.yields.planning import Plan, Range, StationPlan, paid_today, plan, waiting

_NO_HISTORY = """\
No seed of this store has ended: its ledger says nothing about what one takes, so nothing is projected.
What papers report:
  FACET (arXiv 2608.18580)            4.14 min for the three calls that write a task; neither tokens nor money
  Terminal-World (arXiv 2605.20876)   0.17 USD per environment and trajectory
  SkillSynth (arXiv 2604.25727)       27.3 USD per verified task
Construct a few seeds first (`facet run --seed SEED`), then ask again."""


def show_plan(settings: Settings, console: Console, seeds: int | None, failed: bool, json_file: Path | None) -> None:
    """Print the projection for so many seeds, the failed ones, or those that are not begun. Raises SettingsError."""
    check_target(json_file)
    there = waiting(settings.store, settings.construction.task_repairs)
    if seeds is not None:
        count, which = seeds, "seeds"
    elif failed:
        count, which = there.pending + there.rejected - there.used_up, "seeds to be tried again"
    else:
        count, which = there.not_begun, "seeds that are not begun"
    prices = {role: (price.prompt, price.completion) for role in Role if (price := settings.models.price(role))}
    found = plan(
        settings.store,
        count,
        prices,
        seeds_in_flight=settings.construction.seeds_in_flight,
        trials_in_flight=settings.rollouts.in_flight,
        attempts=settings.rollouts.attempts,
    )
    console.print(f"{count:,} {which}, from {found.history:,} that have ended", highlight=False)
    if found.history:
        console.print(_table(found))
    for line in _remarks(settings, found, failed=failed, used_up=there.used_up):
        console.print(line, highlight=False, markup=False)
    if json_file is not None:
        write_file(json_file, json.dumps(found.as_json(), indent=2).encode() + b"\n")


def _table(found: Plan) -> Table:
    figures = ("calls", "tokens", "USD", "USD, 9 of 10")
    table = Table("station", *(Column(name, justify="right", no_wrap=True) for name in figures), box=None)
    for each in found.stations:
        table.add_row(
            each.station,
            f"{each.calls.expected:,.0f}",
            f"{each.tokens.expected:,.0f}",
            f"{each.usd.expected:,.2f}",
            _between(each.usd, ",.2f"),
        )
    return table


def _between(each: Range, form: str) -> str:
    return "" if each.low is None or each.high is None else f"{each.low:{form}} - {each.high:{form}}"


def _remarks(settings: Settings, found: Plan, *, failed: bool, used_up: int) -> list[str]:
    if not found.history or found.hours is None:
        return [_NO_HISTORY]
    hours, total = found.hours, found.stations[-1] if found.stations else None
    construction, rollouts = settings.construction.seeds_in_flight, settings.rollouts.in_flight
    between = _between(hours, ",.2f")
    lines = [
        f"wall time: {hours.expected:,.2f} hours{f' ({between})' if between else ''} with {construction} seeds and "
        f"{rollouts} trials in flight"
    ]
    if not between:
        lines.append(f"{found.history} seed(s) say nothing about how much seeds differ: no interval is given")
    if failed:
        lines.append("an upper bound: what these seeds have is kept, and only what is missing is made")
    if failed and used_up:
        lines.append(
            f"{used_up:,} rejected seed(s) have no repair round left and are left out; task_repairs gives more"
        )
    if found.replayed:
        lines.append(
            f"{found.replayed:,} of {found.calls:,} calls were replayed: their tokens are a model's, but no time was "
            "waited for one, so the wall time is too short"
        )
    if found.estimated:
        lines.append(
            f"{found.estimated:,} of {found.calls:,} calls have estimated token counts: the endpoint gave none"
        )
    if found.unpriced:
        lines.append(
            f"no price is set for {', '.join(found.unpriced)} (FACET_PRICE_{found.unpriced[0].upper()}): what the "
            "ledger says that was paid is taken for it"
        )
    if found.untried and found.tried:
        lines.append(
            f"{found.untried:,} accepted seed(s) have no trials yet: taken to be like the {found.tried:,} that have"
        )
    elif found.untried:
        lines.append("no accepted seed has trials yet: what rollouts take is unknown and in none of these figures")
    return lines + ([] if total is None else _stops(settings, total))


def _stops(settings: Settings, total: StationPlan) -> list[str]:
    """Which limits the projection goes beyond, or may; of those of a day, what is left today counts."""
    budget = settings.budget
    tokens, usd = (
        paid_today(settings.store) if budget.day_tokens is not None or budget.day_usd is not None else (0, 0.0)
    )
    lines = []
    for name, limit, paid, each in (
        ("FACET_BUDGET_USD", budget.usd, 0.0, total.usd),
        ("FACET_BUDGET_TOKENS", budget.tokens, 0, total.tokens),
        ("FACET_BUDGET_DAY_USD", budget.day_usd, usd, total.usd),
        ("FACET_BUDGET_DAY_TOKENS", budget.day_tokens, tokens, total.tokens),
    ):
        if limit is None:
            continue
        left = max(0.0, limit - paid)
        said = f"{name} = {limit:,.10g}" + (f" ({paid:,.10g} of it are paid today)" if paid else "")
        if each.expected > left:
            lines.append(f"more than {said} allows: the run will stop there and can be gone on with")
        elif each.high is not None and each.high > left:
            lines.append(f"{said}: the run may stop there, and can be gone on with")
    return lines
