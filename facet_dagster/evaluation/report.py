"""An evaluation as JSON and as one HTML page that needs nothing else and runs nothing. Text of others is escaped."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from jinja2 import Environment as Jinja
from jinja2 import StrictUndefined

from facet_dagster.audit.report import percent
from facet_dagster.evaluation.pictures import scores_png, tasks_png
from facet_dagster.records.evaluation import Evaluation, Interval, ModelScore, TaskScore

TEMPLATE = Path(__file__).parent / "report.html.j2"


def as_json(evaluation: Evaluation) -> bytes:
    """The scores as docs/evaluation.md describes them."""
    values: dict[str, Any] = evaluation.model_dump(mode="json")
    for model, score in zip(values["models"], evaluation.models, strict=True):
        model["graded_tasks"] = score.graded_tasks
        for task, of_task in zip(model["tasks"], score.tasks, strict=True):
            task["pass_rate"] = of_task.rate
    return (json.dumps(_without_versions(values, top=True), indent=2) + "\n").encode()


def _without_versions(value: Any, *, top: bool = False) -> Any:
    if isinstance(value, dict):
        return {name: _without_versions(each) for name, each in value.items() if top or name != "schema_version"}
    return [_without_versions(each) for each in value] if isinstance(value, list) else value


def as_html(evaluation: Evaluation) -> bytes:
    """The scores as a page for a browser."""
    jinja = Jinja(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters |= {"percent": percent, "interval": interval, "signed": signed, "pass_at": pass_at}
    page = jinja.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        evaluation=evaluation,
        tasks=side_by_side(evaluation),
        pictures=[b64encode(png).decode() for png in (scores_png(evaluation), tasks_png(evaluation))],
    )
    return page.encode(errors="replace")


def interval(found: Interval | None) -> str:
    """An estimate with its interval, as shares: 40% [20.1%, 64.2%]."""
    if found is None:
        return "–"
    return f"{percent(found.value)} [{percent(found.low)}, {percent(found.high)}]"


def signed(found: Interval | None) -> str:
    """A difference with its interval, in percentage points."""
    if found is None:
        return "–"
    return f"{100 * found.value:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}] points"


def side_by_side(evaluation: Evaluation) -> list[tuple[str, str, list[TaskScore | None]]]:
    """Task, its bundle, and what each model has of it, in the order of the models."""
    cells: dict[tuple[str, str], list[TaskScore | None]] = {}
    for place, model in enumerate(evaluation.models):
        for task in model.tasks:
            row = cells.setdefault((task.task, task.bundle), [None] * len(evaluation.models))
            row[place] = task
    return [(name, bundle, row) for (name, bundle), row in sorted(cells.items())]


def outcome(score: TaskScore | None) -> str:
    """Solved of graded, and how many attempts have no grade."""
    if score is None:
        return ""
    errors = f" +{len(score.errors)} error(s)" if score.errors else ""
    return f"{score.solved}/{score.graded}{errors}"


def pass_at(score: ModelScore, k: int) -> str:
    """pass@k with its interval, and the number of tasks where that is less than all that have a grade."""
    found = next((each for each in score.pass_at if each.k == k), None)
    if found is None:
        return "–"
    fewer = f" ({found.tasks} tasks)" if found.tasks < score.graded_tasks else ""
    return f"{interval(found.estimate)}{fewer}"
