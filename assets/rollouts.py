"""Rollouts: the teacher's attempts on each accepted task, one cell per scenario seed."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

import dagster as dg

from assets.catalogue import CODE_VERSIONS
from assets.markdown import table
from assets.partitions import BATCHES, scenario_seed
from assets.provenance import pointed, versions
from assets.streaming import Event, Put, stream
from assets.trouble import shared
from facet_dagster.construction import TROUBLE
from facet_dagster.records.base import digest_of
from facet_dagster.records.rollout import Trial
from facet_dagster.side_by_side import to_their_ends
from resources.doors import Doors
from resources.watching import Onlooker
from resources.workshop import Session


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "trajectories",
            deps=["task"],
            description="The teacher's attempts on the accepted task, graded; not made where there is no such task.",
            skippable=True,
            group_name="rollouts",
            kinds={"openai", "docker"},
        )
    ],
    partitions_def=scenario_seed,
    backfill_policy=BATCHES,
)
def trajectories(
    context: dg.AssetExecutionContext,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[Event]:
    """Roll out every seed of the run."""
    yield from roll_out_seeds(context.partition_keys, context.instance, workshop, doors, onlooker)


def roll_out_seeds(
    seed_ids: Sequence[str], instance: dg.DagsterInstance, session: Session, doors: Doors, onlooker: Onlooker
) -> Iterator[Event]:
    """So many attempts at a time; a seed in trouble leaves the others untouched. Raises dg.Failure where there was."""
    bench = session.workshop
    slots = asyncio.Semaphore(bench.rollouts.in_flight)
    troubles: dict[str, str] = {}
    kinds: dict[str, str] = {}

    async def one(seed: str, put: Put) -> None:
        try:
            trials = await doors.roll_out(seed, bench, slots)
        except TROUBLE as trouble:
            trials, kinds[seed] = [], type(trouble).__name__
            troubles[seed] = f"{kinds[seed]}: {trouble}"
        open_ones = [trial for trial in trials if trial.grade is None]
        if open_ones:
            kinds[seed] = open_ones[0].stop.value
            troubles[seed] = f"{len(open_ones)} of {len(trials)} attempts have no grade: {kinds[seed]}"
        put(_event(seed, trials, troubles.get(seed)))
        onlooker.note(f"{seed} rolled out: {_summary(trials, troubles.get(seed))}")

    async def work(put: Put) -> None:
        await to_their_ends(one(seed, put) for seed in seed_ids)

    yield from pointed(stream(work), instance)
    if troubles:
        raise dg.Failure(
            description=f"{len(troubles)} of {len(seed_ids)} seeds are to be tried again; the others are done",
            metadata={
                "seeds": table(("seed", "trouble"), troubles.items()),
                **shared(list(kinds.values()), len(seed_ids)),
            },
            allow_retries=False,
        )


def _event(seed: str, trials: Sequence[Trial], trouble: str | None) -> Event:
    if trouble or not trials:
        said = {"status": "pending" if trouble else "skipped", "evidence": trouble or "the seed has no accepted task"}
        return dg.AssetObservation("trajectories", partition=seed, metadata=said)
    return dg.AssetMaterialization(
        "trajectories",
        partition=seed,
        metadata={
            "dagster/partition_row_count": len(trials),
            "attempts": len(trials),
            "successes": sum(trial.success for trial in trials),
            "turns": sum(len(trial.turns) for trial in trials),
            "tokens": sum(trial.tokens for trial in trials),
            "cost_usd": float(sum(trial.cost_usd for trial in trials)),
            "seconds": float(sum(trial.seconds for trial in trials)),
            "trials": table(
                ("attempt", "model", "reward", "stop", "turns", "seconds"),
                ((t.attempt, t.model, t.reward, t.stop, len(t.turns), round(t.seconds, 1)) for t in trials),
            ),
        },
        tags=versions(
            CODE_VERSIONS["rollouts"],
            digest_of("\n".join(trial.digest() for trial in trials)),
            {"task": trials[-1].bundle},
        ),
    )


def _summary(trials: Sequence[Trial], trouble: str | None) -> str:
    if trouble or not trials:
        return trouble or "skipped, no accepted task"
    stops = Counter(trial.stop.value for trial in trials)
    return f"{sum(t.success for t in trials)} of {len(trials)} succeeded ({', '.join(stops)})"
