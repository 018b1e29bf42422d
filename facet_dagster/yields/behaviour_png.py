"""The behaviour of models as pictures: their figures beside the paper's, transitions, the most frequent commands."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from facet_dagster.drawing import drawable, png_of
from facet_dagster.yields.behaviour import END, PAPER, Behaviour
from facet_dagster.yields.observing import Kind

MOST = 6  # groups in one picture
_GREY = "#bab0ac"
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2")
_SHARES = {
    "observation_first_turn": "first turn\nobserves only",
    "observation_share": "commands\nthat observe",
    "act_to_observe": "after an action:\nobservation",
    "act_to_act": "after an action:\naction",
    "top_3": "top 3\ncommands",
    "top_10": "top 10\ncommands",
    "missed_1_2": "failures that miss\n1-2 checks",
    "checks_satisfied": "checks\nsatisfied",
}


def figures_png(found: Sequence[Behaviour]) -> bytes:
    """The shares as bars, the paper's in grey."""
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    groups: list[tuple[str, Mapping[str, float | None], str]] = [("paper (successes)", {**PAPER}, _GREY)]
    groups += [
        (f"{each.model} ({each.outcome})", each.figures(), colour)
        for each, colour in zip(found[:MOST], _COLOURS, strict=False)
    ]
    width = 0.8 / len(groups)
    for number, (label, values, colour) in enumerate(groups):
        places = [place - 0.4 + (number + 0.5) * width for place in range(len(_SHARES))]
        heights = [100 * (values.get(name) or 0.0) for name in _SHARES]
        bars = axes.bar(places, heights, width * 0.92, color=colour, label=label)
        known = [values.get(name) is not None for name in _SHARES]
        axes.bar_label(
            bars, [f"{h:.0f}" if k else "–" for h, k in zip(heights, known, strict=True)], fontsize=8, padding=1
        )
    axes.set_xticks(range(len(_SHARES)), list(_SHARES.values()), fontsize=9)
    axes.set_ylim(0, 115)
    axes.set_ylabel("per cent")
    axes.set_title("How the models work, beside the paper's teacher")
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure)


def details_png(found: Sequence[Behaviour]) -> bytes:
    """Per group: the transition table as a heat map, and the most frequent commands."""
    shown = found[:MOST]
    figure = Figure(figsize=(11, max(1, len(shown)) * 3.1), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(max(1, len(shown)), 2, squeeze=False, width_ratios=(2, 3))
    for (left, right), each in zip(grid, shown, strict=False):
        _draw_transitions(left, each)
        _draw_top(right, each)
    return png_of(figure)


def _draw_transitions(axes: Axes, each: Behaviour) -> None:
    before, after = [Kind.OBSERVE.value, Kind.ACT.value], [Kind.OBSERVE.value, Kind.ACT.value, END]
    shares = [[each.share(b, a) or 0.0 for a in after] for b in before]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, b in enumerate(before):
        for column, a in enumerate(after):
            share, count = shares[row][column], each.transitions.get((b, a), 0)
            colour = "white" if share > 0.5 else "black"
            axes.text(column, row, f"{share:.1%}\n{count:,}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(after)), after)
    axes.set_yticks(range(len(before)), before)
    axes.set_title(f"{each.model} ({each.outcome}): what follows on what", fontsize=9)


def _draw_top(axes: Axes, each: Behaviour) -> None:
    top = each.top[:10]
    bars = axes.barh([drawable(name, 24) for name, _ in top], [count for _, count in top], color=_COLOURS[0])
    axes.bar_label(bars, [f"{count:,}  ({count / each.commands:.1%})" for _, count in top], padding=4, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max([count for _, count in top] or [1]) * 1.3)
    axes.set_title(f"most frequent of {each.commands:,} commands in {each.trials:,} trials", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
