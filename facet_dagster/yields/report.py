"""The yield report as a picture: what every station left over, and how many repair rounds that took."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from facet_dagster.drawing import png_of
from facet_dagster.yields.views import run_query

_BLUE, _GREEN, _RED, _GREY = "#4c78a8", "#54a24b", "#e45756", "#bab0ac"


def yield_png(store_root: str) -> bytes:
    """Funnel and repair rounds of a store, side by side, as PNG. Raises what run_query raises."""
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    funnel, rounds = figure.subplots(1, 2, width_ratios=(3, 2))
    draw_funnel(funnel, run_query(store_root, "funnel"))
    draw_rounds(rounds, run_query(store_root, "rounds"))
    return png_of(figure, dpi=110)


def draw_funnel(axes: Axes, funnel: pd.DataFrame) -> None:
    """One bar per station, with its count and what share of the station before is left."""
    stations = funnel["station"].tolist()
    counts = funnel["count"].astype(int).tolist()
    shares = funnel["percent"].tolist()
    bars = axes.barh(stations, counts, color=_BLUE)
    labels = [str(n) if pd.isna(share) else f"{n}  ({share:g} %)" for n, share in zip(counts, shares, strict=True)]
    axes.bar_label(bars, labels=labels, padding=4)
    axes.invert_yaxis()
    axes.set_xlim(0, max([*counts, 1]) * 1.25)
    axes.set_title("What is left after every station")
    axes.spines[["top", "right"]].set_visible(False)


def draw_rounds(axes: Axes, rounds: pd.DataFrame) -> None:
    """Seeds by the repair rounds they took, stacked by how they ended."""
    numbers = rounds["rounds"].astype(int).tolist()
    below = [0] * len(numbers)
    for ending, colour in (("accepted", _GREEN), ("rejected", _RED), ("pending", _GREY)):
        counts = rounds[ending].astype(int).tolist()
        axes.bar(numbers, counts, bottom=below, color=colour, label=ending)
        below = [a + b for a, b in zip(below, counts, strict=True)]
    axes.set_xticks(numbers)
    axes.set_ylim(0, max([*below, 1]) * 1.15)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("repair rounds")
    axes.set_ylabel("seeds")
    axes.set_title("Repair rounds until the end")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
