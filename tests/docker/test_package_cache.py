"""The cache of deploy/package-cache before real mirrors: a package is fetched once, and there while they are away."""

import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from docker import DockerClient
from docker.models.containers import Container

from facet_dagster.adapters.docker_build_args import build_args
from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.adapters.docker_files import pack
from facet_dagster.cli.doctor import examine
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildRequest, FileEntry
from facet_dagster.settings import Settings

pytestmark = pytest.mark.docker

PLACE = Path(__file__).parents[2] / "deploy" / "package-cache"
# Lists and pages grow old at once: what is given while mirrors are away is then what is out of date.
HASTY = re.sub(
    r"(proxy_cache_valid 200|resolver_timeout) \d+[sm];", r"\1 1s;", (PLACE / "nginx.conf.template").read_text("utf-8")
)
# Debian's nginx in place of the public image, with the CA bundle of this host.
IMAGE = """ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends nginx-light && rm -rf /var/lib/apt/lists/* \\
 && cp /usr/local/share/facet/ca.crt /etc/ssl/certs/ca-certificates.crt
COPY nginx.conf /etc/nginx/nginx.conf
CMD ["nginx", "-g", "daemon off;"]
"""
WANTED = """ARG BASE_IMAGE
FROM ${BASE_IMAGE}
ARG PIP_INDEX_URL
ARG PIP_TRUSTED_HOST
ARG PIP_CERT
RUN apt-get update && apt-get install -y hello && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir iniconfig==2.0.0
"""
ELSE = WANTED.replace("iniconfig==2.0.0", "tomli-w==1.0.0")


class Cache:
    """The server on a network of its own. `start` begins it anew on what it has; `log` is what it said since."""

    def __init__(self, engine: DockerClient, image: str, bridge: str) -> None:
        self._engine = engine
        self._image = image
        self._network = engine.networks.create(f"facet-test-packages-{uuid4().hex[:8]}")
        self._volume = engine.volumes.create()
        self._bridge = bridge
        self._container: Container | None = None

    def start(self, *, dns: list[str] | None = None) -> str:
        """Its address, once it answers."""
        self._stop()
        self._container = self._engine.containers.run(
            self._image,
            detach=True,
            network=self._network.name,
            dns=dns or [],
            ports={"3142/tcp": (self._bridge, None)},
            volumes=[f"{self._volume.name}:/var/cache"],
        )
        for _ in range(100):
            self._container.reload()
            for port in self._container.ports.get("3142/tcp") or []:
                address = f"http://{self._bridge}:{port['HostPort']}"
                with suppress(requests.ConnectionError):
                    requests.get(address, timeout=10)
                    return address
            time.sleep(0.1)
        raise AssertionError(self._container.logs())

    def log(self) -> list[tuple[str, str]]:
        """How each request was answered, and for what: ("HIT", "mirror/path")."""
        assert self._container is not None
        lines = [line.split() for line in self._container.logs(stderr=False).decode().splitlines()]
        return [(line[0], line[3]) for line in lines]

    def close(self) -> None:
        self._stop()
        self._network.remove()
        self._volume.remove()

    def _stop(self) -> None:
        if self._container is not None:
            self._container.remove(force=True)


@pytest.fixture(scope="module")
def hosts(base_image: str) -> dict[str, str]:
    """What hosts.sh says of the base image."""
    command = ["docker", "run", "--rm", "-i", base_image, "sh"]
    said = subprocess.run(command, input=(PLACE / "hosts.sh").read_bytes(), capture_output=True, check=True)
    return dict(line.split("=", 1) for line in said.stdout.decode().splitlines())


@pytest.fixture(scope="module")
def image(engine: DockerClient, base_image: str, hosts: dict[str, str]) -> Iterator[str]:
    tag = "facet-test-package-cache"
    conf = re.sub(r"\$\{(PACKAGE_CACHE_\w+)\}", lambda variable: hosts[variable[1]], HASTY)
    context = pack([FileEntry(path="Dockerfile", content=IMAGE), FileEntry(path="nginx.conf", content=conf)])
    arguments = build_args(IMAGE, {}, base_image=base_image)
    engine.images.build(fileobj=BytesIO(context), custom_context=True, tag=tag, rm=True, buildargs=arguments)
    yield tag
    engine.images.remove(tag)


@pytest.fixture
def cache(engine: DockerClient, image: str, bridge: str) -> Iterator[Cache]:
    made = Cache(engine, image, bridge)
    yield made
    made.close()


@pytest.fixture
async def run(run_id: str, engine: DockerClient, assert_nothing_left: Callable[..., None]) -> AsyncIterator[str]:
    yield run_id
    assert_nothing_left(engine, run_id)


async def build(engine: DockerClient, run: str, base_image: str, address: str, dockerfile: str = WANTED) -> None:
    builder = DockerImageBuilder(engine, run_id=run, base_image=base_image, package_cache=address)
    wanted = BuildRequest(seed="cached", dockerfile=dockerfile, context=(), fresh=uuid4().hex)
    result = await builder.build(wanted)
    assert result.ok, result.log
    environment = engine.images.get(wanted.tag()).attrs["Config"]["Env"]
    assert not [value for value in environment if address in value]
    await builder.remove(wanted.tag())


async def test_what_one_build_fetched_is_there_for_the_others_also_while_mirrors_are_away(
    cache: Cache, engine: DockerClient, run: str, base_image: str
) -> None:
    assert HASTY.count("200 1s;") == 2 and "resolver_timeout 1s;" in HASTY
    await build(engine, run, base_image, cache.start())
    first = cache.log()
    packages = {what for _, what in first if what.endswith((".deb", ".whl"))}
    assert len(packages) >= 2 and {how for how, what in first if what in packages} == {"MISS"}
    assert any("hello" in package for package in packages) and any("iniconfig" in package for package in packages)

    await build(engine, run, base_image, cache.start())
    assert {how for how, what in cache.log() if what in packages} == {"HIT"}

    address = cache.start(dns=["127.0.0.1"])  # no name can be resolved
    await build(engine, run, base_image, address)
    away = dict(reversed(pair) for pair in cache.log())
    assert {away[package] for package in packages} == {"HIT"} and "STALE" in away.values()

    # What nobody fetched before is not there, and that is nobody's fault, although all the rest still is.
    with pytest.raises(InfrastructureError, match="packages cannot be fetched"):
        await build(engine, run, base_image, address, ELSE)


def test_one_build_cannot_put_a_file_in_another_ones_place(cache: Cache) -> None:
    """The parts of a name and what is accepted are not mixed up, and a name is not two."""
    address, page = cache.start(), "/simple/iniconfig/"

    def ask(path: str, accept: str) -> requests.Response:
        return requests.get(f"{address}{path}", headers={"Accept": accept}, timeout=30)

    shown = ask(page, "text/html").text
    found = re.search(r"/files/[^\"#]*iniconfig-2\.0\.0-py3-none-any\.whl", shown)
    assert found
    assert ask(found[0], ".metadata*/*").content.startswith(b"PK")
    described = ask(f"{found[0]}.metadata", "*/*")
    assert described.status_code == 404 or described.text.startswith("Metadata-Version")
    ask(page.replace("iniconfig", "six%2f..%2finiconfig"), "text/html")
    ask(page.replace("iniconfig", "iniconfig%2f..%2fsix"), "text/html")
    assert ask(page, "text/html").text == shown


def test_it_is_no_way_to_other_hosts(cache: Cache) -> None:
    address = cache.start()
    for elsewhere in ("http://example.com/", "http://169.254.169.254/latest/", "http://127.0.0.1:3143/"):
        assert requests.get(elsewhere, proxies={"http": address}, timeout=10).status_code == 403


def test_doctor_asks_it_as_a_build_does(cache: Cache) -> None:
    def found(given: str) -> list[tuple[bool, str]]:
        findings = examine(Settings(package_cache=given))
        return [(each.ok, each.detail) for each in findings if each.what == "package cache"]

    address = cache.start()
    assert found(address) == [(True, f"builds get packages through {address}")]
    ((ok, said),) = found(cache.start(dns=["127.0.0.1"]))
    assert not ok and "packages cannot be fetched" in said
