"""How an SFT set is made of many trials: python benchmarks/sft.py [TRIALS]

Trials (10,000 by default) are made up: replies in JSON of a few hundred words that share their frame, four attempts on
each task which share passages, 1% of them copies, terminal output of 2 kB a turn, 12 turns. Measured are the search for
near copies at several thresholds, decontamination, and the whole set with every rule on. Each in a process of its own;
the memory is that at its peak, the trials themselves included.
"""

import json
import multiprocessing
import os
import platform
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from facet_dagster.datasets.benchmarks import BenchmarkText
from facet_dagster.datasets.contamination import Contamination
from facet_dagster.datasets.dialogue import own_text
from facet_dagster.datasets.near import NearIndex, bands_of
from facet_dagster.datasets.sft import export_sft
from facet_dagster.records.rollout import Keystrokes, StopReason, Trial, Turn
from facet_dagster.records.terms import SftTerms

ATTEMPTS, TURNS, COPIES = 4, 12, 100  # one in so many is a copy
AT = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [f"{stem}{end}" for stem in ("file", "order", "region", "total", "check", "parse") for end in range(500)]


def main(trials: int) -> None:
    """Print a line per measurement."""
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; {trials:,} trials")
    _measured("the trials alone", trials, lambda made: f"{len(made):,} trials")
    for threshold in (0.3, 0.5, 0.8):
        _measured(f"near copies at {threshold}", trials, lambda made, t=threshold: _near(made, t))
    _measured("near copies at 0.5, any two texts 0.2 alike", trials, lambda made: _near(made, 0.5, _frame()))
    _measured("decontamination", trials, _contaminated)
    _measured("the set, no rule on", trials, lambda made: _set(made, SftTerms()))
    every = {
        "near_duplicate": 0.8,
        "rows_per_task": 3,
        "max_tokens": 32_768,
        "validation_share": 0.1,
        "failure_share": 0.2,
    }
    _measured("the set, every rule on", trials, lambda made: _set(made, SftTerms(**every), benchmark=True))


def _measured(name: str, trials: int, work: Callable[[list[Trial]], str]) -> None:
    process = multiprocessing.get_context("fork").Process(target=_timed, args=(name, trials, work))
    process.start()
    process.join()


def _timed(name: str, trials: int, work: Callable[[list[Trial]], str]) -> None:
    made = _trials(trials)
    wall, cpu = time.perf_counter(), time.process_time()
    said = work(made)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{name}: {wall:.1f} s ({cpu:.1f} s of CPU), peak {peak:.2f} GB; {said}", flush=True)


def _frame() -> str:
    return _words(random.Random(98), 700)


def _near(made: list[Trial], threshold: float, frame: str = "") -> str:
    index, copies = NearIndex(threshold), 0
    for trial in made:
        sketch = index.sketch(f"{frame}\n{own_text(trial.turns)}")
        if next(index.near(sketch), None) is None:
            index.keep(f"{trial.seed}/{trial.attempt}", sketch)
        else:
            copies += 1
    return f"{copies:,} found, bands x slots {bands_of(threshold)}"


def _benchmark() -> list[BenchmarkText]:
    drawn = random.Random(99)
    return [
        BenchmarkText(f"b{task}", f"b{task}/instruction.md", " ".join(drawn.choices(WORDS, k=600)))
        for task in range(200)
    ]


def _contaminated(made: list[Trial]) -> str:
    index = Contamination(_benchmark(), common=10)
    texts = ([text for turn in trial.turns for text in (turn.prompt, turn.raw)] for trial in made)
    return f"{sum(index.overlap(each) is not None for each in texts)} found"


def _set(made: list[Trial], terms: SftTerms, *, benchmark: bool = False) -> str:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if benchmark:
            (place / "benchmark.jsonl").write_text("".join(json.dumps(t.text) + "\n" for t in _benchmark()))
            terms = terms.model_copy(update={"benchmarks": (place / "benchmark.jsonl",)})
        out = export_sft(made, place / "sft", skills={}, terms=terms)
        size = sum(path.stat().st_size for path in (place / "sft").rglob("*") if path.is_file())
        removed = ", ".join(f"{step.rule} {step.removed}" for step in out.funnel if step.removed)
        return f"{out.rows:,} rows, {size / 1e6:,.0f} MB of files; removed: {removed or 'none'}"


def _trials(number: int) -> list[Trial]:
    drawn, made = random.Random(1), []
    shared: list[str] = []
    for at in range(number):
        seed, attempt = divmod(at, ATTEMPTS)
        if not attempt:
            shared = [_words(drawn, 25) for _ in range(6)]
        copied = made and at % COPIES == 0
        turns = (
            made[-ATTEMPTS].turns
            if copied and at >= ATTEMPTS
            else tuple(_turn(drawn, n, shared) for n in range(1, TURNS + 1))
        )
        made.append(
            Trial(
                seed=f"seed-{seed:05d}", task=f"org/seed-{seed:05d}", bundle=f"{seed:064d}", attempt=attempt, model="m",
                recorded=False, stop=StopReason.COMPLETED, reward=float(drawn.random() < 0.8), grade=None, turns=turns,
                seconds=1, started_at=AT, run_id=f"r{attempt}",
            )
        )  # fmt: skip
    return made


def _turn(drawn: random.Random, number: int, shared: list[str]) -> Turn:
    analysis = f"The terminal shows that the last command worked. {_words(drawn, 40)} {drawn.choice(shared)}"
    plan, keys = f"Next I will look at the result and then go on. {_words(drawn, 20)}", f"cat {_words(drawn, 25)}\n"
    reply = {
        "analysis": analysis,
        "plan": plan,
        "commands": [{"keystrokes": keys, "duration": 0.5}],
        "task_complete": False,
    }
    return Turn(
        number=number, prompt=f"agent@host:/app$ {_words(drawn, 200)}\n", raw=json.dumps(reply, indent=1),
        analysis=analysis, plan=plan, commands=(Keystrokes(keystrokes=keys),), task_complete=False, parse_error=None,
        observation="", prompt_tokens=1000, completion_tokens=200, cost_usd=0, at=AT,
    )  # fmt: skip


def _words(drawn: random.Random, number: int) -> str:
    return " ".join(drawn.choices(WORDS, k=number))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
