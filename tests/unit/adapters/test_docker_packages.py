"""Which failed builds get a control, and what is said of one that fails (real ones: tests/docker/test_packages.py)."""

import re

import pytest

from facet_dagster.adapters.docker_packages import control_of, outage
from facet_dagster.environment.dockerfile import render_dockerfile
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult
from facet_dagster.records.environment import Materials
from facet_dagster.testing.examples import an_environment

NOTHING = an_environment().materials


def asks(materials: Materials) -> BuildRequest:
    return BuildRequest(seed="s", dockerfile=render_dockerfile(materials, standalone=False), context=())


@pytest.mark.parametrize(
    ("wanted", "fetches"),
    [
        ({}, []),
        ({"apt_packages": ["hello"]}, ["apt-get"]),
        ({"pip_packages": ["attrs"]}, ["curl"]),
        ({"apt_packages": ["hello"], "pip_packages": ["attrs"]}, ["apt-get", "curl"]),
    ],
)
def test_the_control_asks_for_what_the_build_wanted(wanted: dict[str, list[str]], fetches: list[str]) -> None:
    control = control_of(asks(NOTHING.model_copy(update=wanted)))
    assert re.findall(r"\b(?:apt-get|curl)\b", control.dockerfile if control else "") == fetches


def test_two_controls_share_nothing_and_strangers_tasks_have_none() -> None:
    request = asks(NOTHING.model_copy(update={"apt_packages": ["hello"]}))
    first, second = control_of(request), control_of(request)
    assert first and second and first.tag() != second.tag() != request.tag()
    strange = request.model_copy(update={"dockerfile": "FROM ubuntu:24.04\nRUN apt-get update\n"})
    assert control_of(strange) is None


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "Err:1 http://m/x InRelease\nE: The repository is not signed.\nThe command failed",
            "E: The repository is not signed.",
        ),
        ("E: The repository is not signed.\nE: Failed to fetch http://m/x  503", "E: Failed to fetch http://m/x  503"),
        ("curl: (7) Failed to connect\nThe command failed", "curl: (7) Failed to connect"),
        ("pip: the index answers 503\nThe command failed", "pip: the index answers 503"),
        (
            "Step 1/2\nStopped by the limit on time: 180 s for the whole build.",
            "Stopped by the limit on time: 180 s for the whole build.",
        ),
        ("", "no reason was given"),
    ],
)
def test_the_reason_is_the_line_that_tells_it(log: str, said: str) -> None:
    assert outage(BuildResult(image="i", fault=BuildFault.FAILED, log=log, seconds=1)) == said
