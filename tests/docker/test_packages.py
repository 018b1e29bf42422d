"""Builds that want packages while nobody gives them any: trouble, not a fault of the Dockerfile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from facet_dagster.adapters.docker_builder import DockerImageBuilder
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.container import BuildFault, BuildRequest

pytestmark = pytest.mark.docker

HEAD = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nARG PIP_INDEX_URL\nARG PIP_TRUSTED_HOST\nARG PIP_CERT\n"
APT = f"{HEAD}RUN apt-get update && apt-get install -y no-such-package-at-all\n"
PIP = f"{HEAD}RUN pip install --no-cache-dir no-such-package-at-all-x\n"
NOBODY = "127.0.0.1:9"


def asks_for(dockerfile: str) -> BuildRequest:
    return BuildRequest(seed="packages", dockerfile=dockerfile, context=())


@contextmanager
def server_that_says(status: int, bridge: str) -> Iterator[str]:
    """A server that builds can reach; its address without a scheme."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer((bridge, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{bridge}:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("dockerfile", [APT, PIP])
async def test_a_package_that_does_not_exist_is_a_failed_build(builder: DockerImageBuilder, dockerfile: str) -> None:
    result = await builder.build(asks_for(dockerfile))
    assert result.fault is BuildFault.FAILED and "no-such-package-at-all" in result.log


@pytest.mark.parametrize(("variable", "dockerfile"), [("http_proxy", APT), ("PIP_INDEX_URL", PIP)])
async def test_what_does_not_answer_is_trouble(
    builder: DockerImageBuilder, monkeypatch: pytest.MonkeyPatch, variable: str, dockerfile: str
) -> None:
    monkeypatch.setenv(variable, f"http://{NOBODY}/simple")
    with pytest.raises(InfrastructureError, match=r"packages cannot be fetched: (E|curl): .*[Cc]onnect"):
        await builder.build(asks_for(dockerfile))


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize(("variable", "dockerfile"), [("http_proxy", APT), ("PIP_INDEX_URL", PIP)])
async def test_what_answers_that_it_cannot_is_trouble(
    builder: DockerImageBuilder,
    bridge: str,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    variable: str,
    dockerfile: str,
) -> None:
    with server_that_says(status, bridge) as place:
        monkeypatch.setenv(variable, f"http://{place}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", place.partition(":")[0])
        with pytest.raises(InfrastructureError, match=rf"packages cannot be fetched: .*\b(?<!:){status}\b"):
            await builder.build(asks_for(dockerfile))


async def test_an_index_that_lacks_the_package_of_the_control_gives_a_verdict(
    builder: DockerImageBuilder, bridge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server_that_says(404, bridge) as place:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://{place}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", place.partition(":")[0])
        assert (await builder.build(asks_for(PIP))).fault is BuildFault.FAILED


async def test_a_build_that_fetches_nothing_is_judged_without_a_network(
    builder: DockerImageBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://{NOBODY}")
    assert (await builder.build(asks_for(f"{HEAD}RUN exit 3\n"))).fault is BuildFault.FAILED
