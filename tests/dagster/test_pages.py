"""Pages: odd content stays inside its fence, its cell and its bounds."""

from typing import Any

import dagster as dg
import pytest

from assets.markdown import LIMIT, cut, fenced, table
from assets.pages import flat, outcome_page, page, rejection_page
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.validation import Diagnosis


@pytest.mark.parametrize("text", ["```\ncode\n```", "`" * 17, "", "plain", "ends with `"])
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    lines = fenced(text, "bash").split("\n")
    fence = lines[-1]
    assert set(fence) == {"`"} and len(fence) >= 3
    assert lines[0] == f"{fence}bash"
    assert fence not in "\n".join(lines[1:-1])


def test_huge_text_is_cut_in_the_middle_and_says_so() -> None:
    text = "a" * LIMIT + "b" * LIMIT
    shown = cut(text)
    assert len(shown) < LIMIT + 100
    assert shown.startswith("a") and shown.endswith("b")
    assert f"{LIMIT:,} characters left out" in shown


def test_cells_are_one_line_and_cannot_break_the_table() -> None:
    value = table(("a", "b"), [("x|y\n<script>`", None)]).value
    assert value is not None
    assert value.split("\n")[-1] == "| x\\|y &lt;script>\\` |  |"


@pytest.mark.parametrize("component", list(Component))
def test_every_component_has_a_page_that_plots(component: Component, version_of: Any) -> None:
    metadata = page(version_of(component))
    event = dg.AssetMaterialization(component.value, metadata=metadata)
    for figure in ("round", "tokens", "cost_usd", "seconds"):
        assert isinstance(event.metadata[figure].value, int | float)
    assert len(event.metadata) > 6


def test_an_instruction_full_of_fences_is_shown_whole(version_of: Any) -> None:
    text = "Run\n````sh\nls\n````\n"
    shown = page(version_of(Component.INSTRUCTION, Instruction(text=text, clauses={})))["instruction"].value
    assert shown.startswith("`````markdown\n") and text in shown


def test_a_rejection_shows_component_reason_evidence_and_what_it_answered(version_of: Any) -> None:
    rejected = Rejected(component=Component.VERIFIER, reason=Reason.TEST_WEAKENED, evidence="test_r1 is gone")
    diagnosis = Diagnosis(
        component=Component.VERIFIER, reason=Reason.ORACLE_FAILED, evidence="AssertionError", decided_by="table"
    )
    version = version_of(Component.VERIFIER, rejected, round=2, diagnosis=diagnosis)
    shown = rejection_page(version, rejected)
    assert (shown["component"], shown["reason"], shown["round"]) == ("verifier", "test_weakened", 2)
    assert "test_r1 is gone" in shown["evidence"].value
    assert "AssertionError" in shown["answers"].value


def test_an_outcome_without_a_component_is_shown() -> None:
    outcome = SeedOutcome(
        seed="alpha", sequence=-1, status=Status.PENDING, first_pass=False, rounds=0, evidence="no engine", run_id="r",
        at=now(),
    )  # fmt: skip
    shown = outcome_page(outcome)
    assert (shown["status"], shown["reason"]) == ("pending", "")
    assert "no engine" in shown["evidence"].value


def test_cards_are_flattened() -> None:
    shown = flat({"rows": 3, "path": "a/b", "none": None, "names": ["x"], "by": {"k": 1}})
    assert (shown["rows"], shown["path"], shown["none"]) == (3, "a/b", "")
    assert shown["names"].value == ["x"] and shown["by"].value == {"k": 1}
