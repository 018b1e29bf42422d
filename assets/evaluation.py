"""Evaluation: models scored on a folder of Harbor tasks, by settings; else the teacher on the exported tasks."""

from collections.abc import Callable, Sequence

import dagster as dg

from assets.markdown import table
from assets.showing import picture, teller
from facet_dagster.evaluation.pictures import scores_png, tasks_png
from facet_dagster.evaluation.report import interval, outcome, pass_at, side_by_side, signed
from facet_dagster.records.base import digest_of
from facet_dagster.records.evaluation import Evaluation, EvaluationTrial
from facet_dagster.settings import Settings
from resources.doors import Examiner
from resources.watching import Onlooker


@dg.asset(
    deps=["task_dataset"],
    group_name="datasets",
    kinds={"harbor", "openai"},
    description="Pass rates and pass@k of models on a folder of Harbor tasks, with intervals; models side by side.",
)
def evaluation(
    context: dg.AssetExecutionContext,
    settings: dg.ResourceParam[Settings],
    examiner: dg.ResourceParam[Examiner],
    onlooker: dg.ResourceParam[Onlooker],
) -> dg.MaterializeResult[None]:
    """Make the attempts that are missing; what is graded is not repeated."""
    say = teller(context, onlooker)
    found = examiner.evaluate_folder(settings, run_id=context.run_id, invigilator=_Told(say), progress=say)
    return dg.MaterializeResult(
        metadata=_page(found), data_version=dg.DataVersion(digest_of(found.model_dump_json())[:32])
    )


def _page(found: Evaluation) -> dict[str, dg.MetadataValue]:
    ks = range(2, found.attempts + 1)
    heads = ("model", "pass rate", *(f"pass@{k}" for k in ks), "tasks", "solved", "errors", "turns", "tokens", "USD")
    rows = (
        (
            model.model + (" (recorded)" if model.recorded else ""),
            interval(model.pass_rate),
            *(pass_at(model, k) for k in ks),
            f"{model.graded_tasks} of {len(model.tasks)}",
            f"{model.solved} of {model.graded}",
            model.errors,
            model.turns,
            model.tokens,
            f"{model.cost_usd:.4f}",
        )
        for model in found.models
    )
    rates = {f"pass_rate {model.model}": model.pass_rate.value for model in found.models if model.pass_rate}
    return {
        "dagster/row_count": dg.MetadataValue.int(sum(model.graded + model.errors for model in found.models)),
        **{name: dg.MetadataValue.float(rate) for name, rate in rates.items()},
        "errors": dg.MetadataValue.int(sum(model.errors for model in found.models)),
        "directory": dg.MetadataValue.path(found.directory),
        "scores": picture("scores", scores_png(found)),
        "models": table(heads, rows),
        "pairs": table(
            ("model", "against", "tasks", "better", "worse", "same", "difference", "p"),
            (
                (p.other, p.model, p.tasks, p.better, p.worse, p.same, signed(p.difference), p.p)
                for p in found.comparisons
            ),
        ),
        "tasks": _tasks(found),
        "tasks_picture": picture("tasks", tasks_png(found)),
    }


def _tasks(found: Evaluation) -> dg.MarkdownMetadataValue:
    def errors(row: Sequence[object]) -> str:
        return next((error for score in row for error in getattr(score, "errors", ())), "")

    names = [model.model for model in found.models]
    rows = ((name, *(outcome(score) for score in row), errors(row)) for name, _, row in side_by_side(found))
    return table(("task", *names, "error"), rows)


class _Told:
    """An Invigilator that says a line per trial."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def planned(self, tasks: int, trials: int) -> None:
        self._say(f"{tasks} task(s), {trials} trial(s)")

    def at(self, what: str, doing: str) -> None:
        """Nothing: the end of each trial is told."""

    def ended(self, trial: EvaluationTrial, *, again: bool) -> None:
        if not again:
            self._say(f"{trial.task} {trial.model} #{trial.attempt}: {trial.error or f'reward {trial.reward:g}'}")
