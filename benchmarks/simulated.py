"""The whole graph at the paper's size, the world simulated: python benchmarks/simulated.py [SEEDS ...] [--batch N]

Skills, seeds, construction, rollouts, datasets and reports through Dagster on a real store and instance; model and
container engine are simulated, take no time, and fail at the paper's rates (facet_dagster/testing). Measured, each
number of seeds (default 7852) in a process of its own: seconds by stage, peak memory, what the store and Dagster's
partitions say otherwise than the book, once more after what met trouble was walked again, and the funnel query after
compaction. `--batch N`: construction and rollouts in runs of N seeds, as a backfill makes them; otherwise as
`facet run` does. `--profile FILE` writes a profile of the stages for pstats.
"""

import argparse
import cProfile
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from assets.partitions import scenario_seed
from facet_dagster import definitions as line
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.pipeline import find_seeds
from facet_dagster.records.outcome import Component
from facet_dagster.settings import Settings
from facet_dagster.testing.fates import Rates, fate_of
from facet_dagster.testing.simulated_workshop import counts, differences, simulated_settings, simulated_workshop
from facet_dagster.workshop import Workshop
from facet_dagster.yields.views import run_query
from resources.watching import NoOnlooker

RATES = Rates()


def main() -> int:
    """Print a figure a line; ends with 1 where anything differs from the book."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("seeds", nargs="*", type=int, default=[7_852])
    asked.add_argument("--batch", type=int, default=0)
    asked.add_argument("--profile", type=Path)
    asked.add_argument("--keep", type=Path, help="folder to work in, and to leave as it is")
    asked.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.child:
        return _measure(given.keep, given.seeds[0], given.batch, given.profile)
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    return max(_apart(given, seeds) for seeds in given.seeds)


def _apart(given: argparse.Namespace, seeds: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, str(seeds), "--child", "--batch", str(given.batch), "--keep", str(keep)]
        if given.profile:
            command += ["--profile", str(given.profile)]
        return subprocess.run(command).returncode


def _measure(folder: Path, seeds: int, batch: int, profile: Path | None) -> int:
    settings = simulated_settings(folder, seeds)
    workshop = simulated_workshop(settings, RATES, "simulated")
    began, profiler = time.monotonic(), cProfile.Profile()
    print(f"{seeds} seeds, {f'runs of {batch}' if batch else 'as `facet run`'}", flush=True)
    with line.open_instance(settings.dagster_home) as instance:
        if profile:
            profiler.enable()
        for names in (line.SKILLS, line.SEEDING, line.CONSTRUCTION, line.ROLLOUTS):
            _stage(names, settings, workshop, instance, batch)
        wrong = _compared(workshop, instance, first_walk=True)
        troubled = [seed.seed_id for seed in find_seeds(workshop) if _troubled(seed.seed_id)]
        for names in (line.CONSTRUCTION, line.ROLLOUTS):
            _stage(names, settings, workshop, instance, batch, again=troubled)
        wrong += _compared(workshop, instance, first_walk=False)
        with _timed("compaction"):
            ParquetStore(settings.store).compact()
        for names in (line.DATASETS, line.REPORTS):
            _stage(names, settings, workshop, instance, batch)
        if profile:
            profiler.disable()
            profiler.dump_stats(profile)
    with _timed("funnel query"):
        funnel = run_query(settings.store, "funnel")
    print(funnel.to_string(index=False))
    minutes = (time.monotonic() - began) / 60
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    calls = sum(workshop.model._inner.answered.values())
    print(
        f"all: {minutes:.1f} min, {1_000 * 60 * minutes / seeds:.0f} ms per seed, {calls} calls, "
        f"peak {peak:.2f} GB [7,852 seeds: <= 45 min, <= 1.5 GB]; different from the book: {len(wrong)}"
    )
    print("\n".join(wrong[:20]), flush=True)
    return int(bool(wrong))


def _stage(
    names: Sequence[str],
    settings: Settings,
    workshop: Workshop,
    instance: line.Instance,
    batch: int,
    again: Sequence[str] | None = None,
) -> None:
    overrides = {
        "workshop": line.Session(settings, workshop),
        "settings": settings,
        "store": workshop.store,
        "onlooker": NoOnlooker(),
    }
    partitioned = names in (line.CONSTRUCTION, line.ROLLOUTS)
    with _timed(names[0] if again is None else f"again {names[0]} of {len(again)}"):
        for seeds in _batches(workshop, batch, again) if partitioned else [None]:
            _made(names, instance, seeds, overrides)


def _made(
    names: Sequence[str], instance: line.Instance, seeds: Sequence[str] | None, overrides: Mapping[str, object]
) -> None:
    result = line.materialise(names, instance=instance, seeds=seeds, overrides=overrides)
    if result.trouble is not None:
        raise SystemExit(f"{names[0]}: {result.trouble.kind}: {result.trouble.message}")


def _troubled(seed: str) -> bool:
    fate = fate_of(seed, RATES)
    return fate.stalls or (fate.accepted and fate.rollout_trouble)


def _batches(workshop: Workshop, size: int, chosen: Sequence[str] | None) -> Iterator[Sequence[str]]:
    seeds = chosen if chosen is not None else [seed.seed_id for seed in find_seeds(workshop)]
    if not seeds:
        return
    for start in range(0, len(seeds), size or len(seeds)):
        yield seeds[start : start + (size or len(seeds))]


def _compared(workshop: Workshop, instance: line.Instance, *, first_walk: bool) -> list[str]:
    with _timed("comparison"):
        store = ParquetStore(workshop.store.files.root)
        found = differences(store, RATES, lambda c: _green(instance, c), first_walk=first_walk)
    print(f"  {dict(counts(store))}; different from the book: {len(found)}", flush=True)
    return found


def _green(instance: line.Instance, component: Component) -> set[str]:
    """The partitions that Dagster shows as made, and not as failed since."""
    keys = instance.get_dynamic_partitions(scenario_seed.name or "")
    found = instance.get_status_by_partition(dg.AssetKey(component.value), keys, scenario_seed)
    return {key for key, status in (found or {}).items() if status is AssetPartitionStatus.MATERIALIZED}


@contextmanager
def _timed(what: str) -> Iterator[None]:
    wall, cpu = time.monotonic(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"  {what}: {time.monotonic() - wall:.1f} s, {time.process_time() - cpu:.1f} s CPU; peak so far {peak:.2f} GB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
