"""Figures of a finished run, beside those of the paper and of its released pipeline: python benchmarks/figures.py

Reads the store that FACET_STORE names (the demo's by default) and says on which machine it was read. Seconds in a
store are those of the machine that made it; token counts are the endpoint's own.
"""

import os
import platform
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.authoring import Instruction, Verifier
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.environment import Environment
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import load

T = TypeVar("T")


def main() -> None:
    """Print one figure a line: ours, and in brackets what it is to be compared with."""
    store = ParquetStore(load(os.environ).store)
    seeds = store.rows(ScenarioSeed)
    last = {s.seed_id: max(store.rows(SeedOutcome, s.seed_id), key=lambda r: r.at, default=None) for s in seeds}
    accepted = [seed for seed, outcome in last.items() if outcome and outcome.status is Status.ACCEPTED]
    first = [seed for seed in accepted if (outcome := last[seed]) and outcome.first_pass]
    versions = {seed: store.rows(ComponentVersion, seed) for seed in last}
    environments = [next((v.body for v in vs if isinstance(v.body, Environment)), None) for vs in versions.values()]
    built = [e for e in environments if e is not None]
    construction = {
        seed: sum(
            row.prompt_tokens + row.completion_tokens
            for row in store.rows(LedgerRow, seed)
            if not row.station.startswith("rollout.")
        )
        for seed in last
    }
    trials = store.rows(Trial)
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs; store: {Path(load(os.environ).store).name}")
    print(
        f"seeds: {len(last)}; environments that built at once: {sum(e.build_repairs == 0 for e in built)}, "
        f"after repair: {sum(e.build_repairs > 0 for e in built)} [paper: 84.6%, then 95.7%]"
    )
    print(
        f"valid at the first pass: {len(first)}; in the end: {len(accepted)} [paper: 38.4%, 81.6% of those validated]"
    )
    if accepted:
        bodies = [_last(versions[s], Instruction).text for s in accepted]
        tests = [len(_last(versions[s], Verifier).tests) for s in accepted]
        print(f"words per instruction: {_mean(len(t.split()) for t in bodies)} [released pipeline: 1,143-1,288]")
        print(f"test functions per task: {_mean(tests)} [released pipeline: 7.8]")
        print(
            f"construction tokens of all seeds per accepted task: {sum(construction.values()) // len(accepted):,} "
            "[released pipeline: 98k]"
        )
        print(f"construction tokens of an accepted seed: {_mean(construction[s] for s in accepted)}")
    if trials:
        won = sum(t.success for t in trials)
        print(
            f"attempts of the teacher: {len(trials)}, successes: {won}, turns: {_mean(len(t.turns) for t in trials)} "
            "[paper: 20.9% of attempts, 11.86 turns]"
        )


def _last(versions: list[ComponentVersion], kind: type[T]) -> T:
    return next(v.body for v in reversed(versions) if isinstance(v.body, kind))


def _mean(values: Iterable[float]) -> str:
    return f"{statistics.mean(values):,.1f}"


if __name__ == "__main__":
    main()
