"""Which ADD the engine is not asked to fetch: anything of its own machine or network."""

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
    ],
)
def test_the_engine_fetches_nothing_from_its_own_network(added: str) -> None:
    assert refusal(f"ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}}\nARG URL=http://127.0.0.1/\nadd {added}\nRUN true\n")


@pytest.mark.parametrize("line", ["ADD https://example.org/a.tar.gz /x", "ADD data $HOME", "RUN curl http://127.0.0.1"])
def test_what_else_a_dockerfile_does_is_for_others_to_judge(line: str) -> None:
    assert refusal(f"FROM x\n{line}\n") is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    said = refusal(text)
    assert said is None or (said.startswith("ADD ") and len(said) < 400)
