"""The pictures of the yield report, each drawn from the answer to one ready question.

As PNG for asset pages, and as SVG for the HTML page, where text and lines take the colour of the page.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from facet_dagster.drawing import drawable, png_of
from facet_dagster.statistics import wilson

_BLUE, _GREEN, _RED, _GREY, _ORANGE = "#4c78a8", "#54a24b", "#e45756", "#9aa0a6", "#f58518"
_INK = "#010203"  # stands for the colour of the page's text
_LEAST, _MOST = 4, 16  # bars of one picture that there is room for


@dataclass(frozen=True)
class Picture:
    """One picture: the ready question that it is drawn from, its size in inches, and what it tells."""

    name: str
    question: str
    title: str
    draw: Callable[[Axes, pd.DataFrame], None]
    size: tuple[float, float] = (6.4, 3.6)

    def png(self, answer: pd.DataFrame) -> bytes:
        """Drawn on white."""
        return png_of(self._figure(answer), dpi=110)

    def svg(self, answer: pd.DataFrame) -> str:
        """An <svg> element without a ground; its text stays text, in the colour and the font of the page."""
        style: dict[Any, Any] = dict.fromkeys(
            ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), _INK
        )
        style |= {"svg.fonttype": "none", "svg.hashsalt": self.name, "font.family": "sans-serif"}
        buffer = io.StringIO()
        with mpl.rc_context(style):
            figure = self._figure(answer)
            names = ("Creator", "Date", "Format", "Type")
            figure.savefig(buffer, format="svg", transparent=True, metadata=dict.fromkeys(names))
        text = buffer.getvalue()
        return text[text.index("<svg") :].replace(_INK, "currentColor")

    def _figure(self, answer: pd.DataFrame) -> Figure:
        figure = Figure(figsize=self.size, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        axes.set_title(self.title, fontsize=11, fontweight="bold", loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        if answer.empty:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "nothing to count yet", ha="center", va="center", transform=axes.transAxes)
        else:
            self.draw(axes, answer)
        return figure


def draw_funnel(axes: Axes, funnel: pd.DataFrame) -> None:
    """One bar per station, with its count and its share of the station that it is measured by.

    Skills, seeds and trials each have a scale of their own: the first of them fills it.
    """
    counts = funnel["count"].astype(int).tolist()
    units = funnel["of"].isna().cumsum()
    lengths = (funnel["count"] / funnel.groupby(units)["count"].transform("max").clip(lower=1)).tolist()
    rows = zip(counts, funnel["percent"].tolist(), funnel["of"].tolist(), strict=True)
    labels = [f"{n:,}" if pd.isna(share) else f"{n:,}  ({share:g} % of {of})" for n, share, of in rows]
    colours = {"successes": _GREEN, "accepted": _GREEN, "first-pass valid": _GREEN}
    stations = funnel["station"].tolist()
    bars = axes.barh(stations, lengths, color=[colours.get(station, _BLUE) for station in stations])
    axes.bar_label(bars, labels=labels, padding=4, fontsize=9)
    _from_above(axes)
    axes.set_xlim(0, 1.4)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)


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
    axes.legend(frameon=False)


def draw_repairs(axes: Axes, repairs: pd.DataFrame) -> None:
    """What was valid by each round, and how many of those that entered it a round made valid; the paper's two marks."""
    rounds = repairs["round"].astype(int).tolist()
    gains = repairs["gain_percent"].tolist()
    bars = axes.bar(rounds, gains, color=_BLUE, width=0.6, label="made valid, of those that entered the round")
    axes.bar_label(bars, labels=[f"{gain:.0f} %" for gain in gains], fontsize=8, label_type="center")
    axes.plot(rounds, repairs["accepted_by_then_percent"], color=_GREEN, marker="o", label="valid by then, of all")
    for value, word in ((38.35, "at first"), (81.63, "in the end")):
        axes.axhline(value, color=_ORANGE, linestyle=":", linewidth=1.2)
        axes.text(max(rounds) + 0.45, value, f"paper, {word}", color=_ORANGE, fontsize=8, va="bottom", ha="right")
    axes.set_xticks(rounds)
    axes.set_ylim(0, 118)
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.set_xlabel("repair round (0 is the first pass)")
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)


def draw_categories(axes: Axes, categories: pd.DataFrame) -> None:
    """Valid at the first pass, and after repair, of the seeds of each category that have ended."""
    frame = categories[categories["ended"] > 0].head(_MOST)
    names = [drawable(f"{row.category} · {row.family}", 44) for row in frame.itertuples()]
    first = frame["first_pass_percent"].tolist()
    rest = (frame["accepted_percent"] - frame["first_pass_percent"]).tolist()
    axes.barh(names, first, color=_GREEN, label="at the first pass")
    bars = axes.barh(names, rest, left=first, color=_BLUE, label="after repair")
    shares = zip(frame["accepted_percent"].tolist(), frame["ended"].tolist(), strict=True)
    axes.bar_label(bars, labels=[f"{share:g} % of {ended}" for share, ended in shares], padding=4, fontsize=8)
    _from_above(axes)
    axes.set_xlim(0, 130)
    axes.set_xticks(range(0, 101, 25))
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2)


def draw_failures(axes: Axes, rejections: pd.DataFrame) -> None:
    """The reasons met in most seeds, and in how many of them they were the end."""
    frame = rejections.head(_MOST)
    names = [f"{row.component}: {row.reason}" for row in frame.itertuples()]
    bars = axes.barh(names, frame["seeds"].astype(int).tolist(), color=_GREY, label="seeds that met it")
    axes.barh(names, frame["seeds_ended"].astype(int).tolist(), color=_RED, label="seeds that ended so")
    axes.bar_label(bars, padding=4, fontsize=8)
    _from_above(axes)
    axes.set_xlim(0, max([*frame["seeds"].tolist(), 1]) * 1.15)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw_cost(axes: Axes, cost: pd.DataFrame) -> None:
    """Tokens of each station, sent and received, with what they cost; replayed calls where nothing was paid."""
    frame = cost[cost["station"] != "all stations"]
    frame = frame[frame["answers"] == ("paid" if (frame["answers"] == "paid").any() else "recorded")]
    names, sent = frame["station"].tolist(), frame["prompt_tokens"].tolist()
    axes.barh(names, sent, color=_BLUE, label="tokens sent")
    bars = axes.barh(names, frame["completion_tokens"].tolist(), left=sent, color=_ORANGE, label="tokens received")
    axes.bar_label(bars, labels=[f"{usd:,.2f} USD" for usd in frame["cost_usd"]], padding=4, fontsize=8)
    _from_above(axes)
    axes.set_xlim(0, max([*(frame["prompt_tokens"] + frame["completion_tokens"]).tolist(), 1]) * 1.25)
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def draw_task_cost(axes: Axes, tasks: pd.DataFrame) -> None:
    """How accepted tasks spread over what their own calls cost: US dollars, or tokens where nothing was paid."""
    paid = float(tasks["cost_usd"].sum()) > 0
    values, unit = (tasks["cost_usd"], "US dollars") if paid else (tasks["tokens"], "tokens (nothing was paid)")
    _histogram(axes, values.tolist(), unit, "accepted tasks")
    axes.xaxis.set_major_formatter(FuncFormatter(_short))


def draw_tests(axes: Axes, tasks: pd.DataFrame) -> None:
    """How accepted tasks spread over the number of their test functions."""
    _histogram(
        axes, tasks["tests"].dropna().tolist(), "test functions (the paper's 22.8 are pytest items)", "accepted tasks"
    )


def draw_teacher(axes: Axes, teacher: pd.DataFrame) -> None:
    """Share of graded attempts that succeeded, by model, with its interval of 95 %; the paper's mark."""
    frame = teacher[teacher["graded"] > 0].head(_MOST)
    rows = frame.to_dict("records")
    names = [drawable(f"{row['model']}{' (recorded)' if row['recorded'] else ''}", 40) for row in rows]
    shares = [float(row["successes"] / row["graded"]) for row in rows]
    bounds = [wilson(share, int(row["graded"])) for share, row in zip(shares, rows, strict=True)]
    below = [100 * (share - low) for share, (low, _) in zip(shares, bounds, strict=True)]
    above = [100 * (high - share) for share, (_, high) in zip(shares, bounds, strict=True)]
    bars = axes.barh(
        names, [100 * share for share in shares], xerr=(below, above), color=_GREEN, ecolor=_INK, height=0.5
    )
    labels = [f"{row['successes']:,} of {row['graded']:,}" for row in rows]
    axes.bar_label(bars, labels=labels, fontsize=8, padding=4)
    axes.axvline(20.94, color=_ORANGE, linestyle=":", linewidth=1.2, label="paper: 20.94 % (DeepSeek-V4-Pro)")
    _from_above(axes)
    axes.set_xlim(0, 125)
    axes.set_xticks(range(0, 101, 20))
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1))


PICTURES = (
    Picture("funnel", "funnel", "What is left after every station", draw_funnel, (13.0, 4.2)),
    Picture("repairs", "repairs", "What each repair round brings", draw_repairs),
    Picture("rounds", "rounds", "Repair rounds until the end", draw_rounds),
    Picture("categories", "categories", "Valid tasks by category of the skills", draw_categories, (6.4, 4.8)),
    Picture("failures", "rejections", "What goes wrong", draw_failures, (6.4, 4.8)),
    Picture("teacher", "teacher", "Success of the teacher", draw_teacher),
    Picture("tests", "per_task", "Tests per accepted task", draw_tests),
    Picture("cost", "cost", "Tokens and money by station", draw_cost),
    Picture("task_cost", "per_task", "What an accepted task costs, its own calls", draw_task_cost),
)


def picture(name: str) -> Picture:
    """One of them."""
    return next(each for each in PICTURES if each.name == name)


def _from_above(axes: Axes) -> None:
    """Horizontal bars in the order given; a single one does not fill the picture."""
    bars = len(axes.get_yticks())
    axes.set_ylim(max(bars, _LEAST) - 0.4, -0.6)


def _histogram(axes: Axes, values: Sequence[float], unit: str, what: str) -> None:
    axes.hist(values, bins=min(24, max(len(set(values)), 1)), color=_BLUE, rwidth=0.92)
    if values:
        mean = sum(values) / len(values)
        axes.axvline(mean, color=_GREEN, linewidth=1.5, label=f"mean {_short(mean)}")
        axes.legend(frameon=False, fontsize=8)
    axes.set_xlabel(unit)
    axes.set_ylabel(what)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _short(value: float, _place: object = None) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"
