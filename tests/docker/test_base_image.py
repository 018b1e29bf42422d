"""The base image holds what every task relies on, and its public recipe nothing local."""

import re

import pytest
from docker import DockerClient

from facet_dagster.adapters.base_image import ensure_base, host_bundle, recipe
from facet_dagster.adapters.docker_build_args import CA_BUNDLE
from facet_dagster.adapters.docker_sandbox import DockerSandbox
from facet_dagster.records.container import Command, ContainerSpec

pytestmark = pytest.mark.docker


async def test_what_every_task_relies_on(engine: DockerClient, run_id: str, base_image: str) -> None:
    checks = {
        "python3 -I -c 'import pytest, yaml'": "",
        "command -v tmux git jq sqlite3 make curl ps file unzip pip | wc -l": "10",
        "id -u agent": "1000",
        "stat -c '%U %a' /app": "agent 755",
        "stat -c '%U %a' /logs/verifier": "root 700",
        "python3 -c 'import sys; print(sys.getfilesystemencoding(), sys.stdout.encoding)'": "utf-8 utf-8",
        f"head -c 2 {CA_BUNDLE} | wc -c": "2",
        "env | grep -ci -e pip_cert -e proxy -e index": "0",
    }
    async with DockerSandbox(engine, run_id=run_id).open(
        ContainerSpec(image=base_image, seed="base", purpose="test")
    ) as container:
        seen = {script: (await container.run(Command(script=script, user="root"))).output.strip() for script in checks}
    assert seen == checks


def test_it_is_made_once(engine: DockerClient, base_image: str) -> None:
    said: list[str] = []
    assert ensure_base(engine, said.append) == base_image
    assert said == []


def test_the_recipe_stands_alone() -> None:
    text = recipe()
    assert "ARG BASE_IMAGE=debian:bookworm-slim\nFROM ${BASE_IMAGE}\n" in text
    assert not re.search(r"^(COPY|ADD)|ca\.crt|https?:", text, flags=re.MULTILINE | re.IGNORECASE)


def test_the_bundle_that_the_user_names_wins(tmp_path_factory: pytest.TempPathFactory) -> None:
    bundle = tmp_path_factory.mktemp("ca") / "ca.pem"
    bundle.write_text("x")
    assert host_bundle({"PIP_CERT": "/no/such/file", "SSL_CERT_FILE": str(bundle)}) == bundle
    assert host_bundle({}).is_file()
