"""Counts as horizontal bars, a PNG for an asset's page. What is counted is the caller's."""

from collections.abc import Mapping

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from facet_dagster.drawing import png_of

MOST = 40  # bars of one picture; the rest is added up
_BLUE = "#4c78a8"


def bars_png(title: str, counts: Mapping[str, int]) -> bytes:
    """One bar per name in the order given, each with its count and its share of all."""
    names, values = _cut(counts)
    figure = Figure(figsize=(9, 0.9 + 0.28 * max(len(names), 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    bars = axes.barh(names, values, color=_BLUE)
    total = sum(values)
    axes.bar_label(bars, labels=[f"{value:,}  ({value / total:.1%})" for value in values], padding=4)
    axes.invert_yaxis()
    axes.set_xlim(0, max([*values, 1]) * 1.2)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure)


def _cut(counts: Mapping[str, int]) -> tuple[list[str], list[int]]:
    names, values = list(counts), list(counts.values())
    if len(names) <= MOST:
        return names, values
    return [*names[:MOST], f"{len(names) - MOST} others"], [*values[:MOST], sum(values[MOST:])]
