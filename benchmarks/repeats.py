"""Do verdicts repeat, and what do the tests let through: python benchmarks/repeats.py [REPEATS] [SEED ...]

For the accepted tasks of the store that FACET_STORE names (the demo's by default), or those of the seeds named: so
many gradings of the untouched initial state and of the solution's final state (20 by default), each in a fresh
container without network, and every negative control that can be made, not only the first eight of validation. Beside
it stands what was measured of the released pipeline with a strong model.
"""

import asyncio
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.environment.observe import difference, observe
from facet_dagster.makers import Bench
from facet_dagster.records.validation import Gate, GradeReport, ValidationReport
from facet_dagster.settings import load
from facet_dagster.tasks import accepted_benches
from facet_dagster.validation.validate import validate

GATES = (Gate.NOOP, Gate.ORACLE, Gate.CONTROLS)
EVERY_CONTROL = 1_000  # more than can be made of any task
RELEASED_KILL_RATE = 0.92
RELEASED = (
    f"released pipeline: kill rate {RELEASED_KILL_RATE}, 1 of 5 no-ops executed no assertion, 0 of 6 graded offline"
)


@dataclass(frozen=True)
class Repeated:
    """What one task showed; `same` are the two kinds of runs, both complete and identical per test."""

    same: bool
    asserted: bool  # every no-op executed a test
    killed: int
    decided: int


def main(repeats: int, seeds: Sequence[str]) -> None:
    """Print one line per task, then all of them beside the released pipeline."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs; {repeats} no-op and {repeats} oracle runs per task")
    with open_workshop(load(os.environ), run_id=f"bench-{os.getpid()}") as workshop:
        benches = [bench for bench in accepted_benches(workshop) if not seeds or bench.seed.seed_id in seeds]
        tasks = [asyncio.run(_measure(bench, repeats)) for bench in benches]
    if not tasks:
        print("no accepted task in this store")
        return
    killed, decided = sum(task.killed for task in tasks), sum(task.decided for task in tasks)
    print(
        f"{len(tasks)} tasks: {sum(task.same for task in tasks)} with identical results in all runs, "
        f"{sum(not task.asserted for task in tasks)} with a no-op without an executed assertion, "
        f"kill rate {_share(killed, decided)}"
    )
    print(RELEASED)


async def _measure(bench: Bench, repeats: int) -> Repeated:
    await bench.ensure_image()
    candidate = bench.candidate()
    report = await validate(
        candidate,
        bundle=bench.bundle(),
        sandbox=bench.workshop.sandbox,
        repeats=repeats,
        controls_max=EVERY_CONTROL,
        observe=observe,
        difference=difference,
        gates=GATES,
    )
    decided = [control for control in report.controls if control.killed is not None]
    found = Repeated(
        same=_identical(report.noop_runs, repeats) and _identical(report.oracle_runs, repeats),
        asserted=bool(report.noop_runs) and all(run.executed > 0 for run in report.noop_runs),
        killed=sum(control.killed is True for control in decided),
        decided=len(decided),
    )
    print(
        f"{candidate.name}: no-op {_said(report.noop_runs, repeats)}, oracle {_said(report.oracle_runs, repeats)}; "
        f"kill rate {_share(found.killed, found.decided)}, {len(report.controls) - found.decided} controls void or open"
    )
    for line in _remarks(report):
        print(f"  {line}")
    return found


def _identical(runs: Sequence[GradeReport], repeats: int) -> bool:
    """All were made, each with a reward, and reward and every test's result are the same."""
    return len(runs) == repeats and None not in {run.reward for run in runs} and len(_results(runs)) == 1


def _results(runs: Sequence[GradeReport]) -> set[tuple[float | None, tuple[tuple[str, str], ...]]]:
    return {(run.reward, run.outcomes()) for run in runs}


def _said(runs: Sequence[GradeReport], repeats: int) -> str:
    how = "identical" if _identical(runs, repeats) else f"{len(_results(runs))} different results"
    return f"{len(runs)} of {repeats} runs, {how}"


def _share(killed: int, decided: int) -> str:
    return f"{killed / decided:.3f} ({killed} of {decided})" if decided else "– (no control was decided)"


def _remarks(report: ValidationReport) -> list[str]:
    """Why runs are missing, and what the tests let through."""
    stopped = report.failed_gate()
    first = [f"{stopped.gate.value}: {stopped.evidence.splitlines()[0]}"] if stopped and stopped.evidence else []
    survived = [f"survived: {c.path} ({c.kind.value}): {c.what}" for c in report.controls if c.killed is False]
    skipped = [f"{gate.gate.value} skipped: {gate.why}" for gate in report.skipped]
    return [*first, *survived, *skipped]


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 20, sys.argv[2:])
