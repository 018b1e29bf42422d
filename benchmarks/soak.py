"""A day's troubles in some minutes: python benchmarks/soak.py [MINUTES] [SEEDS] [--random N] [--engine]

The line is walked over SEEDS simulated seeds (default 60), the model a scripted endpoint on a socket, through the real
client, ledger, store and Dagster: storms of 429, single 500s, slow answers. Meanwhile, at moments that N decides, the
run, Dagster's daemon and its web server are ended by kill -9 and started again, and the disk of the store is full
once (where a tmpfs can be mounted). After MINUTES (default 5) of it the line is let alone. Then the last run must have
ended well, all SEEDS seeds must be there, each accepted or rejected as the book of the simulation says and each
accepted one with a trial; every row of the ledger must be a call that the endpoint answered, and what it answered
without a row must be no more than the calls in flight at a kill.
Ends with 1 otherwise. The container engine is simulated; with --engine it is the one of this machine, its daemon and
containerd are among those that kill -9 meets, at four times the intervals, and at the end nothing with a label of ours
may be left there. That needs root, and the engine for itself.
"""

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from facet_dagster import definitions as line
from facet_dagster.adapters.docker_build_mark import MARKED
from facet_dagster.adapters.docker_daemon import start_daemon
from facet_dagster.adapters.docker_labels import MAY_BE_OURS, RUN_LABEL, ours
from facet_dagster.adapters.engine import connect
from facet_dagster.adapters.openai_model import OpenAIModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.wiring import open_engine
from facet_dagster.pipeline import find_seeds
from facet_dagster.ports import ChatModel
from facet_dagster.records.base import digest_of
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.call import ChatRequest, Completion, LedgerRow, Role
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import Settings
from facet_dagster.testing.fates import Rates, fate_of
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, answer, failure
from facet_dagster.testing.simulated_model import SimulatedModel
from facet_dagster.testing.simulated_workshop import simulated_settings, simulated_workshop
from facet_dagster.workshop import Workshop
from resources.watching import NoOnlooker

RATES = Rates(trouble=0)
STAGES = (line.SKILLS, line.SEEDING, line.CONSTRUCTION, line.ROLLOUTS)
IN_FLIGHT = 16  # calls, see simulated_workshop.py
STORM_S, FULL_S = 4.0, 5.0
ENGINE_S = 5.0  # that the engine is away
RUNS = "soak-"
BIN = Path(sys.executable).parent


def main() -> int:
    """Print what was done to it and what came of it."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("minutes", nargs="?", type=float, default=5.0)
    asked.add_argument("seeds", nargs="?", type=int, default=60)
    asked.add_argument("--random", type=int, default=1)
    asked.add_argument("--engine", action="store_true")
    asked.add_argument("--child", nargs=2, metavar=("FOLDER", "URL"), help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.child:
        return _line(Path(given.child[0]), given.child[1], given)
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is taken down
    with tempfile.TemporaryDirectory() as name, _small_disk(Path(name)) as ballast:
        return _soak(Path(name), given, ballast)


def _line(folder: Path, url: str, given: argparse.Namespace) -> int:
    """One process of the line, as far as it gets."""
    settings = simulated_settings(folder, given.seeds)
    names = dict.fromkeys(Role, "simulated")
    live = OpenAIModel(url, "", names, timeout_s=30, retries=6, structured=False)
    with (
        _workshop(settings, _Announced(live, folder / "calls"), given.engine) as workshop,
        line.open_instance(settings.dagster_home) as instance,
    ):
        overrides = {
            "workshop": line.Session(settings, workshop), "settings": settings, "store": workshop.store,
            "onlooker": NoOnlooker(),
        }  # fmt: skip
        for names_ in STAGES:
            partitioned = names_ in STAGES[2:]
            chosen = [seed.seed_id for seed in find_seeds(workshop)] if partitioned else None
            if partitioned:
                line.register(chosen or [], instance)
            result = line.materialise(names_, instance=instance, seeds=chosen, overrides=overrides)
            if result.trouble is not None:
                print(f"  {names_[0]}: {result.trouble.kind}: {result.trouble.message[:300]}", flush=True)
                return result.trouble.exit_code
    return 0


@contextmanager
def _workshop(settings: Settings, model: ChatModel, real: bool) -> Iterator[Workshop]:
    """Over the simulated engine, or over the one of this machine."""
    run_id = f"{RUNS}{os.getpid()}"
    workshop = simulated_workshop(settings, RATES, run_id, model)
    if not real:
        yield workshop
        return
    with open_engine(run_id, lambda said: print(f"  {said}", flush=True), in_flight=IN_FLIGHT) as engine:
        yield replace(workshop, sandbox=engine.sandbox, builder=engine.builder)


class _Announced:
    """Tells the endpoint, which sees the messages alone, which call they belong to."""

    def __init__(self, inner: OpenAIModel, folder: Path) -> None:
        self._inner, self._folder = inner, folder
        folder.mkdir(exist_ok=True)

    async def complete(self, request: ChatRequest) -> Completion:
        spoken = [[message.role, message.content] for message in request.messages]
        place = self._folder / digest_of(json.dumps(spoken))
        if not place.exists():
            written = place.with_suffix(f".{os.getpid()}")
            written.write_text(request.model_dump_json(), encoding="utf-8")
            written.replace(place)
        return await self._inner.complete(request)


class _Endpoint:
    """Answers as the simulated model does, unless there is trouble. `answered` counts by call."""

    def __init__(self, folder: Path, source: random.Random) -> None:
        self._folder, self._source = folder, source
        self._model, self._lock = SimulatedModel(RATES), threading.Lock()
        self.answered: Counter[str] = Counter()
        self.refused: Counter[int] = Counter()
        self.storm_until = 0.0

    def __call__(self, asked: dict[str, Any]) -> Reply:
        with self._lock:
            draw = self._source.random()
        if time.monotonic() < self.storm_until or draw < 0.02:
            return self._refuse(429, retry_after="0.2")
        if draw < 0.04:
            return self._refuse(500)
        if draw < 0.05:
            time.sleep(1.5)
        spoken = [[message["role"], message["content"]] for message in asked["messages"]]
        text = (self._folder / digest_of(json.dumps(spoken))).read_text(encoding="utf-8")
        request = ChatRequest.model_validate_json(text)
        with self._lock:
            completion = asyncio.run(self._model.complete(request))
            self.answered[request.call.label()] += 1
        return answer(completion.text)

    def _refuse(self, status: int, **headers: str) -> Reply:
        with self._lock:
            self.refused[status] += 1
        return failure(status, "trouble", **headers)


def _soak(folder: Path, given: argparse.Namespace, ballast: Path | None) -> int:
    source = random.Random(given.random)
    simulated_settings(folder, given.seeds)
    endpoint = _Endpoint(folder / "calls", random.Random(f"{given.random} endpoint"))  # asked at nobody's moments
    done: Counter[str] = Counter()
    with HttpEndpoint([endpoint]) as server:
        command = [sys.executable, __file__, "0", str(given.seeds), "--child", str(folder), server.url]
        command += ["--engine"] * given.engine
        run = subprocess.Popen(command)
        beside = _Beside(folder / "dagster")
        end, full_at = time.monotonic() + 60 * given.minutes, time.monotonic() + 30 * given.minutes
        try:
            while time.monotonic() < end:
                time.sleep(source.uniform(3, 12) * (4 if given.engine else 1))
                what = source.choice(["run", "run", "daemon", "webserver", "storm", *["engine"] * 2 * given.engine])
                if ballast is not None and time.monotonic() > full_at and not done["disk full"]:
                    what = "disk full"
                done[what] += 1
                if what == "storm":
                    endpoint.storm_until = time.monotonic() + STORM_S
                elif what == "disk full":
                    _fill(ballast)
                elif what == "engine":
                    _kill_engine()
                elif what == "run":
                    run.kill()
                    run.wait()
                    run = subprocess.Popen(command)
                else:
                    beside.kill(what)
                if run.poll() is not None:
                    done["restart"] += 1
                    run = subprocess.Popen(command)
        finally:
            run.kill()
            run.wait()
            beside.end()
        codes = []
        for _ in range(3):  # what is pending goes on with the same command
            codes.append(subprocess.run(command).returncode)
            if not codes[-1] and not _pending(folder):
                break
        print(f"done to it: {dict(done)}; refused by the endpoint: {dict(endpoint.refused)}; at last: exit {codes}")
        unwell = [f"the last run ended with {codes[-1]}"] if codes[-1] else []
        if given.engine:
            unwell += _left_in_the_engine() if done["engine"] else ["the engine was never killed: let it run longer"]
        return _judged(folder, endpoint, done["run"] + 1, given.seeds, unwell)


def _kill_engine() -> None:
    """kill -9 of the daemon and its containerd, while containers run; a new one after some seconds."""
    for name in ("dockerd", "containerd"):
        subprocess.run(["pkill", "-KILL", "-x", name])
    try:
        time.sleep(ENGINE_S)
    finally:
        start_daemon()


def _left_in_the_engine() -> list[str]:
    """Containers and images with the label of one of the soak's runs, and containers of steps of their builds."""
    client = connect()
    rows = [*client.api.containers(all=True, filters=MAY_BE_OURS), *client.api.images(filters=MAY_BE_OURS)]
    found = [
        str(row.get("Names") or row["RepoTags"]) for row, own in ours(rows) if own.get(RUN_LABEL, "").startswith(RUNS)
    ]
    for row in client.api.containers(all=True):
        hosts = client.api.inspect_container(row["Id"])["HostConfig"].get("ExtraHosts") or []
        found += [f"a step of a build, {row['Status']}" for entry in hosts if entry.startswith(MARKED)]
    return [f"left in the engine: {what}" for what in found]


def _pending(folder: Path) -> list[SeedOutcome]:
    store = ParquetStore(str(folder / "store"))
    last = {row.seed: row for row in sorted(store.rows(SeedOutcome), key=lambda row: row.at)}
    return [row for row in last.values() if row.status is Status.PENDING]


def _judged(folder: Path, endpoint: _Endpoint, kills: int, asked: int, unwell: list[str]) -> int:
    store = ParquetStore(str(folder / "store"))
    last = {row.seed: row for row in sorted(store.rows(SeedOutcome), key=lambda row: row.at)}
    seeds = [seed.seed_id for seed in store.rows(ScenarioSeed)]
    tried = {trial.seed for trial in store.rows(Trial)}
    wrong = [*unwell, *(f"{seed} has no outcome" for seed in seeds if seed not in last)]
    if len(seeds) != asked:
        wrong.append(f"there are {len(seeds)} seeds of {asked}")
    for seed, row in last.items():
        book = fate_of(seed, RATES).book(first_walk=False)
        if row.status is Status.PENDING:
            wrong.append(f"{seed} is still pending after the quiet runs: {row.evidence or 'no reason is stated'}")
        elif (row.status, row.first_pass, row.rounds, row.reason) != book:
            wrong.append(f"{seed}: {row.status.value} {row.reason} in round {row.rounds}, the book says {book}")
        if row.status is Status.ACCEPTED and seed not in tried:
            wrong.append(f"{seed} is accepted and has no trial")
    rows = Counter(row.call.label() for row in store.rows(LedgerRow))
    unpaid = rows - endpoint.answered
    lost = sum((endpoint.answered - rows).values())
    wrong += [f"{label} is in the ledger and was never answered" for label in unpaid]
    if lost > kills * IN_FLIGHT:
        wrong.append(f"{lost} answers are not in the ledger; {kills} kills explain {kills * IN_FLIGHT}")
    statuses = Counter(row.status.value for row in last.values())
    print(
        f"{len(seeds)} seeds: {dict(statuses)}; {sum(rows.values())} rows of the ledger, "
        f"{sum(endpoint.answered.values())} answers, {lost} lost in {kills} kills; wrong: {len(wrong)}"
    )
    print("\n".join(wrong[:20]))
    return int(bool(wrong))


class _Beside:
    """The web server and the daemon on the same home."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._environment = {**os.environ, "DAGSTER_HOME": str(home)}
        module = ["-m", "facet_dagster.definitions"]
        self._commands = {
            "webserver": [str(BIN / "dagster-webserver"), *module, "-h", "127.0.0.1", "-p", "0"],
            "daemon": [str(BIN / "dagster-daemon"), "run", *module],
        }
        self._running = {name: self._start(name) for name in self._commands}

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            self._commands[name], env=self._environment, stdout=quiet, stderr=quiet, start_new_session=True
        )

    def kill(self, name: str) -> None:
        """kill -9 of it and of what it started, then start it again."""
        self._strike(name)
        self._running[name] = self._start(name)

    def end(self) -> None:
        for name in self._running:
            self._strike(name)

    def _strike(self, name: str) -> None:
        process = self._running[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    """A disk of its own for the store, where one may be mounted; the file that fills it."""
    store = folder / "store"
    store.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", store], capture_output=True)
    if mounted.returncode:
        print("no tmpfs can be mounted: the disk is never full")
        yield None
        return
    try:
        yield store / ".ballast"
    finally:
        subprocess.run(["umount", "-l", store], check=True)


def _fill(ballast: Path | None) -> None:
    if ballast is None:
        return
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
    time.sleep(FULL_S)
    ballast.unlink()


if __name__ == "__main__":
    sys.exit(main())
