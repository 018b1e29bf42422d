"""The yield report as one HTML page that needs nothing else: figures beside the paper's, pictures and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined
from markupsafe import Markup

from facet_dagster.records.base import now
from facet_dagster.yields.pictures import PICTURES
from facet_dagster.yields.questions import Question, question
from facet_dagster.yields.views import is_missing, run_queries

TEMPLATE = Path(__file__).parent / "report.html.j2"
TABLES = (
    "paper", "funnel", "categories", "models", "repairs", "answered", "rejections", "tests", "kill_rate", "teacher",
    "accepted_cost", "cost", "usage", "days", "time",
)  # fmt: skip
_ROWS = 60  # of one table


@dataclass(frozen=True)
class Tile:
    """One headline figure and what is said beneath it."""

    name: str
    value: str
    beneath: str


@dataclass(frozen=True)
class Shown:
    """A ready question with its answer as text; `left_out` rows are not shown."""

    question: Question
    rows: list[list[str]]
    numeric: list[bool]
    left_out: int


def report_html(store_root: str, name: str) -> bytes:
    """The report on a store, under a name for it. Raises what run_queries raises."""
    answers = run_queries(store_root, [*TABLES, *(each.question for each in PICTURES)])
    jinja = Jinja(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = jinja.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        name=name,
        made=f"{now():%Y-%m-%d %H:%M} UTC",
        tiles=_tiles(answers),
        recorded=bool((answers["cost"]["answers"] == "recorded").any()),
        pictures=[(each, Markup(each.svg(answers[each.question]))) for each in PICTURES],
        tables=[_shown(question(each), answers[each]) for each in TABLES],
    )
    return page.encode(errors="replace")


def _tiles(answers: dict[str, pd.DataFrame]) -> list[Tile]:
    counts = answers["funnel"].set_index("station")["count"]
    tiles = [Tile("accepted tasks", f"{counts['accepted']:,}", f"from {counts['seeds']:,} seeds")]
    figures = answers["paper"].set_index("figure")
    for figure, name, unit in (
        ("valid at the first pass", "valid at the first pass", " %"),
        ("valid in the end", "valid in the end", " %"),
        ("tests per task (pytest items)", "tests per task", ""),
        ("success of the teacher", "success of the teacher", " %"),
    ):
        row: Any = figures.loc[figure]
        ours = "–" if pd.isna(row["ours"]) else f"{row['ours']:.1f}{unit}"
        tiles.append(Tile(name, ours, f"of {row['of']:,}; the paper: {row['paper']:g}{unit}"))
    spent = answers["accepted_cost"].set_index("per")
    if "accepted task" in spent.index:
        row = spent.loc["accepted task"]
        beneath = f"{row['tokens']:,} tokens, all seeds counted"
        tiles.append(Tile("per accepted task", f"{row['cost_usd']:,.2f} USD", beneath))
    return tiles


def _shown(asked: Question, answer: pd.DataFrame) -> Shown:
    rows = [[_cell(value) for value in row] for row in answer.head(_ROWS).itertuples(index=False)]
    numeric = [pd.api.types.is_numeric_dtype(answer[column]) for column in answer.columns]
    return Shown(asked, rows, numeric, max(0, len(answer) - _ROWS))


def _cell(value: object) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
