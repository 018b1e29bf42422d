"""Two classes in one: the model's before the rules', and nothing known is hidden."""

from typing import Any, Literal

import pytest

from facet_dagster.records.skill import Family, SkillClass, one_class


def view(by: Literal["rule", "model"], actionable: bool | None, **place: Any) -> SkillClass:
    return SkillClass(content_hash="c", actionable=actionable, decided_by=by, evidence=by, **place)


AI = {"family": Family.AI, "category": "a"}
DATA = {"family": Family.DATA, "category": "d"}


@pytest.mark.parametrize(
    ("rule", "model", "expected"),
    [
        (view("rule", None, **AI), view("model", False, **DATA), (False, Family.DATA, "d")),
        (view("rule", True, **AI), view("model", None), (True, Family.AI, "a")),
        (view("rule", True, **AI), view("model", True, family=Family.DATA), (True, Family.AI, "a")),
        (view("rule", True, family=Family.AI), view("model", True), (True, Family.AI, None)),
        (view("rule", True), view("model", False, family=Family.DATA), (False, Family.DATA, None)),
    ],
)
def test_the_model_goes_first(rule: SkillClass, model: SkillClass, expected: tuple[bool, Family, str | None]) -> None:
    found = one_class(rule, model)
    assert found is not None
    assert (found.actionable, found.family, found.category) == expected
    assert (found.decided_by, found.evidence) == ("model", "model")


def test_one_alone_is_that_one() -> None:
    assert one_class(view("rule", None), None) == view("rule", None)
    assert one_class(None, view("model", True)) == view("model", True)
    assert one_class(None, None) is None
