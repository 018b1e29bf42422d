"""What a backfill will take, projected from the ledger of seeds that have ended: calls, tokens, US dollars, hours.

Belongs here: history to projection. Whose prices and how many seeds is the caller's; nothing is asked of a model.
"""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from facet_dagster.records.call import Role
from facet_dagster.yields.views import run_sql

Prices = Mapping[Role, tuple[float, float]]
CONFIDENCE = 0.9
_ROLLOUT = "rollout"  # the station
_FEW = 3  # seeds with which no interval is given
_ENDED = """
    SELECT seed FROM outcomes GROUP BY seed HAVING arg_max(status, "at") <> 'pending'
"""
_CALLS = f"""
SELECT subject AS seed, split_part(station, '.', 1) AS station, role,
    count(*) AS calls, sum(prompt_tokens)::DOUBLE AS prompt, sum(completion_tokens)::DOUBLE AS completion,
    sum(cost_usd) AS usd, count(*) FILTER (WHERE recorded) AS recorded, count(*) FILTER (WHERE estimated) AS estimated
FROM calls
WHERE subject IN ({_ENDED})
GROUP BY ALL
"""
_SECONDS = f"""
SELECT seed, accepted, coalesce(made.seconds, 0) AS construction, coalesce(tried.seconds, 0) AS rollouts,
    coalesce(tried.attempts, 0) AS attempts
FROM (SELECT seed, arg_max(status, "at") = 'accepted' AS accepted FROM outcomes GROUP BY seed)
SEMI JOIN ({_ENDED}) USING (seed)
LEFT JOIN (SELECT seed, sum(seconds) AS seconds FROM components GROUP BY seed) AS made USING (seed)
LEFT JOIN (
    SELECT seed, sum(seconds) AS seconds, count(DISTINCT attempt) AS attempts
    FROM (SELECT *, json_extract_string(record, '$.engine') = 'harbor' AS by_harbor FROM trials)
    SEMI JOIN (  -- imported ones were paid for elsewhere
        SELECT subject AS seed, station = 'rollout.harbor' AS by_harbor FROM calls WHERE station LIKE 'rollout.%'
    ) USING (seed, by_harbor)
    GROUP BY seed
) AS tried USING (seed)
"""
_TODAY = """
SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::DOUBLE AS tokens, coalesce(sum(cost_usd), 0) AS usd
FROM calls
WHERE NOT recorded AND CAST("at" AT TIME ZONE 'UTC' AS DATE) = CAST(now() AT TIME ZONE 'UTC' AS DATE)
"""
_STATUS = """
SELECT seed_id AS seed, status, rounds FROM seeds
LEFT JOIN (
    SELECT seed AS seed_id, arg_max(status, "at") AS status, arg_max(rounds, "at") AS rounds
    FROM outcomes
    GROUP BY seed
) USING (seed_id)
"""


@dataclass(frozen=True)
class Range:
    """What is expected, and its bounds in nine cases of ten; no bounds where too little is known."""

    expected: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class StationPlan:
    """One station of the line, for all seeds together."""

    station: str
    calls: Range
    tokens: Range
    usd: Range


@dataclass(frozen=True)
class Plan:
    """A projection for `seeds` seeds from `history` seeds that have ended; `stations` end with their sum.

    `replayed` calls of the history took no time of a model, `estimated` ones have no token counts of the endpoint, and
    `unpriced` roles have no price. `hours` is wall time under the given seeds and trials in flight. Rollouts are those
    of the `tried` accepted seeds, at the attempts asked for now; `untried` accepted ones are taken to be like them.
    """

    seeds: int
    history: int
    stations: tuple[StationPlan, ...]
    hours: Range | None
    calls: int
    replayed: int
    estimated: int
    unpriced: tuple[str, ...]
    tried: int
    untried: int

    def as_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Waiting:
    """Seeds of a store by where they stand; `used_up` are rejected ones without a repair round left."""

    not_begun: int
    pending: int
    rejected: int
    used_up: int


def waiting(store: str, task_repairs: int) -> Waiting:
    """How many seeds of a store wait, and for what."""
    frame = run_sql(store, _STATUS)
    rejected = frame[frame["status"] == "rejected"]
    return Waiting(
        not_begun=int(frame["status"].isna().sum()),
        pending=int((frame["status"] == "pending").sum()),
        rejected=len(rejected),
        used_up=int((rejected["rounds"] >= task_repairs).sum()),
    )


def paid_today(store: str) -> tuple[int, float]:
    """Tokens and US dollars that all runs on the store have paid for today (UTC)."""
    (row,) = run_sql(store, _TODAY).to_dict("records")
    return int(row["tokens"]), float(row["usd"])


def plan(store: str, seeds: int, prices: Prices, *, seeds_in_flight: int, trials_in_flight: int, attempts: int) -> Plan:
    """Project what so many seeds will take, each as one that has ended took: its repairs and rollouts included.

    Calls of roles with a price are priced anew, also replayed ones; those without keep what the ledger says. What the
    attempts of a seed took is scaled to `attempts`; accepted seeds without any count with the mean of those that have.
    """
    calls, seconds = run_sql(store, _CALLS), run_sql(store, _SECONDS).set_index("seed")
    calls["tokens"] = calls["prompt"] + calls["completion"]
    calls["usd"] = pd.Series([_priced(row, prices) for row in calls.to_dict("records")], dtype=float)
    per_seed: dict[str, pd.DataFrame] = {}
    for name, group in calls.groupby("station"):
        taken = group.groupby("seed")[["calls", "tokens", "usd"]].sum().reindex(seconds.index, fill_value=0)
        per_seed[str(name)] = _rolled_out(taken, seconds, attempts) if name == _ROLLOUT else taken
    if per_seed:
        per_seed["all stations"] = sum(list(per_seed.values())[1:], next(iter(per_seed.values())))
    rollouts = _rolled_out(seconds[["rollouts"]], seconds, attempts)["rollouts"]
    wall = seconds["construction"] / seeds_in_flight + rollouts / trials_in_flight
    accepted, tried = seconds["accepted"].astype(bool), seconds["attempts"] > 0
    return Plan(
        seeds=seeds,
        history=len(seconds),
        stations=tuple(_station(name, taken, seeds) for name, taken in per_seed.items()),
        hours=_project(wall.to_numpy(float) / 3_600, seeds) if len(seconds) else None,
        calls=int(calls["calls"].sum()),
        replayed=int(calls["recorded"].sum()),
        estimated=int(calls["estimated"].sum()),
        unpriced=tuple(sorted(role for role in set(calls["role"]) if Role(role) not in prices)),
        tried=int((accepted & tried).sum()),
        untried=int((accepted & ~tried).sum()),
    )


def _rolled_out(taken: pd.DataFrame, seconds: pd.DataFrame, attempts: int) -> pd.DataFrame:
    """What the rollouts of each seed take at so many attempts: nothing where no task was accepted."""
    accepted, made = seconds["accepted"].astype(bool), seconds["attempts"]
    tried = accepted & (made > 0)
    scaled = taken[tried].mul(attempts / made[tried], axis=0)
    whole = scaled.reindex(taken.index, fill_value=0.0)
    if tried.any():
        whole.loc[accepted & ~tried] = scaled.mean().to_numpy()
    return whole


def _priced(row: Mapping[Hashable, Any], prices: Prices) -> float:
    prompt, completion = prices.get(Role(row["role"]), (None, None))
    if prompt is None or completion is None:
        return float(row["usd"])
    return float(row["prompt"] * prompt + row["completion"] * completion) / 1e6


def _station(name: str, per_seed: pd.DataFrame, seeds: int) -> StationPlan:
    """A seed that never came to this station counts with nothing."""
    ranges = {str(column): _project(per_seed[column].to_numpy(float), seeds) for column in per_seed.columns}
    return StationPlan(station=name, **ranges)


def _project(values: NDArray[np.float64], seeds: int) -> Range:
    """The sum over so many further seeds; how little the history says and how seeds differ both widen it."""
    expected = float(values.mean() * seeds)
    known = len(values)
    if known < _FEW:
        return Range(expected, None, None)
    spread = values.std(ddof=1) * np.sqrt(seeds + seeds**2 / known)
    from scipy.stats import t  # 50 MB that nothing else here needs

    half = float(t.ppf((1 + CONFIDENCE) / 2, known - 1) * spread)
    return Range(expected, max(0.0, expected - half), expected + half)
