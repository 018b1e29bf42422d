"""Trials to scores: errors apart, one trial per attempt, pairs on shared tasks; and what the reports make of it."""

import json
from datetime import timedelta

import pytest

from facet_dagster.evaluation.report import as_html, as_json, interval, outcome, pass_at, side_by_side, signed
from facet_dagster.evaluation.scores import evaluation_of
from facet_dagster.records.base import now
from facet_dagster.records.evaluation import Evaluation, EvaluationTrial
from facet_dagster.records.rollout import StopReason
from facet_dagster.records.validation import GradeReport
from facet_dagster.testing.memory_store import MemoryStore

START = now()


def a_trial(
    task: str, model: str, attempt: int, reward: float | None, *, bundle: str = "b", minutes: int = 0, trouble: str = ""
) -> EvaluationTrial:
    graded = GradeReport(reward=reward, tests=(), executed=0, seconds=0.0, output="")
    return EvaluationTrial(
        seed=f"eval-{task}-{model}", task=task, bundle=bundle, attempt=attempt, model=model, recorded=False,
        stop=StopReason.INFRASTRUCTURE if reward is None else StopReason.COMPLETED, reward=reward,
        grade=None if reward is None else graded, turns=(), seconds=2.0, started_at=START + timedelta(minutes=minutes),
        run_id="r", trouble=trouble,
    )  # fmt: skip


def trials(model: str, **tasks: str) -> list[EvaluationTrial]:
    """One letter per attempt: 1 solved, 0 failed, - error."""
    rewards = {"1": 1.0, "0": 0.0, "h": 0.5, "-": None}
    return [
        a_trial(task, model, attempt, rewards[letter], trouble="the daemon is gone" if letter == "-" else "")
        for task, letters in tasks.items()
        for attempt, letter in enumerate(letters)
    ]


def scored(*of_models: list[EvaluationTrial], attempts: int = 3) -> Evaluation:
    models = tuple(dict.fromkeys(trial.model for each in of_models for trial in each))
    return evaluation_of("tasks", models, attempts, [trial for each in of_models for trial in each])


def test_errors_are_apart_and_no_failures() -> None:
    (model,) = scored(trials("m", a="11-", b="000", c="---", d="h1")).models
    by_name = {task.task: task for task in model.tasks}
    assert {name: task.rate for name, task in by_name.items()} == {"a": 1.0, "b": 0.0, "c": None, "d": 0.5}
    assert model.pass_rate is not None and model.pass_rate.value == pytest.approx(0.5)
    assert model.pass_rate.low < 0.5 < model.pass_rate.high
    assert (model.graded_tasks, model.graded, model.solved, model.errors) == (3, 7, 3, 4)
    assert by_name["c"].errors == ("infrastructure: the daemon is gone",) * 3
    assert by_name["d"].reward == 0.75 and model.mean_reward == pytest.approx((1.0 + 0.0 + 0.75) / 3)


def test_pass_at_k_is_over_the_tasks_with_as_many_grades() -> None:
    (model,) = scored(trials("m", a="110", b="000", c="1--")).models
    assert [(each.k, each.tasks) for each in model.pass_at] == [(1, 3), (2, 2), (3, 2)]
    assert [each.estimate.value for each in model.pass_at] == pytest.approx([(2 / 3 + 0 + 1) / 3, 0.5, 0.5])


def test_a_grade_counts_before_a_later_error_and_what_is_beyond_the_attempts_does_not() -> None:
    made = [a_trial("a", "m", 0, 1.0), a_trial("a", "m", 0, None, minutes=5), a_trial("a", "m", 1, None),
            a_trial("a", "m", 1, None, minutes=9, trouble="later"), a_trial("a", "m", 2, 0.0)]  # fmt: skip
    (model,) = scored(made, attempts=2).models
    (task,) = model.tasks
    assert (task.graded, task.solved, task.errors) == (1, 1, ("infrastructure: later",))


def test_pairs_are_compared_on_the_tasks_that_both_have_grades_of() -> None:
    before = trials("before", a="000", b="010", c="111", d="000", e="---", f="000")
    after = trials("after", a="110", b="010", c="111", d="111", e="111", g="111")
    (pair,) = scored(before, after).comparisons
    assert (pair.model, pair.other, pair.tasks) == ("before", "after", 4)
    assert (pair.better, pair.worse, pair.same) == (2, 0, 2)
    assert pair.difference is not None and pair.difference.value == pytest.approx((2 / 3 + 0 + 0 + 1) / 4)
    assert pair.difference.low <= pair.difference.value <= pair.difference.high and pair.p == 0.5


def test_another_version_of_a_task_is_another_task() -> None:
    found = scored([a_trial("a", "m", 0, 1.0)], [a_trial("a", "n", 0, 0.0, bundle="c")])
    assert found.comparisons[0].tasks == 0 and found.comparisons[0].difference is None and found.comparisons[0].p == 1.0
    assert len(side_by_side(found)) == 2


def test_a_model_without_any_trial_has_no_score() -> None:
    found = evaluation_of("tasks", ("m",), 3, [])
    assert found.models[0].pass_rate is None and found.models[0].pass_at == ()
    assert json.loads(as_json(found))["models"][0]["graded_tasks"] == 0 and as_html(found)


def test_errors_are_kept_each_and_a_grade_once() -> None:
    store = MemoryStore()
    rows = [
        a_trial("a", "m", 0, None),
        a_trial("a", "m", 0, None, minutes=1),
        a_trial("a", "m", 0, 1.0),
        a_trial("a", "m", 0, 0.0),
    ]
    assert [store.put(row) for row in rows] == [True, True, True, False]


def test_reports_say_it_all_and_show_foreign_text_as_text() -> None:
    hostile = [a_trial("<script>x</script>", "$m_<b>", 0, None, trouble="</div><script>y</script>\x1b[31m")]
    found = scored(trials("base", a="11-", b="000"), [*trials("$m_<b>", a="111", b="010"), *hostile])
    values = json.loads(as_json(found))
    assert values["schema_version"] == 1 and values["attempts"] == 3
    assert [model["model"] for model in values["models"]] == ["base", "$m_<b>"]
    assert values["models"][0]["tasks"][0] == {
        "task": "a", "bundle": "b", "graded": 2, "solved": 2, "reward": 1.0, "pass_rate": 1.0,
        "errors": ["infrastructure: the daemon is gone"],
    }  # fmt: skip
    page = as_html(found).decode()
    assert "<script>" not in page and page.count("data:image/png;base64,") == 2
    assert "2/2" in page and "p (exact sign test)" in page


def test_figures_are_spelled_for_people() -> None:
    found = scored(trials("m", a="1-", b="11"), trials("n", a="0-", b="11"), attempts=2)
    model, _ = found.models
    assert interval(model.pass_rate).startswith("100% [") and interval(None) == "–"
    assert outcome(model.tasks[0]) == "1/1 +1 error(s)" and outcome(None) == ""
    assert pass_at(model, 2).endswith("(1 tasks)") and pass_at(model, 3) == "–"
    assert signed(found.comparisons[0].difference).startswith("-50.0 [") and signed(None) == "–"
