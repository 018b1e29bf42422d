"""What the sensors that ask for work on seeds share: who is at work already, how often was asked, how much at a time.

All of it is read from the instance, so that nothing is lost or asked for twice when the daemon starts anew.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from assets.partitions import BATCH, scenario_seed

ASKED_BY = "facet/asked_by"  # tag of a run: the sensor that asked for it
PER_TICK = 500
"""Seeds that are asked for at a time; the rest comes with later ticks, so that none takes long."""
MOST_WAITING = 20
"""Runs of one sensor in the queue, above which it waits: what is asked for late can still be left."""
MOST_TIMES = 3
"""How often a day one sensor asks for one seed: what trouble stopped is tried again, but not for ever."""
_DAY = timedelta(days=1)
_START, _END, _ONE = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end", "dagster/partition"
WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED]
UNFINISHED = [
    *WAITING,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True)
class Queue:
    """What the instance knows of work on seeds. `registered` is in the order of registration; `waiting` and
    `unfinished` count the sensor's own runs.
    """

    asked_by: str
    registered: tuple[str, ...]
    at_work: frozenset[str]
    times: Counter[str]
    waiting: int
    unfinished: int

    @classmethod
    def look(cls, instance: dg.DagsterInstance, asked_by: str) -> "Queue":
        """As it is now."""
        registered = tuple(instance.get_dynamic_partitions(scenario_seed.name or ""))
        places = {seed: place for place, seed in enumerate(registered)}
        unfinished = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
        mine = dg.RunsFilter(tags={ASKED_BY: asked_by}, created_after=datetime.now(UTC) - _DAY)
        return cls(
            asked_by=asked_by,
            registered=registered,
            at_work=frozenset(seed for run in unfinished for seed in _seeds_of(run, registered, places)),
            times=Counter(seed for run in instance.get_runs(mine) for seed in _seeds_of(run, registered, places)),
            waiting=sum(run.status in WAITING and run.tags.get(ASKED_BY) == asked_by for run in unfinished),
            unfinished=sum(run.tags.get(ASKED_BY) == asked_by for run in unfinished),
        )

    def free(self, seeds: Sequence[str]) -> list[str]:
        """Those that nobody works on and that were not asked for too often, as many as one tick may ask for."""
        known = set(self.registered)
        return [s for s in seeds if s in known and s not in self.at_work and self.times[s] < MOST_TIMES][:PER_TICK]

    def given_up(self, seeds: Sequence[str]) -> int:
        """How many are not asked for any more today."""
        return sum(seed not in self.at_work and self.times[seed] >= MOST_TIMES for seed in seeds)

    def request_stretches(self, seeds: Sequence[str]) -> Iterator[dg.RunRequest]:
        """One request per contiguous stretch of partitions, as a backfill would make them: cells show as planned."""
        wanted, stretch = set(seeds), list[str]()
        for seed in (*self.registered, None):
            if seed in wanted and len(stretch) < BATCH:
                stretch.append(str(seed))
                continue
            if stretch:
                yield self._request(stretch)
            stretch = [str(seed)] if seed in wanted else []

    def request_lists(self, op: str, seeds: Sequence[str]) -> Iterator[dg.RunRequest]:
        """Requests that hand their seeds, however scattered, to an op of assets/seed_lists.py."""
        for start in range(0, len(seeds), BATCH):
            config = {"ops": {op: {"config": {"seeds": list(seeds[start : start + BATCH])}}}}
            yield dg.RunRequest(run_config=config, tags={ASKED_BY: self.asked_by})

    def _request(self, stretch: Sequence[str]) -> dg.RunRequest:
        tags = {ASKED_BY: self.asked_by}
        if len(stretch) == 1:
            return dg.RunRequest(partition_key=stretch[0], tags=tags)
        return dg.RunRequest(tags={**tags, _START: stretch[0], _END: stretch[-1]})


def backfill_under_way(instance: dg.DagsterInstance) -> bool:
    """Whether a person's backfill has not ended: nobody can tell the seeds that it has yet to ask for."""
    return any(backfill.status.value == "REQUESTED" for backfill in instance.get_backfills(limit=20))


def _seeds_of(run: dg.DagsterRun, registered: Sequence[str], places: dict[str, int]) -> Sequence[str]:
    """The seeds that a run works on, by its partition, its range or its list."""
    if _ONE in run.tags:
        return [run.tags[_ONE]]
    if _START in run.tags:
        first, last = places.get(run.tags[_START]), places.get(run.tags[_END])
        return registered[first : last + 1] if first is not None and last is not None else ()
    ops: Mapping[str, Any] = run.run_config.get("ops", {})  # type: ignore[assignment]  # declared as object
    return [seed for op in ops.values() for seed in op.get("config", {}).get("seeds", [])]
