"""Watches the money of the day: warns when most of it is spent, and lets nothing more begin when all of it is.

Runs that are at work end by themselves: their ledger stops them at the next call. Days are those of UTC.
"""

import json
from datetime import datetime

import dagster as dg

from assets.maintenance import hold_queue, holdable
from facet_dagster.records.base import now
from facet_dagster.settings import Settings
from facet_dagster.yields.views import run_sql
from resources.owners import end_lost_runs
from sensors.schedules import is_under_way

WARN_AT = 0.8  # share of the day's budget
_SPENT = """
SELECT coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens
FROM calls WHERE NOT recorded AND "at" >= TIMESTAMPTZ '{day:%Y-%m-%d} 00:00:00+00'
"""


def spent_share(settings: Settings, at: datetime) -> dict[str, float]:
    """Share of the day's budget that is spent, by what is bounded (`usd`, `tokens`); empty where nothing is."""
    budget = settings.budget
    limits = {"usd": budget.day_usd, "tokens": budget.day_tokens}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if not given:
        return {}
    spent = run_sql(settings.store, _SPENT.format(day=at)).iloc[0]
    return {name: float(spent[name]) / limit if limit else 1.0 for name, limit in given.items()}


def why_not(settings: Settings) -> str:
    """Why nothing that costs money should begin now; empty where it may."""
    share = max(spent_share(settings, now()).values(), default=0.0)
    return f"the day's budget is spent ({share:.0%}): raise FACET_BUDGET_DAY_USD or wait" if share >= 1 else ""


@dg.sensor(
    job=hold_queue,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Warns on cost_report's page at 80 % of the day's budget; has waiting runs cancelled when it is spent.",
)
def budget_watch(
    context: dg.SensorEvaluationContext, settings: dg.ResourceParam[Settings]
) -> dg.SensorResult | dg.SkipReason:
    """Warns once per day and level; asks for a hold as long as runs that it would cancel come into the queue."""
    end_lost_runs(context.instance)
    shares = spent_share(settings, now())
    if not shares:
        return dg.SkipReason("no budget per day is set: FACET_BUDGET_DAY_USD, FACET_BUDGET_DAY_TOKENS")
    name, share = max(shares.items(), key=lambda item: item[1])
    if share < WARN_AT:
        return dg.SkipReason(f"{share:.0%} of the day's {name} are spent")
    level = "spent" if share >= 1 else "warned"
    told = {"day": f"{now():%Y-%m-%d}", "level": level}
    news = json.loads(context.cursor or "{}") != told
    held = is_under_way(context.instance, hold_queue.name) or not holdable(context.instance)
    hold = [dg.RunRequest()] if share >= 1 and not held else []
    if not news and not hold:
        return dg.SkipReason(f"{share:.0%} of the day's {name} are spent, as was said")
    context.log.warning(f"{share:.0%} of the day's {name} are spent")
    shown = dg.AssetObservation(
        "cost_report", metadata={"budget": level, **{f"share_of_{key}": value for key, value in shares.items()}}
    )
    return dg.SensorResult(run_requests=hold, asset_events=[shown] if news else [], cursor=json.dumps(told))
