"""The pictures and the page of the yields: of a store as a run leaves it, and of one that holds nothing."""

import re
import struct
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.testing.paper_store import fill
from facet_dagster.yields.pictures import PICTURES, Picture, draw_funnel, draw_rounds
from facet_dagster.yields.questions import question
from facet_dagster.yields.report import report_html
from facet_dagster.yields.views import run_query


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = str(tmp_path_factory.mktemp("full"))
    fill(ParquetStore(root), 12, draw=1)
    return root


def test_the_page_needs_nothing_else_and_tells_what_the_questions_answer(full: str) -> None:
    page = report_html(full, "a <b> store").decode()
    assert "Yields of a &lt;b&gt; store" in page and "default-src 'none'" in page
    assert page.count("<svg") == len(PICTURES) and "<script" not in page
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", page) and "url(http" not in page
    accepted = run_query(full, "funnel").set_index("station").loc["accepted", "count"]
    assert f'<span class="name">accepted tasks</span><b>{accepted}</b><span>from 12 seeds</span>' in page
    assert "the paper: 38.35 %" in page and question("kill_rate").about in page
    assert "#010203" not in page and "currentColor" in page


def test_the_page_of_an_empty_store(tmp_path: Path) -> None:
    page = report_html(str(tmp_path / "nothing"), "nothing").decode()
    assert "nothing to count yet" in page and "<b>–</b><span>of 0; the paper: 38.35 %</span>" in page


@pytest.mark.parametrize("one", PICTURES[:2], ids=lambda each: each.name)
def test_a_picture_is_a_png_too(one: Picture, full: str) -> None:
    png = one.png(run_query(full, one.question))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width > height > 300


def test_the_funnel_shows_counts_and_shares_each_unit_to_its_own_scale() -> None:
    axes = Figure().subplots()
    stations, ofs = ["skills read", "valid skills", "seeds"], [None, "skills read", None]
    frame = pd.DataFrame({"station": stations, "count": [80, 60, 3], "percent": [None, 75.0, None], "of": ofs})
    draw_funnel(axes, frame)
    assert [bar.get_width() for bar in axes.patches] == [1, 0.75, 1]
    assert [text.get_text() for text in axes.texts] == ["80", "60  (75 % of skills read)", "3"]


def test_rounds_are_stacked_by_ending() -> None:
    axes = Figure().subplots()
    draw_rounds(axes, pd.DataFrame({"rounds": [0, 2], "accepted": [3, 1], "rejected": [0, 2], "pending": [1, 0]}))
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(0, 3), (0, 1), (3, 0), (1, 2), (3, 1), (3, 0)]
