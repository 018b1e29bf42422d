"""An environment's build and probes beside a bare `docker build`: python benchmarks/builds.py [REPEATS] [TASKS]

For the accepted tasks of the store that FACET_STORE names (the demo's by default; TASKS of them, all without). Each
repeat changes a file of the build context, so that everything after the shared base is really made. In turns: our
build, a fresh container, its services, e0 and the probes; and `docker build` of the same Dockerfile and files by hand,
then `docker run`, an exec per probe, and `docker rm`, without e0 and without waiting for services. Three ratios: build
/ bare build, all of ours / bare build (the goal: a median of at most 1.2 times), and all of ours / all by hand.
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
from facet_dagster.environment.probe import failures, probe, probes_of
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
        print(f"median over {len(ratios)} tasks: {_told(*map(statistics.median, zip(*ratios, strict=True)))}")


async def _measure(bench: Bench, repeats: int, base: str) -> tuple[float, float, float]:
    taken = [(*await _build_and_probe(bench), *_by_hand(bench, base)) for _ in range(repeats)]
    build, whole, bare, by_hand = map(statistics.median, zip(*taken, strict=True))
    ratios = build / bare, whole / bare, whole / by_hand
    seconds = f"build {build:.2f} s, all {whole:.2f} s; by hand {bare:.2f} s, {by_hand:.2f} s"
    print(f"{bench.seed.seed_id}: {seconds}; {_told(*ratios)}", flush=True)
    return ratios


def _told(build: float, whole: float, by_hand: float) -> str:
    return (
        f"build / bare build {build:.2f} x, all / bare build {whole:.2f} x [<= 1.2], all / all by hand {by_hand:.2f} x"
    )


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
        await container.run(wait_for_services())
        await observe(container)
        failed = failures(await probe(container, environment.manifest, environment.materials))
    assert not failed, failed
    whole = time.monotonic() - began
    await workshop.builder.remove(built.image)
    return build, whole


def _by_hand(bench: Bench, base: str) -> tuple[float, float]:
    """Seconds for the build, and for build, container and probes."""
    request, environment = _request(bench), bench.environment
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
        _run(command)
        build = time.monotonic() - began
        container = _run(["docker", "run", "-d", "--init", "--network", "none", tag, "sleep", "infinity"])
        try:
            for planned in probes_of(environment.manifest, environment.materials):
                asked = planned.command
                where = ["--user", asked.user, "--workdir", asked.workdir]
                _run(["docker", "exec", *where, container, "bash", "-c", asked.script])
        finally:
            _run(["docker", "rm", "-f", container])
        whole = time.monotonic() - began
        _run(["docker", "rmi", "-f", tag])
        return build, whole


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, int(sys.argv[2]) if len(sys.argv) > 2 else None)
