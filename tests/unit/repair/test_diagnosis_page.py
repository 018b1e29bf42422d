"""The page on diagnosis says what the table does, row by row."""

from pathlib import Path

from facet_dagster.repair.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "diagnosis.md"
WORDS = {None: "a model decides", "named": "the one that it names"}


def test_the_page_lists_every_rule_in_order() -> None:
    expected = [f"| {r.symptom} | {WORDS.get(r.component, r.component)} |" for r in RULES]
    table = PAGE.read_text(encoding="utf-8").partition("| symptom | component |\n|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == expected
