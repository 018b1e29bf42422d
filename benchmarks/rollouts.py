"""What the agent itself costs, and whether many trials at once get lost: python benchmarks/rollouts.py [TRIALS] [TURNS]

Trials side by side on real containers against a scripted endpoint on this machine, through the real store, ledger and
journal. Every turn types one command and waits 0.2 s. Measured: seconds of a turn beside model and waits, seconds to
the first prompt (of more trials than containers may start at a time, the queue for a start included), trials lost, peak
memory of this process, lag of the event loop. Grading is left out.
"""

import asyncio
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from facet_dagster.adapters.ledger import StoreLedger
from facet_dagster.adapters.metered_model import MeteredModel
from facet_dagster.adapters.openai_model import OpenAIModel
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.wiring import open_engine
from facet_dagster.ports import ChatModel, Sandbox
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.call import ChatRequest, Completion, Role
from facet_dagster.records.container import Limits
from facet_dagster.records.environment import Environment, Manifest, Materials, ObservedState
from facet_dagster.records.rollout import Handover, StopReason, Trial, Turn
from facet_dagster.records.validation import GradeReport
from facet_dagster.rollout.journal import forget, journal
from facet_dagster.rollout.limits import TrialLimits
from facet_dagster.rollout.trial import begin, run_trial
from facet_dagster.testing.examples import an_environment
from facet_dagster.testing.http_endpoint import HttpEndpoint, answer

WAIT_S = 0.2
LIMITS = Limits(cpus=1.0, memory_mb=256, pids=64, disk_mb=64)
INSTRUCTION = Instruction(text="Print numbers.", clauses={})


class _Noting:
    """Notes when each trial asked for the first time."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.asked: dict[str, float] = {}

    async def complete(self, request: ChatRequest) -> Completion:
        self.asked.setdefault(request.call.subject, time.perf_counter())
        return await self._inner.complete(request)


def main(trials: int, turns: int) -> None:
    """Print one figure a line, with the bound that it is to stay within."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    say = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": "echo $RANDOM\n", "duration": WAIT_S}]}
    reply = answer(json.dumps({**say, "task_complete": False}))
    run_id = f"bench-{os.getpid()}"
    with (
        tempfile.TemporaryDirectory() as folder,
        HttpEndpoint([reply]) as endpoint,
        open_engine(run_id, in_flight=trials) as engine,
    ):
        image = next(iter(engine.stand_ins.values()))
        asyncio.run(_measure(Path(folder), endpoint.url, engine.sandbox, image, trials, turns))


async def _measure(folder: Path, url: str, sandbox: Sandbox, image: str, trials: int, turns: int) -> None:
    names = dict.fromkeys(Role, "scripted")
    store = ParquetStore(str(folder / "store"))
    ledger = StoreLedger(store, names=names, prices={}, budget_tokens=None, budget_usd=None, run_id="bench")
    live = OpenAIModel(url, "", names, timeout_s=600, retries=3, structured=False)
    model = _Noting(MeteredModel(live, store=store, ledger=ledger, names=names, in_flight=trials))
    started: dict[str, float] = {}
    environment = _environment(image)

    async def one(number: int) -> None:
        seed = f"bench-{number:03d}"
        begun = begin("org/bench", seed, "b" * 64, 0, model="scripted", run_id="bench")
        with journal(folder / "open", begun) as kept:

            async def keep(done: Turn | Handover) -> None:
                await asyncio.to_thread(kept.add, done)

            started[seed] = time.perf_counter()
            trial = await run_trial(
                begun, INSTRUCTION, environment, model=model, sandbox=sandbox, limits=LIMITS,
                settings=TrialLimits(turns=turns, seconds=3_600), grade=_ungraded, keep=keep,
            )  # fmt: skip
            await asyncio.to_thread(store.put, trial)
            forget(folder / "open", trial)

    began = time.perf_counter()
    watch = asyncio.create_task(_lags())
    await asyncio.gather(*(one(number) for number in range(trials)))
    seconds = time.perf_counter() - began
    watch.cancel()
    lags = (await asyncio.gather(watch, return_exceptions=False))[0]
    _report(store.rows(Trial), trials, turns, seconds, [model.asked[s] - started[s] for s in model.asked], lags)


def _report(
    kept: Sequence[Trial], trials: int, turns: int, seconds: float, starts: Sequence[float], lags: Sequence[float]
) -> None:
    whole = [trial for trial in kept if trial.stop is StopReason.TURN_LIMIT and len(trial.turns) == turns]
    ends = Counter(f"{trial.stop.value} {trial.trouble[:100]}".strip() for trial in kept)
    overheads = [turn.overhead_s for trial in kept for turn in trial.turns]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"trials: {trials} at once, {turns} turns each; lost: {trials - len(kept)}, cut: {trials - len(whole)}")
    print(f"ends: {dict(ends)}")
    print(
        f"overhead per turn: median {statistics.median(overheads) * 1000:.0f} ms, best {min(overheads) * 1000:.0f} ms"
    )
    print(f"queue and start to first prompt: median {statistics.median(starts):.2f} s, best {min(starts):.2f} s")
    print(f"memory of this process at its peak: {peak:.0f} MB [1500]")
    print(f"event loop: longest lag {max(lags) * 1000:.0f} ms, median {statistics.median(lags) * 1000:.1f} ms")
    print(f"throughput: {len(whole) / seconds * 60:.1f} trials, {len(overheads) / seconds * 60:.0f} turns a minute")


async def _lags() -> list[float]:
    """How much later than asked for the loop came back, until cancelled."""
    lags = []
    try:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.05)
            lags.append(time.perf_counter() - before - 0.05)
    except asyncio.CancelledError:
        return lags


async def _ungraded(image: str) -> GradeReport:
    return GradeReport(reward=0.0, tests=(), executed=0, seconds=0, output="not graded")


def _environment(image: str) -> Environment:
    nothing = {"files": [], "apt_packages": [], "pip_packages": [], "services": [], "properties": []}
    return an_environment(
        manifest=Manifest(directories=[], **nothing),
        materials=Materials(generators=[], setup_commands=[], **nothing),
        image=image,
        build_seconds=0,
        e0=ObservedState(files=(), packages=(), tools={}, users=(), listening=()),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 4)
