"""An environment's build and probes beside a bare `docker build`: python benchmarks/builds.py [REPEATS] [TASKS]

For the accepted tasks of the store that FACET_STORE names (the demo's by default; TASKS of them, all without). Each
repeat changes a file of the build context, so that everything after the shared base is really made. In turns: our
build, a fresh container, its services, e0 and the probes; and `docker build` of the same Dockerfile and files by hand.
The goal: a median of at most 1.2 times. What the build alone takes is told apart from what is done in the container.
"""

import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from uuid import uuid4

from facet_dagster.adapters.base_image import ensure_base
from facet_dagster.adapters.engine import connect
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.environment.observe import observe
from facet_dagster.environment.probe import failures, probe
from facet_dagster.environment.rebuild import build_request
from facet_dagster.makers import Bench
from facet_dagster.records.container import BuildRequest, ContainerSpec
from facet_dagster.records.environment import InlineFile, Materials, wait_for_services
from facet_dagster.settings import load
from facet_dagster.tasks import accepted_benches


def main(repeats: int, tasks: int | None) -> None:
    """Print one line per task, then the median of the ratios."""
    busy = os.getloadavg()[0]
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {busy:.1f}; {repeats} builds each way")
    with open_workshop(load(os.environ), run_id=f"bench-{os.getpid()}") as workshop:
        base = ensure_base(connect(), print)
        ratios = [asyncio.run(_measure(bench, repeats, base)) for bench in islice(accepted_benches(workshop), tasks)]
    if ratios:
        builds, wholes = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(
            f"median over {len(ratios)} tasks: build / bare build {builds:.2f} x, with container, e0 and probes "
            f"{wholes:.2f} x [<= 1.2]"
        )


async def _measure(bench: Bench, repeats: int, base: str) -> tuple[float, float]:
    builds, wholes, bares = [], [], []
    for _ in range(repeats):
        build, whole = await _build_and_probe(bench)
        builds.append(build)
        wholes.append(whole)
        bares.append(_by_hand(_request(bench), base))
    build, whole, bare = map(statistics.median, (builds, wholes, bares))
    print(
        f"{bench.seed.seed_id}: bare {bare:.2f} s; build {build:.2f} s, {build / bare:.2f} x; "
        f"with container, e0 and probes {whole:.2f} s, {whole / bare:.2f} x",
        flush=True,
    )
    return build / bare, whole / bare


def _materials(bench: Bench) -> Materials:
    """With one file more that no build has seen."""
    materials = bench.environment.materials
    extra = InlineFile(path="/app/.benchmark", content=uuid4().hex)
    return materials.model_copy(update={"files": [*materials.files, extra]})


def _request(bench: Bench) -> BuildRequest:
    terms = bench.workshop.construction
    return build_request(bench.seed.seed_id, _materials(bench), terms.limits, terms.build_timeout_s)


async def _build_and_probe(bench: Bench) -> tuple[float, float]:
    """Seconds for the build and for all of it, as environment/prepare.py does it."""
    workshop, environment = bench.workshop, bench.environment
    began = time.monotonic()
    built = await workshop.builder.build(_request(bench))
    assert built.ok, built.log[-500:]
    build = time.monotonic() - began
    spec = ContainerSpec(
        image=built.image, seed=bench.seed.seed_id, purpose="observe", limits=workshop.construction.limits
    )
    async with workshop.sandbox.open(spec) as container:
        if environment.materials.services:
            await container.run(wait_for_services())
        await observe(container)
        failed = failures(await probe(container, environment.manifest, environment.materials))
    assert not failed, failed
    whole = time.monotonic() - began
    await workshop.builder.remove(built.image)
    return build, whole


def _by_hand(request: BuildRequest, base: str) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Dockerfile").write_text(request.dockerfile, encoding="utf-8")
        for file in request.context:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data())
            path.chmod(file.mode)
        tag = f"facet-bench:{uuid4().hex[:12]}"
        command = ["docker", "build", "-q", "-t", tag, "--build-arg", f"BASE_IMAGE={base}", name]
        began = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.monotonic() - began
        subprocess.run(["docker", "rmi", "-f", tag], check=True, capture_output=True)
        return seconds


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, int(sys.argv[2]) if len(sys.argv) > 2 else None)
