"""Reading answers: what is forgiven, what is not, and that only Misfit ever comes out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.prompts.parse import Misfit, find_object, fit
from facet_dagster.records.base import Record


class Plan(Record):
    title: str
    steps: list[str]


PLAN = {"title": "t", "steps": ["a", "b"]}
TEXT = json.dumps(PLAN)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"Here is the plan:\n\n{TEXT}\n\nI hope that it {{helps}}.",
        f"```json\n{TEXT}\n```",
        f'<think>maybe {{"title": "no", "steps": ["x", "y", "z", "much longer than the answer"]}}</think>\n{TEXT}',
        f'An example is {{"title": ""}}; the answer: {TEXT}',
        f"{{not json}} {TEXT}",
        f"\ufeff{TEXT}",
    ],
)
def test_prose_fences_and_thoughts_around_the_object_are_forgiven(text: str) -> None:
    assert find_object(text) == PLAN


def test_raw_line_breaks_in_strings_are_forgiven() -> None:
    assert find_object('{"script": "a\n\tb"}') == {"script": "a\n\tb"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("I cannot do that.", "holds no JSON object"),
        ("[1, 2]", "holds no JSON object"),
        (TEXT[:-1], "broken or cut off"),
        (TEXT[:12], "broken or cut off"),
        ('{"title": "t", }', "broken or cut off"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_object_says_why(text: str, why: str) -> None:
    with pytest.raises(Misfit, match=why):
        find_object(text)


def test_a_cut_off_object_is_not_replaced_by_a_part_of_itself() -> None:
    """An inner object that happens to be whole is found, but it does not fit what was asked for."""
    with pytest.raises(Misfit):
        fit(find_object('{"title": "t", "extra": {"a": 1}, "steps": ["a"'), Plan)


@given(st.text() | st.text(alphabet='{}[]":,\\ab1 \n'))
def test_whatever_the_text_only_misfit_is_raised(text: str) -> None:
    try:
        assert isinstance(find_object(text), dict)
    except Misfit as misfit:
        assert "\n" not in str(misfit)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(alphabet="abc \n."), st.text(alphabet="abc \n."))
def test_an_object_comes_back_from_whatever_prose_surrounds_it(
    value: dict[str, object], before: str, after: str
) -> None:
    assert find_object(f"{before}{json.dumps(value)}{after}") == value


def test_fit_lists_the_problems_by_place() -> None:
    with pytest.raises(Misfit) as caught:
        fit({"steps": ["a", 1], "surprise": True}, Plan)
    message = str(caught.value)
    assert all(part in message for part in ("title: Field required", "steps.1: ", "surprise: Extra inputs"))


def test_fit_lists_at_most_ten_problems() -> None:
    with pytest.raises(Misfit) as caught:
        fit({"title": "t", "steps": list(range(50))}, Plan)
    assert str(caught.value).count("steps.") == 10


def test_a_thought_that_never_ends_says_nothing() -> None:
    with pytest.raises(Misfit):
        find_object('<think>maybe {"commands": [{"keystrokes": "rm -rf /app\\n"}]} no, because')
