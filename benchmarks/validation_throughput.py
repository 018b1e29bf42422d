"""One oracle and one no-op run per task, ours beside others: python benchmarks/validation_throughput.py TASKS [N ...]

TASKS is a folder of exported tasks (`facet run` writes data/out/tasks). Four ways, in turns within one run, for each
number N of tasks at a time (default 1 2 4): the gates G2 and G3 once each, as `facet validate` runs them; Harbor
(`-a oracle`, then `-a nop`) with init, which exported tasks bring along in their compose file; Harbor as shipped, which
has none (`init: false` in an extra compose file); and a loop of bare `docker` calls. Images are built before anything
is measured. Goals: ours at least 5 times as fast as Harbor as shipped, at least 3 times as Harbor with init, at most
1.3 times the time of the bare loop. `--without-harbor` leaves it out, `--rounds R` repeats (default 1; the median
counts).
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from facet_dagster.adapters.engine import connect
from facet_dagster.adapters.wiring import Engine, open_engine
from facet_dagster.audit.build import build_image
from facet_dagster.audit.load import load_folder
from facet_dagster.audit.run import bounded, in_image
from facet_dagster.environment.observe import difference, observe
from facet_dagster.ports import Sandbox
from facet_dagster.records.container import FileEntry
from facet_dagster.records.validation import Gate
from facet_dagster.testing.harbor_place import harbor_environment, public_stand_in
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.validate import validate

GATES = (Gate.NOOP, Gate.ORACLE)
NO_INIT = {"services": {"main": {"init": False}}}


def main() -> None:
    """Print seconds per task (oracle and no-op together) for each N, then the ratios."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("tasks", type=Path)
    asked.add_argument("in_flight", nargs="*", type=int, default=[1, 2, 4])
    asked.add_argument("--without-harbor", action="store_true")
    asked.add_argument("--rounds", type=int, default=1)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name, open_engine(f"bench-{os.getpid()}") as engine:
        folder = Path(name)
        candidates = asyncio.run(_candidates(given.tasks, engine))
        busy = os.getloadavg()[0]
        print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {busy:.1f}; {len(candidates)} tasks")
        files = {candidate.name: _written(candidate, folder / candidate.name) for candidate in candidates}
        if given.without_harbor:
            _compare(given, candidates, engine.sandbox, files, {})
            return
        with public_stand_in(connect(), folder) as options:
            _compare(given, candidates, engine.sandbox, files, _harbors(given.tasks, folder, options))


async def _candidates(tasks: Path, engine: Engine) -> list[Candidate]:
    """The tasks in their images."""
    ready = []
    for found in load_folder(tasks, ()):
        task = found.load()
        if task.candidate is None:
            raise SystemExit(f"{found.name} cannot be run: {'; '.join(task.obstacles)}")
        candidate = bounded(task.candidate, engine.cpus)
        built = await build_image(task, candidate, builder=engine.builder, stand_ins=engine.stand_ins)
        if not built.ok:
            raise SystemExit(f"{found.name} does not build: {built.log[-500:]}")
        ready.append(in_image(candidate, built, task))
    return ready


Way = Callable[[int], float]  # tasks at a time -> seconds for all of them


def _compare(
    given: argparse.Namespace,
    candidates: Sequence[Candidate],
    sandbox: Sandbox,
    files: dict[str, Path],
    others: dict[str, Way],
) -> None:
    ways: dict[str, Way] = {
        "ours": lambda n: asyncio.run(_ours(candidates, sandbox, n)),
        "bare docker": lambda n: _bare(candidates, files, n),
        **others,
    }
    for way in others.values():
        way(2)  # its own images and caches
    for n in given.in_flight:
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, way in ways.items():
                seconds[name].append(way(n))
        each = {name: statistics.median(found) / len(candidates) for name, found in seconds.items()}
        print(f"n={n}: " + ", ".join(f"{name} {value:.2f} s per task" for name, value in each.items()))
        goals = {"bare docker": "ours / bare {:.2f} x [<= 1.3]"}
        goals |= {
            "Harbor as shipped": "as shipped / ours {:.1f} x [>= 5]",
            "Harbor with init": "init / ours {:.1f} x [>= 3]",
        }
        ratios = {name: each[name] / each["ours"] for name in ways if name != "ours"}
        ratios["bare docker"] = 1 / ratios["bare docker"]
        print("  " + ", ".join(goals[name].format(ratio) for name, ratio in ratios.items()), flush=True)


async def _ours(candidates: Sequence[Candidate], sandbox: Sandbox, n: int) -> float:
    slots = asyncio.Semaphore(n)

    async def one(candidate: Candidate) -> None:
        async with slots:
            report = await validate(
                candidate, bundle="", sandbox=sandbox, repeats=1, controls_max=0,
                observe=observe, difference=difference, gates=GATES,
            )  # fmt: skip
        assert report.verdict is True, [gate.evidence for gate in report.gates]

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for candidate in candidates:
            group.create_task(one(candidate))
    return time.monotonic() - began


def _bare(candidates: Sequence[Candidate], files: dict[str, Path], n: int) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(n) as pool:
        for done in [pool.submit(_by_hand, candidate, files[candidate.name]) for candidate in candidates]:
            done.result()
    return time.monotonic() - began


def _by_hand(candidate: Candidate, files: Path) -> None:
    limits = candidate.limits
    run = [
        "docker",
        "run",
        "-d",
        "--init",
        "--network",
        "none",
        "--cpus",
        f"{limits.cpus:g}",
        "-m",
        f"{limits.memory_mb}m",
    ]
    for solved in (False, True):
        name = _said([*run, "--user", "root", candidate.image, "sleep", "infinity"])
        try:
            if solved:
                _said(["docker", "cp", f"{files}/solution", f"{name}:/solution"])
                solve = ["docker", "exec", "--user", candidate.user, "-w", candidate.workdir, name]
                _said([*solve, "bash", "/solution/solve.sh"])
            _said(["docker", "cp", f"{files}/tests", f"{name}:/tests"])
            _said(
                ["docker", "exec", "--user", "root", name, "sh", "-c", "mkdir -p /logs/verifier; /tests/test.sh; true"]
            )
            reward = _said(["docker", "exec", "--user", "root", name, "cat", "/logs/verifier/reward.json"])
        finally:
            _said(["docker", "rm", "-f", name])
        assert json.loads(reward)["reward"] == float(solved), f"{candidate.name}: {reward}"


def _harbors(tasks: Path, folder: Path, options: Sequence[str]) -> dict[str, Way]:
    environment = harbor_environment()
    no_init = folder / "no-init.yaml"
    no_init.write_text(json.dumps(NO_INIT), encoding="utf-8")

    def run(n: int, extra: Sequence[str]) -> float:
        began = time.monotonic()
        for agent in ("oracle", "nop"):
            jobs = ["-o", str(folder / "jobs"), "--job-name", f"{agent}-{time.time_ns()}"]
            command = [
                f"{environment['HARBOR']}/harbor",
                "run",
                "-p",
                str(tasks),
                "-a",
                agent,
                "-n",
                str(n),
                "-q",
                "-y",
            ]
            subprocess.run([*command, *options, *extra, *jobs], env=environment, check=True, capture_output=True)
        return time.monotonic() - began

    return {
        "Harbor as shipped": lambda n: run(n, ("--extra-docker-compose", str(no_init))),
        "Harbor with init": lambda n: run(n, ()),
    }


def _written(candidate: Candidate, folder: Path) -> Path:
    for file in (*candidate.solution, *candidate.tests):
        _write(file, folder)
    return folder


def _write(file: FileEntry, folder: Path) -> None:
    path = folder / file.path.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.data())
    path.chmod(file.mode | 0o555 if path.suffix == ".sh" else file.mode)


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
