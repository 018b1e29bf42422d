"""Which ADD the engine is not asked to fetch: anything of its own machine or network."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.adapters.docker_build_refusals import refusal


@pytest.mark.parametrize(
    "added",
    [
        "http://127.0.0.1:3000/graphql /x",
        "HTTP://localhost/x /x",
        "http://169.254.169.254/latest/meta-data/ /x",
        "http://10.0.0.1/a http://192.168.1.1/b /x/",
        "http://[::1]:80/ /x",
        "http://2130706433/ /x",
        "http://0x7f.1/ /x",
        "http://minio:9000/store /x",
        "http://db.internal/ /x",
        "http://user@127.0.0.1/ /x",
        "--chown=1:1 http://127.0.0.1/ /x",
        '["http://127.0.0.1/a", "/x"]',
        "\\\n  http://127.0.0.1/ \\\n  /x",
        "http://${HOST}/x /x",
        "$URL /x",
        "http://[broken/ /x",
        '["$URL", "/x"]',
        '["\\u0024URL", "/x"]',
        "--chown=root $URL /x",
        "a $URL /x/",
        "h$REST /x",
        "\\\n\n  \\\n \t\n http://127.0.0.1/ /x",
        "\\\n  # a comment\n# another\n http://127.0.0.1/ /x",
        "ht\\\ntp://127.0.0.1/ /x",
        "ht\\\r\ntp://127.0.0.1/ /x",
        "ht\\tp://127.0.0.1/ /x",
        "h't'tp://127.0.0.1/ /x",
        "http://example.org,x@127.0.0.1/ /x",
        '["http://example.org]x@127.0.0.1/", "/x"]',
        '["http://127.0.0.1/", "/x"] more',
        '["a", "b"] http://127.0.0.1/ /x',
        "\v http://127.0.0.1/ /x",
        "http://x.\uff4cocalhost/ /x",
    ],
)
def test_the_engine_fetches_nothing_from_its_own_network(added: str) -> None:
    assert refusal(f"ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}}\nARG URL=http://127.0.0.1/\nadd {added}\nRUN true\n")


@pytest.mark.parametrize(
    "dockerfile",
    [
        "FROM x\nAD\\\nD http://127.0.0.1/ /x\n",
        "FROM x\nA\\ \t\n\n#\nDD http://127.0.0.1/ /x\n",
        "FROM x\nADD\vhttp://127.0.0.1/ /x\n",
        "FROM x\nONBUILD\\\n ADD http://127.0.0.1/ /x",
        "FROM x\nRUN echo \\\\\nADD http://127.0.0.1/ /x\n",
        "FROM x\nRUN echo \\\n\x1c\nADD http://127.0.0.1/ /x\n",
        "FROM x\n# a comment \\\nADD http://127.0.0.1/ /x\n",
        "# escape=`\nFROM x\nADD `\n http://127.0.0.1/ /x\n",
        "\ufeff#Escape = `\r\nFROM x\r\n",
        "# syntax=docker/dockerfile:1\n# escape=`\nFROM x\n",
    ],
)
def test_no_spelling_hides_it(dockerfile: str) -> None:
    assert refusal(dockerfile)


@pytest.mark.parametrize(
    "line",
    [
        "RUN git \\\n  add $FILES",
        "RUN echo \\\n # a comment\n\n add http://127.0.0.1/",
        "# escape=`",
        'ADD ["https://example.org/a.tar.gz", "$HOME/"]',
        "ADD https://[2606:4700::1111]/a /x",
    ],
)
@pytest.mark.parametrize("head", ["", "# escape=\\\n", "# escape is nothing here\n"])
def test_what_only_looks_like_it_is_let_pass(head: str, line: str) -> None:
    assert refusal(f"{head}FROM x\n{line}\n") is None


@given(
    st.lists(st.text("abcABC019./_*", min_size=1, max_size=9), min_size=2, max_size=4),
    st.sampled_from(["ADD ", "add ", "ADD --chown=1:1 ", "ONBUILD ADD ", "ADD \\\n\n  # why\n  "]),
    st.booleans(),
)
def test_files_of_the_context_are_added(names: list[str], instruction: str, listed: bool) -> None:
    added = json.dumps(names) if listed else " ".join(names)
    assert refusal(f"FROM x\n{instruction}{added}\nRUN true\n") is None


@pytest.mark.parametrize("line", ["ADD https://example.org/a.tar.gz /x", "ADD data $HOME", "RUN curl http://127.0.0.1"])
def test_what_else_a_dockerfile_does_is_for_others_to_judge(line: str) -> None:
    assert refusal(f"FROM x\n{line}\n") is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    said = refusal(text)
    assert said is None or (said.startswith(("ADD ", "# escape")) and len(said) < 400)
