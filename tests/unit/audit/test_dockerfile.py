"""Strangers' Dockerfiles: who and where their containers are, and on what they are built here."""

import pytest

from facet_dagster.audit.dockerfile import Defaults, buildable, defaults, needs_buildkit
from facet_dagster.environment.dockerfile import render_dockerfile
from facet_dagster.records.environment import Materials

NOTHING = Materials(
    apt_packages=[], pip_packages=[], files=[], generators=[], setup_commands=[], services=[], properties=[]
)


@pytest.mark.parametrize(
    ("text", "user", "workdir"),
    [
        ("FROM a", None, None),
        ("FROM a\nUSER me\nWORKDIR /x\nWORKDIR y\n", "me", "/x/y"),
        ("FROM a\nuser me:staff\n", "me", None),
        ("FROM a AS one\nUSER me\nWORKDIR /x\nFROM b\n", None, None),
        ("FROM a AS one\nUSER me\nWORKDIR /x\nFROM one\nRUN true\n", "me", "/x"),
        ("ARG H=/srv\nFROM a\nENV D=$H/d\nWORKDIR ${D}\n", None, "/srv/d"),
        ("FROM a\nWORKDIR ${NONE:-/dflt}\n", None, "/dflt"),
        ("FROM a\nRUN echo \\\n  USER nobody\n# USER me\n", None, None),
        ("nonsense\n\n\x00", None, None),
    ],
)
def test_defaults(text: str, user: str | None, workdir: str | None) -> None:
    assert defaults(text) == Defaults(user, workdir)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("FROM a\nRUN <<EOF\nls\nEOF\n", True),
        ("FROM a\nCOPY <<'X' /x\nhello\nX\n", True),
        ("FROM a\nRUN --mount=type=cache,target=/x ls\n", True),
        ("FROM a\nCOPY --chmod=755 x /x\n", True),
        ("FROM a\nCOPY --chown=me:me x /x\nRUN cat <file && echo 1 << 2\n", False),
        ("FROM a\nCOPY --from=one x /x\n", False),
    ],
)
def test_what_the_classic_builder_does_not_know(text: str, wanted: bool) -> None:
    assert needs_buildkit(text) is wanted


def test_stand_ins_replace_whole_references_only() -> None:
    names = {"debian:12": "local:1", "facet-base": "facet-base:abc"}
    text = (
        "ARG B=debian:12\nFROM ${B} AS x\nfrom --platform=linux/amd64 debian:12\nFROM facet-base\nFROM debian:12-slim\n"
    )
    built = buildable(text, names, "mark")
    assert built.splitlines() == [
        "ARG B=local:1",
        "FROM ${B} AS x",
        "from --platform=linux/amd64 local:1",
        "FROM facet-base:abc",
        "FROM debian:12-slim",
        "# mark",
    ]


def test_our_own_tasks_are_built_on_the_local_base() -> None:
    built = buildable(render_dockerfile(NOTHING), {}, "mark")
    assert built == render_dockerfile(NOTHING, standalone=False).rstrip() + "\n# mark\n"


def test_a_base_of_its_own_is_not_replaced_by_ours() -> None:
    built = buildable("ARG BASE_IMAGE=python:3\nFROM ${BASE_IMAGE}\n", {}, "mark")
    assert "ARG BASE_IMAGE" not in built and "python:3" in built and "FROM ${TASK_BASE_IMAGE}" in built
    assert "ARG BASE_IMAGE\n" in buildable("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n", {}, "mark")
