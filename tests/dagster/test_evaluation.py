"""The assets of evaluation and behaviour: what their pages show, and that trouble is trouble."""

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
import pytest

from facet_dagster.definitions import DATASETS, EVALUATION, REPORTS, materialise
from facet_dagster.errors import SettingsError
from facet_dagster.evaluation.scores import evaluation_of
from facet_dagster.records.evaluation import Evaluation
from facet_dagster.records.rollout import Trial
from facet_dagster.settings import Settings
from tests.unit.evaluation.test_scores import trials
from tests.unit.yields.test_behaviour import a_trial, a_turn


class Examiner:
    """Scores some trials at once, or is in trouble."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.settings: list[Settings] = []
        self._trouble = trouble

    def evaluate_folder(
        self, settings: Settings, *, run_id: str, invigilator: Any, progress: Callable[[str], None], only: Any = ()
    ) -> Evaluation:
        self.settings.append(settings)
        if self._trouble is not None:
            raise self._trouble
        progress("opened")
        made = [*trials("m", a="11-", b="000"), *trials("n", a="110", b="011")]
        invigilator.planned(2, len(made))
        for trial in made:
            invigilator.at(trial.task, "working")
            invigilator.ended(trial, again=trial.attempt == 0)
        return evaluation_of("some/tasks", ("m", "n"), 3, made)


def page(instance: dg.DagsterInstance, asset: str) -> Mapping[str, Any]:
    (record,) = instance.fetch_materializations(dg.AssetKey(asset), limit=1).records
    assert record.asset_materialization is not None
    return record.asset_materialization.metadata


def test_the_page_of_an_evaluation_shows_scores_tasks_pairs_and_pictures(
    instance: dg.DagsterInstance, overrides: dict[str, object], notebook: Any
) -> None:
    examiner = Examiner()
    assert materialise(EVALUATION, instance=instance, overrides={**overrides, "examiner": examiner}).success
    shown = page(instance, "evaluation")
    assert shown["pass_rate m"].value == pytest.approx(0.5) and shown["errors"].value == 1
    assert shown["directory"].value == "some/tasks"
    assert "| m | 50% [" in str(shown["models"].value) and "| n | m | 2 |" in str(shown["pairs"].value)
    assert "2/2 +1 error(s)" in str(shown["tasks"].value) and "the daemon is gone" in str(shown["tasks"].value)
    for name in ("scores", "tasks_picture"):
        assert "data:image/png;base64,iVBOR" in str(shown[name].value)
    assert "2 task(s), 12 trial(s)" in notebook.notes and "b n #1: reward 1" in notebook.notes
    assert not any("#0" in note for note in notebook.notes), "what was made earlier is not told again"
    assert examiner.settings == [overrides["settings"]]


def test_trouble_of_an_evaluation_says_what_to_do(instance: dg.DagsterInstance, overrides: dict[str, object]) -> None:
    trouble = Examiner(SettingsError("no task in x: name one"))
    result = materialise(EVALUATION, instance=instance, overrides={**overrides, "examiner": trouble})
    assert result.trouble is not None and result.trouble.message == "no task in x: name one"


def test_an_evaluation_is_asked_for_and_no_part_of_the_line() -> None:
    assert not set(EVALUATION) & {*DATASETS, *REPORTS}


def test_the_behaviour_report_draws_the_trials_of_the_store(
    instance: dg.DagsterInstance, overrides: dict[str, object], store: Any, make_trial: Callable[..., Trial]
) -> None:
    assert materialise(["behaviour_report"], instance=instance, overrides=overrides).success
    assert page(instance, "behaviour_report")["trials"].value == 0
    store.put(make_trial("alpha", 1.0))  # nothing was done in it
    store.put(a_trial([a_turn(["cat a\n", "rm a\n"])], 0.0, "pff"))
    assert materialise(["behaviour_report"], instance=instance, overrides=overrides).success
    shown = page(instance, "behaviour_report")
    assert shown["trials"].value == 1
    assert "| observation_share | 0.847 | 0.5 |" in str(shown["figures"].value)
    assert "| m | all | observe | act | 1 | 1 |" in str(shown["transitions"].value)
    for name in ("picture", "details"):
        assert "data:image/png;base64,iVBOR" in str(shown[name].value)
