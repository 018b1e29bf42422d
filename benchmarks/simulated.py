"""The whole graph at the paper's size, the world simulated: python benchmarks/simulated.py [SEEDS ...] [--workers N]

Skills, seeds, construction, rollouts, datasets and reports through Dagster on a real store and instance; model and
container engine are simulated, take no time, and fail at the paper's rates (facet_dagster/testing). Measured, each
number of seeds (default 7852) in a process of its own: seconds and peak memory (all processes) by stage, what
the store and Dagster's partitions say otherwise than the book, once more after what met trouble was walked again, and
the funnel query after compaction. Construction and rollouts are runs of at most 250 seeds, `--workers` at a time, each
in a process of its own, as Dagster's queue makes the runs of a backfill (default: as many as CPUs); with one worker as
`facet run` does, and `--profile FILE` writes a profile of it for pstats.
"""

import argparse
import cProfile
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import dagster as dg
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from assets.partitions import scenario_seed
from facet_dagster import definitions as line
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import Settings
from facet_dagster.testing.fates import Rates, fate_of
from facet_dagster.testing.simulated_workshop import counts, differences, simulated_settings, simulated_workshop
from facet_dagster.yields.views import run_query
from resources.watching import NoOnlooker

RATES = Rates()
CALM = replace(RATES, trouble=0.0)  # the same fates, once the trouble is over


def main() -> int:
    """Print a figure a line; ends with 1 where anything differs from the book."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("seeds", nargs="*", type=int, default=[7_852])
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--profile", type=Path)
    asked.add_argument("--keep", type=Path, help="folder to work in, and to leave as it is")
    asked.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.child:
        return _measure(given.keep, given.seeds[0], given.workers, given.profile)
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    return max(_apart(given, seeds) for seeds in given.seeds)


def _apart(given: argparse.Namespace, seeds: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, str(seeds), "--child", "--workers", str(given.workers)]
        command += ["--keep", str(keep)]
        if given.profile:
            command += ["--profile", str(given.profile)]
        return subprocess.run(command).returncode


@dataclass(frozen=True)
class _Walk:
    """Where seeds are walked, and by how many runs at once."""

    folder: Path
    seeds: int
    workers: int

    def settings(self) -> Settings:
        return simulated_settings(self.folder, self.seeds)

    def made(self, names: Sequence[str], seeds: Sequence[str] | None = None, rates: Rates = RATES) -> None:
        """Materialise in this process, with a workshop of its own."""
        settings = self.settings()
        workshop = simulated_workshop(settings, rates, "simulated")
        overrides = {
            "workshop": line.Session(settings, workshop),
            "settings": settings,
            "store": workshop.store,
            "onlooker": NoOnlooker(),
        }
        with line.open_instance(settings.dagster_home) as instance:
            result = line.materialise(names, instance=instance, seeds=seeds, overrides=overrides)
        if result.trouble is not None:
            raise SystemExit(f"{names[0]}: {result.trouble.kind}: {result.trouble.message}")

    def stage(self, names: Sequence[str], seeds: Sequence[str], rates: Rates) -> None:
        """One stage of construction or rollouts by runs, so many at once as there are workers."""
        if self.workers == 1:
            return self.made(names, seeds, rates)
        runs = [seeds[start : start + line.SEEDS_PER_RUN] for start in range(0, len(seeds), line.SEEDS_PER_RUN)]
        with ProcessPoolExecutor(self.workers, mp_context=get_context("spawn")) as pool:
            list(pool.map(self.made, [names] * len(runs), runs, [rates] * len(runs)))


def _measure(folder: Path, seeds: int, workers: int, profile: Path | None) -> int:
    walk = _Walk(folder, seeds, workers)
    MEMORY.start()
    store, began, profiler = ParquetStore(walk.settings().store), time.monotonic(), cProfile.Profile()
    print(f"{seeds} seeds, {workers} run(s) at once", flush=True)
    if profile:
        profiler.enable()
    for names in (line.SKILLS, line.SEEDING):
        with _timed(names[0]):
            walk.made(names)
    every = [seed.seed_id for seed in store.rows(ScenarioSeed)]
    wrong = _walked(walk, store, every, first_walk=True)
    wrong += _walked(walk, store, [seed for seed in every if _troubled(seed)], first_walk=False)
    with _timed("compaction"):
        ParquetStore(walk.settings().store).compact()
    for names in (line.DATASETS, line.REPORTS):
        with _timed(names[0]):
            walk.made(names)
    if profile:
        profiler.disable()
        profiler.dump_stats(profile)
    with _timed("funnel query"):
        funnel = run_query(walk.settings().store, "funnel")
    print(funnel.to_string(index=False))
    minutes = (time.monotonic() - began) / 60
    print(
        f"all: {minutes:.1f} min, {1_000 * 60 * minutes / seeds:.0f} ms per seed, {len(store.keys(LedgerRow))} calls, "
        f"peak {MEMORY.peak:.2f} GB [7,852 seeds: <= 45 min, <= 1.5 GB]; different from the book: {len(wrong)}"
    )
    print("\n".join(wrong[:20]), flush=True)
    return int(bool(wrong))


def _walked(walk: _Walk, store: ParquetStore, seeds: Sequence[str], *, first_walk: bool) -> list[str]:
    again = "" if first_walk else f" of the {len(seeds)} that met trouble, again"
    if seeds:
        for names in (line.CONSTRUCTION, line.ROLLOUTS):
            with _timed(names[0] + again):
                walk.stage(names, seeds, RATES if first_walk else CALM)
    with _timed("comparison"), line.open_instance(walk.settings().dagster_home) as instance:
        found = differences(store, RATES, lambda c: _green(instance, c), first_walk=first_walk)
    print(f"  {dict(counts(store))}; different from the book: {len(found)}", flush=True)
    return found


def _troubled(seed: str) -> bool:
    fate = fate_of(seed, RATES)
    return fate.stalls or (fate.accepted and fate.rollout_trouble)


def _green(instance: line.Instance, component: Component) -> set[str]:
    """The partitions that Dagster shows as made, and not as failed since."""
    keys = instance.get_dynamic_partitions(scenario_seed.name or "")
    found = instance.get_status_by_partition(dg.AssetKey(component.value), keys, scenario_seed)
    return {key for key, status in (found or {}).items() if status is AssetPartitionStatus.MATERIALIZED}


class _Memory(threading.Thread):
    """The most memory that this process and its workers ever held together, looked at every second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = self._since = 0.0  # GB

    def run(self) -> None:
        while True:
            self.look()
            time.sleep(1)

    def look(self) -> None:
        held = sum(map(_held, (os.getpid(), *_children())))
        self.peak, self._since = max(self.peak, held), max(self._since, held)

    def of_stage(self) -> float:
        """The most since the last time that this was asked."""
        self.look()
        found, self._since = self._since, 0.0
        return found


MEMORY = _Memory()


def _held(process: int) -> float:
    """GB that a process holds; of pages that several share, each counts its part."""
    return int((_told(f"/proc/{process}/smaps_rollup").partition("Pss:")[2].split() or [0])[0]) / 1024**2


def _children() -> list[int]:
    tasks = list(Path("/proc/self/task").iterdir())
    return [int(child) for task in tasks for child in _told(f"{task}/children").split()]


def _told(file: str) -> str:
    """What the kernel tells; nothing of a process or thread that has ended."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@contextmanager
def _timed(what: str) -> Iterator[None]:
    wall, cpu = time.monotonic(), _cpu()
    yield
    took, used = time.monotonic() - wall, _cpu() - cpu
    print(f"  {what}: {took:.1f} s, {used:.1f} s CPU, {MEMORY.of_stage():.2f} GB", flush=True)


def _cpu() -> float:
    """Seconds, with those of workers that have ended."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main())
