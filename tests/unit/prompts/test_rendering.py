"""Prompt files: all of them parse, rendering is strict, foreign text cannot leave its frame."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import SandboxedEnvironment

from facet_dagster.prompts.rendering import FOLDER, names, quoted, render
from facet_dagster.records.base import digest_of

FILES = sorted(FOLDER.rglob("*.md.j2"))


@pytest.mark.parametrize("name", [path.relative_to(FOLDER).as_posix() for path in FILES])
def test_every_prompt_parses(name: str) -> None:
    environment = SandboxedEnvironment(loader=jinja2.FileSystemLoader(FOLDER))
    environment.filters["quoted"] = quoted
    assert environment.get_template(name).name == name


def test_every_prompt_file_has_a_name() -> None:
    assert len(names()) == len(FILES)
    assert "shared/contract" in names()


def test_a_missing_variable_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("shared/contract", {"schema": "{}"})


def test_the_hash_is_that_of_the_template_and_not_of_the_text() -> None:
    variables = {"looks": 0, "commands_per_look": 8, "may_refuse": False}
    one = render("shared/contract", {**variables, "schema": "{}"})
    other = render("shared/contract", {**variables, "schema": "[]"})
    assert one.text != other.text
    source = (FOLDER / "shared" / "contract.md.j2").read_text(encoding="utf-8")
    assert one.prompt_hash == other.prompt_hash == digest_of(source)


def test_variables_are_data_and_not_templates() -> None:
    variables = {"looks": 0, "commands_per_look": 8, "may_refuse": False, "schema": "{{ 7 * 7 }}"}
    assert "{{ 7 * 7 }}" in render("shared/contract", variables).text


@given(st.text(alphabet="ab</>skil\n") | st.text(), st.integers(10, 50))
def test_quoted_text_cannot_close_its_frame(text: str, limit: int) -> None:
    framed = quoted(text, "skill", limit)
    assert framed.startswith("<skill>\n")
    assert framed.endswith("\n</skill>")
    assert framed.count("</skill") == 1


def test_long_text_is_cut_in_the_middle() -> None:
    framed = quoted("a" * 100 + "b" * 100, "log", 20)
    assert framed == f"<log>\n{'a' * 10}\n[… 180 characters left out …]\n{'b' * 10}\n</log>"
