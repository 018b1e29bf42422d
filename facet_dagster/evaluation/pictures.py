"""An evaluation as pictures: pass rates and pass@k with intervals, and every task with what each model made of it."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from facet_dagster.drawing import drawable, png_of
from facet_dagster.records.evaluation import Evaluation, Interval

MOST = 60  # tasks in one picture
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2")


def scores_png(evaluation: Evaluation) -> bytes:
    """Mean pass rate and pass@k of every model, with intervals of 95 %."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    ks = sorted({each.k for model in evaluation.models for each in model.pass_at if each.k > 1})
    groups = ["mean pass rate", *(f"pass@{k}" for k in ks)]
    width = 0.8 / max(1, len(evaluation.models))
    for number, model in enumerate(evaluation.models):
        estimates: list[Interval | None] = [model.pass_rate]
        estimates += [next((each.estimate for each in model.pass_at if each.k == k), None) for k in ks]
        for place, found in enumerate(estimates):
            if found is None:
                continue
            x = place - 0.4 + (number + 0.5) * width
            spread = [[100 * (found.value - found.low)], [100 * (found.high - found.value)]]
            label = _named(model.model) if place == 0 else None
            colour = _COLOURS[number % len(_COLOURS)]
            axes.bar(x, 100 * found.value, width * 0.9, color=colour, yerr=spread, capsize=4, label=label)
            axes.text(x, 100 * found.high + 1.5, f"{100 * found.value:.1f}", ha="center", fontsize=8)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylim(0, 112)
    axes.set_ylabel("per cent of tasks")
    axes.set_title("Scores over tasks, with intervals of 95 %")
    if any(model.pass_rate for model in evaluation.models):
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure)


def tasks_png(evaluation: Evaluation) -> bytes:
    """One row per task, one dot per model at its pass rate; a cross where no attempt has a grade."""
    names = sorted({task.task for model in evaluation.models for task in model.tasks})[:MOST]
    figure = Figure(figsize=(9, 1.4 + 0.24 * max(1, len(names))), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    rows = {name: row for row, name in enumerate(names)}
    for number, model in enumerate(evaluation.models):
        shift = (number - (len(evaluation.models) - 1) / 2) * 0.18
        shown = [task for task in model.tasks if task.task in rows]
        graded = [(100 * task.rate, rows[task.task] + shift) for task in shown if task.rate is not None]
        without = [rows[task.task] + shift for task in shown if task.rate is None]
        colour = _COLOURS[number % len(_COLOURS)]
        axes.scatter([x for x, _ in graded], [y for _, y in graded], color=colour, s=28, label=_named(model.model))
        axes.scatter([0.0] * len(without), without, color=colour, marker="x", s=28)
    axes.set_yticks(range(len(names)), [_named(name) for name in names], fontsize=8)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.set_xlim(-4, 104)
    axes.set_xlabel("attempts that solved the task, per cent (×: errors only)")
    axes.grid(axis="y", alpha=0.25)
    axes.set_title("Tasks" if len(rows) < MOST else f"The first {MOST} tasks")
    if evaluation.models:
        axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.55 / figure.get_figheight()))
    axes.spines[["top", "right"]].set_visible(False)
    return png_of(figure)


def _named(name: str) -> str:
    return drawable(name, 48)
