"""The picture of the yields: drawn from figures, and from a store that holds nothing."""

import struct
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from facet_dagster.yields.report import draw_funnel, draw_rounds, yield_png


def test_an_empty_store_gives_a_picture(tmp_path: Path) -> None:
    png = yield_png(str(tmp_path / "nothing"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width > height > 300


def test_the_funnel_shows_counts_and_shares() -> None:
    axes = Figure().subplots()
    frame = pd.DataFrame({"station": ["skills read", "valid skills"], "count": [80, 60], "percent": [None, 75.0]})
    draw_funnel(axes, frame)
    assert [bar.get_width() for bar in axes.patches] == [80, 60]
    assert [text.get_text() for text in axes.texts] == ["80", "60  (75 %)"]


def test_rounds_are_stacked_by_ending() -> None:
    axes = Figure().subplots()
    draw_rounds(axes, pd.DataFrame({"rounds": [0, 2], "accepted": [3, 1], "rejected": [0, 2], "pending": [1, 0]}))
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(0, 3), (0, 1), (3, 0), (1, 2), (3, 1), (3, 0)]
