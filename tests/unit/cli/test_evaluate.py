"""`facet evaluate` and `facet behaviour`: bad input in one line, reports of what was made, also when cut short."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.errors import BudgetSpent, EngineUnavailable
from facet_dagster.records.evaluation import EvaluationTrial
from tests.unit.cli.test_validate import facet, one_line
from tests.unit.evaluation.test_scores import a_trial, trials
from tests.unit.yields.test_behaviour import a_trial as a_worked_trial
from tests.unit.yields.test_behaviour import a_turn

ENDPOINT = {"FACET_LLM_BASE_URL": "http://127.0.0.1:9/v1", "FACET_LLM_RETRIES": "0"}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ParquetStore:
    for name, value in {**ENDPOINT, "FACET_STORE": f"{tmp_path}/store", "FACET_OUT": f"{tmp_path}/out"}.items():
        monkeypatch.setenv(name, value)
    return ParquetStore(f"{tmp_path}/store")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tasks", "{tmp}/nowhere", "--model", "m"), "not a folder"),
        (("--tasks", "{tmp}/empty", "--model", "m"), "no task in"),
        (("--model", "m"), "is not a folder"),
        (("--tasks", "{tasks}", "--model", "m", "--only", "x"), "no task x"),
        (("--tasks", "{tasks}"), "no model is named"),
        (("--tasks", "{tasks}", "--model", ""), "no model is named"),
        (("--tasks", "{tasks}", "--model", "m", "--json", "{tmp}"), "is a folder"),
        (("--tasks", "{tasks}", "--model", "m", "--html", "{tmp}/no/such/x"), "there is no folder"),
        (("--compare", "a", "b"), "no trial of 'a'"),
    ],
)
def test_usage(
    tmp_path: Path, tasks: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert facet("evaluate", *(argument.format(tmp=tmp_path, tasks=tasks) for argument in arguments)) == 2
    assert said in one_line(capsys)


def test_a_budget_in_dollars_needs_a_price(
    tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FACET_BUDGET_USD", "1")
    assert facet("evaluate", "--tasks", str(tasks), "--model", "m") == 2
    assert "needs a price for m" in one_line(capsys)


def test_no_engine(tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise EngineUnavailable("start it")

    monkeypatch.setattr("facet_dagster.evaluations.open_engine", refuse)
    assert facet("evaluate", "--tasks", str(tasks), "--model", "m") == 4
    assert "start it" in one_line(capsys)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, store: ParquetStore) -> Callable[[BaseException | None], None]:
    """Lets the evaluation end at once with some trials, then with what is given."""

    def make(end: BaseException | None) -> None:
        def evaluated(settings: Any, *, invigilator: Any, **_: object) -> Any:
            from facet_dagster.evaluations import scored

            rows = [*trials("m", a="11-", b="000"), *trials("n", a="110", b="011")]
            invigilator.planned(2, len(rows))
            invigilator.at("a", "building")
            for row in rows:
                store.put(row)
                invigilator.ended(row, again=row.attempt == 0)
            if end is not None:
                raise end
            return scored(settings, rows)

        monkeypatch.setattr("facet_dagster.cli.evaluate.evaluate_folder", evaluated)

    return make


@pytest.mark.parametrize(("end", "code"), [(None, 0), (BudgetSpent("spent"), 5), (KeyboardInterrupt(), 130)])
def test_what_was_made_is_reported_whatever_ended_it(
    tmp_path: Path,
    tasks: Path,
    capsys: pytest.CaptureFixture[str],
    made: Callable[[BaseException | None], None],
    end: BaseException | None,
    code: int,
) -> None:
    made(end)
    files = ("--json", f"{tmp_path}/r.json", "--html", f"{tmp_path}/r.html", "--record", f"{tmp_path}/rec")
    assert facet("evaluate", "--tasks", str(tasks), "--model", "m", "--model", "n", "--model", "m", *files) == code
    out = capsys.readouterr().out
    assert "2/2 +1 error(s)" in out and "the daemon is gone" in out
    assert "pass@3" in out and "difference" in out
    assert "0/12" not in out and "2/12 a m #1 solved" in out, "what was made earlier is not told again"
    values = json.loads((tmp_path / "r.json").read_text())
    assert [model["model"] for model in values["models"]] == ["m", "n"] and values["comparisons"][0]["tasks"] == 2
    assert "<h2>Side by side</h2>" in (tmp_path / "r.html").read_text()


def test_models_of_the_store_are_compared_without_engine_or_endpoint(
    tmp_path: Path, tasks: Path, store: ParquetStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put_all([*trials("before", a="000", b="010"), *trials("after", a="111", b="011")])
    store.put(a_trial("org/one", "before", 0, 0.0))
    store.put(a_trial("org/one", "after", 0, 1.0))
    assert facet("evaluate", "--compare", "before", "after", "--json", f"{tmp_path}/r.json") == 0
    (pair,) = json.loads((tmp_path / "r.json").read_text())["comparisons"]
    assert (pair["model"], pair["other"], pair["tasks"], pair["better"], pair["worse"]) == ("before", "after", 3, 3, 0)
    assert pair["p"] == 0.25 and "0.2500" in capsys.readouterr().out
    assert facet("evaluate", "--compare", "before", "after", "--tasks", str(tasks), "--json", f"{tmp_path}/r.json") == 0
    (pair,) = json.loads((tmp_path / "r.json").read_text())["comparisons"]
    assert pair["tasks"] == 1


def test_behaviour(tmp_path: Path, store: ParquetStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert facet("behaviour") == 2
    assert "no trial in" in one_line(capsys)
    work = a_worked_trial([a_turn(["cat a\n", "r\x1b[31mm a\n", "rm a\n"])], 0.0, "pf")
    store.put(work)
    evaluated = EvaluationTrial.model_validate({**work.model_dump(), "model": "other"})
    store.put(evaluated)
    assert facet("behaviour", "--json", f"{tmp_path}/b.json") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out, "what a model typed is shown, never obeyed"
    assert "observation_share" in out and "m (failure)" in out and "other (all)" in out and "0.847" in out
    found = json.loads((tmp_path / "b.json").read_text())
    assert {(each["model"], each["outcome"]) for each in found} == {
        (model, outcome) for model in ("m", "other") for outcome in ("all", "failure")
    }
    assert found[0]["commands_by_name"] == {"cat": 1, "r\x1b[31mm": 1, "rm": 1} and found[0]["missed_1_2"] == 1.0
    assert facet("behaviour", "--model", "m") == 0
    assert "other" not in capsys.readouterr().out
    assert facet("behaviour", "--model", "nobody") == 2
