"""Seeds in real containers, the model simulated, beside the raw docker work: python benchmarks/in_flight.py [SEEDS] [N]

SEEDS (default 200; 10 already say something) are walked N at a time (default 8) by the construction station, with the
real engine and store and a simulated model that fails at the paper's rates. What was asked of the engine is written
down: builds, containers, commands, files in and out, frozen images. Then the same is done again by bare calls of the
Docker SDK, N seeds at a time, without model, store and stations. The goal: the raw work takes at least 85% of the time.
`--keep FOLDER` leaves store and tasks there (for builds.py: FACET_STORE; for validation_throughput.py: out/tasks).
"""

import argparse
import asyncio
import os
import platform
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from docker import DockerClient
from docker.errors import NotFound

from facet_dagster.adapters.base_image import ensure_base
from facet_dagster.adapters.docker_files import pack
from facet_dagster.adapters.engine import connect
from facet_dagster.adapters.wiring import open_engine
from facet_dagster.pipeline import construct_seeds
from facet_dagster.ports import Container, ImageBuilder, Sandbox
from facet_dagster.records.container import BuildRequest, BuildResult, Command, CommandResult, ContainerSpec, FileEntry
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.testing.fates import Rates
from facet_dagster.testing.simulated_workshop import simulated_settings, simulated_workshop
from resources.watching import NoOnlooker

RATES = Rates(trouble=0)


@dataclass
class Session:
    """One container: what it was and what was asked of it, in order; `frozen` is the image that it left."""

    spec: ContainerSpec
    asked: list[tuple[str, Any]] = field(default_factory=list)


Work = BuildRequest | Session


class Noting:
    """Sandbox and ImageBuilder that write down by seed what they hand on."""

    def __init__(self, sandbox: Sandbox, builder: ImageBuilder) -> None:
        self._sandbox, self._builder = sandbox, builder
        self.works: defaultdict[str, list[Work]] = defaultdict(list)
        self.exists, self.remove = builder.exists, builder.remove
        self.discard, self.sweep = sandbox.discard, sandbox.sweep

    async def build(self, request: BuildRequest) -> BuildResult:
        self.works[request.seed].append(request)
        return await self._builder.build(request)

    @asynccontextmanager
    async def open(self, spec: ContainerSpec) -> AsyncIterator["_Noted"]:
        session = Session(spec)
        self.works[spec.seed].append(session)
        async with self._sandbox.open(spec) as container:
            yield _Noted(container, session)


class _Noted:
    def __init__(self, container: Container, session: Session) -> None:
        self._container, self._asked = container, session.asked
        self.attach = container.attach

    async def run(self, command: Command) -> CommandResult:
        self._asked.append(("run", command))
        return await self._container.run(command)

    async def put(self, files: Sequence[FileEntry], *, owner: str = "root") -> None:
        self._asked.append(("put", (tuple(files), owner)))
        await self._container.put(files, owner=owner)

    async def read(self, path: str, *, max_bytes: int) -> bytes | None:
        self._asked.append(("read", path))
        return await self._container.read(path, max_bytes=max_bytes)

    async def freeze(self) -> str:
        image = await self._container.freeze()
        self._asked.append(("freeze", image))
        return image


def main() -> None:
    """Print seconds of both ways and the ratio."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("seeds", nargs="?", type=int, default=200)
    asked.add_argument("in_flight", nargs="?", type=int, default=8)
    asked.add_argument("--keep", type=Path)
    given = asked.parse_args()
    print(f"machine: {platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        line, works = asyncio.run(_walked(folder, given.seeds, given.in_flight))
        raw = _replayed(works, given.in_flight)
    kinds = Counter(type(work).__name__ for of_seed in works.values() for work in of_seed)
    print(
        f"{given.seeds} seeds, {given.in_flight} at a time; "
        f"{kinds['BuildRequest']} builds, {kinds['Session']} containers: "
        f"the line {line:.0f} s, raw {raw:.0f} s; raw / line {raw / line:.0%} [>= 85%]"
    )


async def _walked(folder: Path, count: int, in_flight: int) -> tuple[float, dict[str, list[Work]]]:
    settings = simulated_settings(folder, count)
    construction = settings.construction.model_copy(update={"seeds_in_flight": in_flight})
    simulated = simulated_workshop(settings, RATES, "in-flight")
    seeds = [
        ScenarioSeed(seed_id=f"orders-{n}", title="Orders", skill_ids=("s-1",), hypothesis_ids=(), rationale="r")
        for n in range(count)
    ]
    skill = Skill(skill_id="s-1", source="s", path="s", content_hash="0" * 64, name="s", description="d", body="b")
    simulated.store.put(skill)
    simulated.store.put_all(seeds)
    with open_engine(f"bench-{os.getpid()}", in_flight=4 * in_flight) as engine:
        noting = Noting(engine.sandbox, engine.builder)
        workshop = replace(simulated, sandbox=noting, builder=noting, construction=construction)  # type: ignore[arg-type]  # notes what both ports are asked
        began = time.monotonic()
        outcomes = await construct_seeds(seeds, workshop, NoOnlooker())
        seconds = time.monotonic() - began
    print(f"  {dict(Counter(outcome.status.value for outcome in outcomes))}", flush=True)
    return seconds, dict(noting.works)


def _replayed(works: dict[str, list[Work]], in_flight: int) -> float:
    client = connect()
    base = ensure_base(client, print)
    made: list[str] = []
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(in_flight) as pool:
            for done in [pool.submit(_Raw(client, base, made).all, of_seed) for of_seed in works.values()]:
                done.result()
        return time.monotonic() - began
    finally:
        for image in made:
            client.images.remove(image, force=True)


class _Raw:
    """The works of one seed by bare calls."""

    def __init__(self, client: DockerClient, base: str, made: list[str]) -> None:
        self._client, self._base, self._made = client, base, made
        self._images: dict[str, str] = {}

    def all(self, works: Sequence[Work]) -> None:
        for work in works:
            if isinstance(work, BuildRequest):
                self._build(work)
            else:
                self._container(work)

    def _build(self, request: BuildRequest) -> None:
        """A layer of its own first: the engine has the first way's layers, and would have nothing to do."""
        dockerfile = request.dockerfile.replace(
            "FROM ${BASE_IMAGE}", f"FROM ${{BASE_IMAGE}}\nLABEL bench={uuid4().hex}"
        )
        files = [*request.context, FileEntry(path="Dockerfile", content=dockerfile)]
        tag = f"facet-bench:{uuid4().hex[:12]}"
        arguments = {"BASE_IMAGE": self._base}
        said = self._client.api.build(
            fileobj=BytesIO(pack(files)),
            custom_context=True,
            tag=tag,
            rm=True,
            forcerm=True,
            buildargs=arguments,
            decode=True,
        )
        if not any("error" in line for line in said):
            self._images[request.tag()] = tag
            self._made.append(tag)

    def _container(self, session: Session) -> None:
        limits = session.spec.limits
        container = self._client.containers.run(
            self._images[session.spec.image], ["sleep", "infinity"], detach=True, init=True, network_mode="none",
            nano_cpus=int(limits.cpus * 1e9), mem_limit=f"{limits.memory_mb}m", user="root",
        )  # fmt: skip
        try:
            for what, given in session.asked:
                if what == "run":
                    container.exec_run(
                        ["bash", "-c", given.script], user=given.user, workdir=given.workdir, environment=given.env
                    )
                elif what == "put":
                    container.put_archive("/", pack(given[0], owner=given[1]))
                elif what == "read":
                    _read(container, given)
                else:
                    tag = f"facet-bench:{uuid4().hex[:12]}"
                    container.commit(*tag.split(":"))
                    self._images[given] = tag
                    self._made.append(tag)
        finally:
            container.remove(force=True)


def _read(container: Any, path: str) -> None:
    try:
        for _ in container.get_archive(path)[0]:
            pass
    except NotFound:
        return


if __name__ == "__main__":
    main()
