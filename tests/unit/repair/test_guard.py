"""Patches that are refused, and those that may be tried."""

import pytest

from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.environment import Environment
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Diagnosis
from facet_dagster.repair.guard import refuse
from facet_dagster.repair.strength import Strength, strength, weakened


def diagnosis(component: Component, decided_by: str = "table") -> Diagnosis:
    return Diagnosis.model_validate(
        {"component": component, "reason": Reason.ORACLE_FAILED, "evidence": "shown", "decided_by": decided_by}
    )


def test_a_patch_without_effect_is_refused(bodies: dict[Component, Record]) -> None:
    solution, verifier = bodies[Component.SOLUTION], bodies[Component.VERIFIER]
    environment = bodies[Component.ENVIRONMENT]
    assert isinstance(solution, Solution) and isinstance(verifier, Verifier) and isinstance(environment, Environment)
    patches: list[tuple[Record, Record, Component]] = [
        (solution, solution.model_copy(update={"workflow": "told anew"}), Component.SOLUTION),
        (solution, solution.model_copy(update={"script": solution.script + "  \n\n"}), Component.SOLUTION),
        (verifier, verifier.model_copy(update={"e0_copies": ()}), Component.VERIFIER),
        (environment, environment.model_copy(update={"build_seconds": 9.0}), Component.ENVIRONMENT),
    ]
    for before, after, component in patches:
        refused = refuse(before, after, diagnosis(component, "model"))
        assert refused is not None
        assert (refused.component, refused.reason) == (component, Reason.IDENTICAL_PATCH)


def test_a_real_change_may_be_tried(bodies: dict[Component, Record]) -> None:
    solution = bodies[Component.SOLUTION]
    assert isinstance(solution, Solution)
    patch = solution.model_copy(update={"script": "printf '%.2f' 12.5 > total.txt"})
    assert refuse(solution, patch, diagnosis(Component.SOLUTION)) is None


@pytest.mark.parametrize("clauses", [{"R1": "Write the total"}, {"R1": "Write the total", "R2": " "}])
def test_an_instruction_keeps_every_requirement(bodies: dict[Component, Record], clauses: dict[str, str]) -> None:
    before = bodies[Component.INSTRUCTION]
    assert isinstance(before, Instruction)
    refused = refuse(before, before.model_copy(update={"clauses": clauses}), diagnosis(Component.INSTRUCTION, "model"))
    assert refused is not None
    assert refused.reason is Reason.REQUIREMENT_LOST
    assert "R2" in refused.evidence


def patched(before: Verifier, old: str, new: str) -> Verifier:
    assert old in before.test_file
    names = tuple(new if name == old else name for name in before.tests)
    return before.model_copy(update={"test_file": before.test_file.replace(old, new), "tests": names})


def test_a_verifier_keeps_every_requirement_even_if_it_was_blamed(bodies: dict[Component, Record]) -> None:
    before = bodies[Component.VERIFIER]
    assert isinstance(before, Verifier)
    refused = refuse(
        before, patched(before, "test_r2_rejects", "test_r1_rejects"), diagnosis(Component.VERIFIER, "model")
    )
    assert refused is not None
    assert refused.reason is Reason.REQUIREMENT_LOST
    assert "R2" in refused.evidence


def test_fewer_checks_need_a_cited_contradiction(bodies: dict[Component, Record]) -> None:
    before = bodies[Component.VERIFIER]
    assert isinstance(before, Verifier)
    patch = patched(before, '    assert rows[0] == "line,reason"\n', "")
    refused = refuse(before, patch, diagnosis(Component.VERIFIER, "table"))
    assert refused is not None
    assert refused.reason is Reason.TEST_WEAKENED
    assert "2 tests with 3 checks before, 2 with 2 after" in refused.evidence
    assert refuse(before, patch, diagnosis(Component.VERIFIER, "model")) is None
    assert refuse(before, patch, diagnosis(Component.VERIFIER, "person")) is None


def test_a_gate_that_cites_a_hidden_name_allows_its_check_to_go(bodies: dict[Component, Record]) -> None:
    before = bodies[Component.VERIFIER]
    assert isinstance(before, Verifier)
    patch = patched(before, '    assert rows[0] == "line,reason"\n', "")
    found = diagnosis(Component.VERIFIER, "table").model_copy(update={"reason": Reason.HIDDEN_NAME})
    assert refuse(before, patch, found) is None


def test_as_many_checks_in_other_words_may_be_tried(bodies: dict[Component, Record]) -> None:
    before = bodies[Component.VERIFIER]
    assert isinstance(before, Verifier)
    patch = patched(before, 'assert total() == "12.50"', "assert float(total()) == 12.5")
    assert refuse(before, patch, diagnosis(Component.VERIFIER)) is None


def test_strength_counts_what_can_fail() -> None:
    text = "def check(x):\n    assert x\ndef test_a():\n    with pytest.raises(OSError):\n        check(1)\n"
    assert strength(text) == (1, Strength(checks=2, strict=0))
    assert strength("def broken(:") == (0, Strength(checks=0, strict=0))
    raised = "def test_a():\n    if one() != 1 or two() > 2:\n        raise AssertionError('no')\n"
    assert strength(raised) == (1, Strength(checks=1, strict=1))


def test_a_raised_assertion_may_not_vanish_or_loosen() -> None:
    before = "def test_r1_a():\n    if one() != 1:\n        raise AssertionError('no')\n"
    assert weakened(before, "def test_r1_a():\n    one()\n") is not None
    assert weakened(before, before.replace("!=", "<")) is not None
    assert weakened(before, "def test_r1_a():\n    assert one() == 1\n") is None
    assert weakened("def test_r1_a():\n    assert one() == 1\n", before) is None


LONG = """
def rows():
    found = open("/app/rejects.csv").read().splitlines()
    assert found, "empty"
    return found


def test_r1_total():
    assert open("/app/total").read() == "12.50"
    assert len(rows()) == 3


def test_r2_head():
    assert rows()[0] == "line,reason"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("assert len(rows()) == 3", "assert len(rows()) >= 3", "test_r1_total compared for equality 2 times before, 1"),
        ('assert rows()[0] == "line,reason"', 'assert "reason" in rows()[0]', "test_r2_head compared"),
        ('assert rows()[0] == "line,reason"', "assert rows()[0]", "test_r2_head compared"),
        (
            'def test_r2_head():\n    assert rows()[0] == "line,reason"',
            'def test_r2_first():\n    assert "reason" in rows()[0]',
            "3 comparisons for equality before, 2 after",
        ),
        ('assert rows()[0] == "line,reason"', 'assert rows()[0].startswith("line")', "test_r2_head compared"),
        (
            "    assert len(rows()) == 3\n\n\ndef test_r2_head():\n",
            "\n\ndef test_r2_head():\n    assert len(rows()) == 3\n",
            "test_r1_total made 3 checks before, 1 after",
        ),
    ],
)
def test_a_single_test_may_not_check_less(old: str, new: str, said: str) -> None:
    assert old in LONG
    found = weakened(LONG, LONG.replace(old, new))
    assert found is not None and found.startswith(said)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('assert open("/app/total").read() == "12.50"', 'assert float(open("/app/total").read()) == 12.5'),
        ("assert len(rows()) == 3", "assert len(rows()) == 3\n    assert rows()[1] > rows()[2]"),
        ("assert len(rows()) == 3", "wrong = [n for n in [len(rows())] if n != 3]\n    assert not wrong, wrong"),
        ("test_r2_head", "test_r2_header"),
        ("assert len(rows()) == 3", "check_three()\n\n\ndef check_three():\n    assert len(rows()) == 3"),
        ("", ""),
    ],
)
def test_other_words_are_not_weaker(old: str, new: str) -> None:
    assert weakened(LONG, LONG.replace(old, new, 1)) is None
