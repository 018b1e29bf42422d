"""How long the ready questions take as a store grows: python benchmarks/yields.py [SEEDS ...] (1000 4000 7852 16000)

Makes stores as runs at the paper's rates leave them, without a model or a container, and asks each question in a
process of its own, as `facet yields` does; the best of three. Wall seconds of the question, opening the store
included, and (in brackets) processor seconds of its process, start and imports included. `--body N` is the length of
each longer text.
"""

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.testing.paper_store import fill

ASKED = ("funnel", "paper", "repairs", "categories", "cost", "rejections", "per_task")
ASK = """
import sys, time
from facet_dagster.yields.views import run_query
began = time.monotonic()
run_query(*sys.argv[1:])
print(time.monotonic() - began, time.process_time())
"""


def main() -> None:
    """Print a line per size: seconds per question, and what the store weighs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[1_000, 4_000, 7_852, 16_000])
    parser.add_argument("--body", type=int, default=2_000)
    given = parser.parse_args()
    print(f"machine: {platform.platform()}; bodies of {given.body} characters")
    print("seconds per question (of a processor), best of three")
    print("seeds      made in  MiB   " + "  ".join(f"{name:>13}" for name in ASKED), flush=True)
    for seeds in given.seeds:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            fill(ParquetStore(folder), seeds, body=given.body)
            made = time.monotonic() - began
            size = sum(file.stat().st_size for file in Path(folder).rglob("*.parquet")) / 2**20
            best = [min(_asked(folder, name) for _ in range(3)) for name in ASKED]
        figures = "  ".join(f"{f'{wall:.2f} ({processor:.2f})':>13}" for wall, processor in best)
        print(f"{seeds:<10} {made:6.0f} s {size:5.0f}  {figures}", flush=True)


def _asked(store: str, name: str) -> tuple[float, float]:
    """Wall seconds of the question, processor seconds of its process."""
    done = subprocess.run([sys.executable, "-c", ASK, store, name], capture_output=True, text=True, check=True)
    wall, processor = done.stdout.split()
    return float(wall), float(processor)


if __name__ == "__main__":
    main()
