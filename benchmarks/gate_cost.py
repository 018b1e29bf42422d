"""What one check and a whole gate cost beside the same commands by hand: benchmarks/gate_cost.py [REPEATS] [SEED ...]

For the accepted tasks of the store that FACET_STORE names (the demo's by default), or those of the seeds named. One
check is a grading run on the initial state; beside it, in turns, a bare `docker run`, `docker cp`, `docker exec` and
`docker rm` of the same image and tests. A whole gate is one validation as `facet run` makes it; its container starts
are counted.
"""

import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path

from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.makers import Bench
from facet_dagster.ports import Sandbox
from facet_dagster.records.container import FileEntry
from facet_dagster.settings import load
from facet_dagster.tasks import accepted_benches
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.counting import CountingSandbox
from facet_dagster.validation.grade import grade


def main(repeats: int, seeds: Sequence[str]) -> None:
    """Print one line per task, then the ratio over all."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs; {repeats} checks of each kind per task, in turns")
    with open_workshop(load(os.environ), run_id=f"bench-{os.getpid()}") as workshop:
        benches = [bench for bench in accepted_benches(workshop) if not seeds or bench.seed.seed_id in seeds]
        ratios = [asyncio.run(_measure(bench, repeats)) for bench in benches]
    if ratios:
        print(f"one check, ours against by hand, median over {len(ratios)} tasks: {statistics.median(ratios):.2f} x")


async def _measure(bench: Bench, repeats: int) -> float:
    await bench.ensure_image()
    candidate, sandbox = bench.candidate(), CountingSandbox(bench.workshop.sandbox)
    ours, by_hand = [], []
    for _ in range(repeats):
        ours.append(await _timed(_check(candidate, sandbox)))
        by_hand.append(_by_hand(candidate))
    sandbox.starts, began = 0, time.monotonic()
    report = await _counted(bench, sandbox).validate()
    seconds = time.monotonic() - began
    ratio = statistics.median(ours) / statistics.median(by_hand)
    print(
        f"{candidate.name}: check {statistics.median(ours):.2f} s, by hand {statistics.median(by_hand):.2f} s, "
        f"{ratio:.2f} x; whole gate {sandbox.starts} container starts, {seconds:.0f} s, verdict {report.verdict}"
    )
    return ratio


def _counted(bench: Bench, sandbox: CountingSandbox) -> Bench:
    return replace(bench, workshop=replace(bench.workshop, sandbox=sandbox))


async def _check(candidate: Candidate, sandbox: Sandbox) -> None:
    report = await grade(
        candidate.image,
        candidate.name,
        candidate.tests,
        sandbox=sandbox,
        limits=candidate.limits,
        timeout_s=candidate.grade_timeout_s,
    )
    assert report.reward == 0.0, report.trouble


async def _timed(work: Awaitable[None]) -> float:
    began = time.monotonic()
    await work
    return time.monotonic() - began


def _by_hand(candidate: Candidate) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tests = _written(candidate.tests, Path(folder))
        began = time.monotonic()
        run = ["docker", "run", "-d", "--init", "--network", "none", "--cpus", f"{candidate.limits.cpus:g}"]
        name = _said([*run, "--user", "root", candidate.image, "sleep", "infinity"])
        try:
            _said(["docker", "cp", f"{tests}/.", f"{name}:/tests"])
            subprocess.run(
                ["docker", "exec", "--user", "root", name, "/tests/test.sh"], capture_output=True, check=False
            )
        finally:
            _said(["docker", "rm", "-f", name])
        return time.monotonic() - began


def _written(files: Sequence[FileEntry], folder: Path) -> Path:
    for file in files:
        path = folder / file.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data())
        path.chmod(file.mode)
    return folder / "tests"


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5, sys.argv[2:])
