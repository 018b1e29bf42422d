"""Every query over a small store whose figures are counted by hand."""

from pathlib import Path

import pandas as pd
import pytest

from facet_dagster.adapters import store_format
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.records.authoring import Instruction
from facet_dagster.records.bundle import ComponentVersion, Origin, Status
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.rollout import StopReason
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Family, SkillClass
from facet_dagster.records.validation import Diagnosis
from facet_dagster.testing.counted_store import call, fill, folder, outcome, report, trial, version
from facet_dagster.testing.examples import an_environment
from facet_dagster.yields.views import run_queries, run_query, run_sql


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    plain = frame.astype(object).where(frame.notna(), None)
    return [tuple(row) for row in plain[list(columns)].itertuples(index=False)]


def test_funnel(root: str) -> None:
    assert rows(run_query(root, "funnel"), "station", "count", "percent", "of") == [
        ("skills read", 4, None, None),
        ("valid skills", 3, 75.0, "skills read"),
        ("seeds", 3, None, None),
        ("seeds built", 3, 100.0, "seeds"),
        ("built at once", 1, 33.3, "seeds built"),
        ("built after repair", 1, 33.3, "seeds built"),
        ("environments built", 2, 66.7, "seeds built"),
        ("pending", 0, 0.0, "environments built"),
        ("validated", 2, 100.0, "environments built"),
        ("first-pass valid", 1, 50.0, "validated"),
        ("accepted after repair", 1, 50.0, "validated"),
        ("accepted", 2, 100.0, "validated"),
        ("rollouts", 3, None, None),
        ("graded", 2, 66.7, "rollouts"),
        ("successes", 1, 50.0, "graded"),
    ]


def test_built_environments_are_counted_once_per_seed(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    for sequence in (11, 12):
        store.put(version("s1", sequence, Component.ENVIRONMENT, an_environment(build_repairs=3)))
    frame = run_query(str(tmp_path), "funnel").set_index("station")
    assert frame.loc["environments built", "count"] == 2
    assert frame.loc["built at once", "count"] == 1


def test_a_seed_that_newer_gates_sent_to_repair_was_not_valid_at_the_first_pass(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    store.put(outcome("s1", Status.ACCEPTED, rounds=1, later=2))
    frame = run_query(str(tmp_path), "funnel").set_index("station")
    assert (frame.loc["first-pass valid", "count"], frame.loc["accepted", "count"]) == (0, 2)


def by_hand(store: ParquetStore, seed: str, sequence: int, round: int) -> None:
    made = version(seed, sequence, Component.VERIFIER, Instruction(text="any", clauses={}))
    store.put(made.model_copy(update={"origin": Origin.BY_HAND, "round": round}))


def test_a_pending_seed_stands_in_no_figure_of_those_that_ended(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    before = run_query(str(tmp_path), "paper").set_index("figure")["of"]
    without_verdict = report().model_copy(update={"verdict": None})
    for seed, body in (("s4", report()), ("s5", without_verdict), ("s6", report())):  # the last one is being walked
        store.put(ScenarioSeed(seed_id=seed, title=seed, skill_ids=("a",), hypothesis_ids=(), rationale=""))
        store.put(version(seed, 0, Component.ENVIRONMENT, an_environment()))
        store.put(version(seed, 1, Component.VALIDATION, body))
        if seed != "s6":
            store.put(outcome(seed, Status.PENDING, rounds=0))
    store.put(version("s3", 20, Component.VALIDATION, without_verdict))
    funnel = run_query(str(tmp_path), "funnel").set_index("station")
    assert funnel.loc[["environments built", "pending", "validated", "accepted"], "count"].tolist() == [5, 3, 2, 2]
    assert funnel.loc["first-pass valid", "percent"] == 50.0
    after = run_query(str(tmp_path), "paper").set_index("figure")["of"]
    ended = ["valid at the first pass", "valid in the end", "tasks of all seeds"]
    assert after[ended].tolist() == before[ended].tolist() == [2, 2, 3]


def test_what_is_made_by_hand_changes_no_figure_of_the_first_pass_and_of_rounds(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    call(store, "authoring.solution", "s2")

    def figures() -> list[object]:
        names = ("funnel", "paper", "categories", "models", "rounds", "repairs")
        found = run_queries(str(tmp_path), names)
        funnel = found["funnel"].set_index("station").loc["first-pass valid", "count"]
        paper = found["paper"].set_index("figure").loc["valid at the first pass", "ours"]
        return [
            funnel,
            paper,
            rows(found["categories"], "first_pass"),
            rows(found["models"], "first_pass", "mean_rounds"),
            rows(found["rounds"], "rounds", "seeds", "accepted"),
            rows(found["repairs"], "round", "seeds", "accepted", "tokens"),
        ]

    before = figures()
    for seed, made in (("s1", 1), ("s3", 3)):
        by_hand(store, seed, 20, made)
        again = outcome(seed, Status.ACCEPTED, rounds=made, later=3)
        store.put(again.model_copy(update={"sequence": 20}))
    assert figures() == before
    assert run_query(str(tmp_path), "funnel").set_index("station").loc["accepted", "count"] == 3


def test_a_success_that_was_replayed_or_imported_makes_no_other_cheaper(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    before = run_query(str(tmp_path), "accepted_cost")
    won = trial(0, 1.0, StopReason.COMPLETED, turns=1)
    store.put(won.model_copy(update={"origin": "job/trial", "engine": "harbor"}))
    store.put(won.model_copy(update={"seed": "s2", "recorded": True}))
    store.put(won.model_copy(update={"seed": "s3"}))  # without a row of the ledger
    call(store, "rollout.turn", "s2", recorded=True)
    pd.testing.assert_frame_equal(run_query(str(tmp_path), "accepted_cost"), before)


def test_repairs_tell_what_each_round_brought(root: str) -> None:
    columns = ("round", "seeds", "accepted", "gain_percent", "accepted_by_then_percent", "tokens", "cost_usd")
    assert rows(run_query(root, "repairs"), *columns) == [
        (0, 3, 1, 33.3, 33.3, 330, 4.0),
        (1, 2, 0, 0.0, 33.3, 0, 0.0),
        (2, 2, 1, 50.0, 66.7, 0, 0.0),
    ]


def test_what_repairs_answered(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    found = Diagnosis(component=Component.SOLUTION, reason=Reason.ORACLE_FAILED, evidence="", decided_by="table")
    for seed in ("s2", "s2", "s3"):
        sequence = 20 + len(store.keys(ComponentVersion))
        again = version(seed, sequence, Component.SOLUTION, Instruction(text="any", clauses={}))
        store.put(again.model_copy(update={"diagnosis": found}))
    columns = ("component", "reason", "repairs", "seeds", "accepted", "accepted_percent")
    assert rows(run_query(str(tmp_path), "answered"), *columns) == [("solution", "oracle_failed", 3, 2, 1, 50.0)]


def test_yields_by_category_count_a_seed_once_in_each(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    for ingest, path, family, category in (
        (1, "a", "data", "tables"),
        (2, "a", "software", "git"),
        (1, "b", "data", "x"),
    ):
        entry = folder(f"{path}-classed", "kept", ingest)
        store.put(entry.model_copy(update={"skill_id": path, "family": Family(family), "category": category}))
    decided = SkillClass(
        content_hash="b-classed", actionable=True, family=Family.MEDIA, decided_by="model", evidence=""
    )
    store.put(decided)
    store.put(ScenarioSeed(seed_id="s4", title="s4", skill_ids=("a", "b"), hypothesis_ids=(), rationale=""))
    columns = (
        "family",
        "category",
        "seeds",
        "ended",
        "first_pass",
        "accepted",
        "accepted_percent",
        "graded",
        "successes",
    )
    assert rows(run_query(str(tmp_path), "categories"), *columns) == [
        ("software", "git", 4, 3, 1, 2, 66.7, 2, 1),
        ("media", "unknown", 1, 0, 0, 0, None, 0, 0),
    ]


def test_yields_by_model_and_scheme(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    call(store, "authoring.joint", "s3")
    columns = ("author", "scheme", "seeds", "first_pass", "accepted", "accepted_percent", "tokens_per_accepted")
    assert rows(run_query(str(tmp_path), "models"), *columns) == [
        ("m", "forward", 2, 1, 2, 100.0, 165),
        ("m", "joint", 1, 0, 0, 0.0, None),
    ]


def test_tests_and_kill_rate(root: str) -> None:
    assert rows(run_query(root, "tests"), "counted", "tasks", "mean", "most") == [
        ("functions", 1, 4.0, 4.0),
        ("items", 1, 7.0, 7.0),
    ]
    columns = ("control", "tried", "decided", "killed", "kill_percent", "final_decided", "final_kill_percent")
    figures = (5, 4, 3, 75.0, 2, 100.0)
    assert rows(run_query(root, "kill_rate"), *columns) == [("emptied", *figures), ("all controls", *figures)]


def test_time_of_components(root: str) -> None:
    frame = run_query(root, "time").set_index("component")
    assert (frame.loc["instruction", "versions"], frame.loc["instruction", "mean_seconds"]) == (6, 1.0)


def test_accepted_cost_counts_all_that_was_spent(root: str) -> None:
    columns = ("per", "units", "calls", "tokens", "cost_usd", "recorded")
    assert rows(run_query(root, "accepted_cost"), *columns) == [
        ("accepted task", 2, 1.5, 165, 2.0, True),
        ("successful rollout", 1, 1.0, 110, 2.0, False),
    ]


def test_usage_tells_estimates_apart_and_compares_what_was_charged(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    fill(store)
    call(store, "scenario.analysis", "s4", estimated=True)
    call(store, "scenario.evolution", "s4", reported_usd=1.6)
    columns = ("calls", "estimated_calls", "reported_tokens", "estimated_tokens", "priced_calls", "endpoint_usd")
    (row,) = rows(run_query(str(tmp_path), "usage"), *columns, "difference_percent")
    assert row == (5, 1, 440, 110, 1, 1.6, 25.0)


def test_our_figures_beside_the_papers(root: str) -> None:
    ours = run_query(root, "paper").set_index("figure")
    assert ours.loc["environments built in the end", ["ours", "of", "paper"]].tolist() == [66.67, 3, 95.7]
    assert ours.loc["tests per task (pytest items)", ["ours", "of"]].tolist() == [7, 1]
    assert ours.loc["success of the teacher", ["ours", "of"]].tolist() == [50.0, 2]


def test_what_an_earlier_version_wrote_is_drawn_out_of_its_records(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "SELECT seed, sequence, kind, reason, verdict, tests FROM components ORDER BY ALL"
    now = run_sql(root, asked)
    with monkeypatch.context() as earlier:
        earlier.setattr(ComponentVersion, "drawn", {})
        earlier.setattr(store_format, "schema_of", store_format.schema_of.__wrapped__)  # the one kept is today's
        older = ParquetStore(f"{root}/older")
        for row in ParquetStore(root).rows(ComponentVersion):
            older.put(row)
        older.compact()
    pd.testing.assert_frame_equal(run_sql(f"{root}/older", asked), now)
    assert now["kind"].value_counts().to_dict()["rejected"] == 1


def test_rounds(root: str) -> None:
    columns = ("rounds", "seeds", "accepted", "rejected", "pending", "accepted_by_then_percent")
    assert rows(run_query(root, "rounds"), *columns) == [(0, 1, 1, 0, 0, 33.3), (2, 2, 1, 1, 0, 66.7)]


def test_rejections(root: str) -> None:
    columns = ("component", "reason", "by_station", "by_validation", "seeds", "seeds_ended")
    assert rows(run_query(root, "rejections"), *columns) == [
        ("environment", "build_failed", 1, 0, 1, 0),
        ("verifier", "noop_passed", 0, 1, 1, 0),
        ("verifier", "repairs_exhausted", 0, 0, 1, 1),
    ]


def test_cost_keeps_recorded_calls_apart(root: str) -> None:
    columns = ("answers", "station", "calls", "prompt_tokens", "completion_tokens", "cost_usd", "seconds")
    assert rows(run_query(root, "cost"), *columns) == [
        ("paid", "rollout", 1, 100, 10, 2.0, 2.0),
        ("paid", "scenario", 2, 200, 20, 4.0, 4.0),
        ("paid", "all stations", 3, 300, 30, 6.0, 6.0),
        ("recorded", "scenario", 1, 100, 10, 0.0, 2.0),
        ("recorded", "all stations", 1, 100, 10, 0.0, 2.0),
    ]


def test_per_task(root: str) -> None:
    columns = ("seed", "task", "rounds", "calls", "tokens", "cost_usd", "recorded", "tests", "words")
    assert rows(run_query(root, "per_task"), *columns) == [
        ("s1", "org/s1", 0, 2, 220, 4.0, False, 4, 3),
        ("s2", None, 2, 1, 110, 0.0, True, None, 3),
    ]


def test_teacher(root: str) -> None:
    (row,) = run_query(root, "teacher").to_dict("records")
    assert (row["model"], row["trials"], row["graded"], row["successes"]) == ("teacher", 3, 2, 1)
    assert (row["success_percent"], row["mean_turns"]) == (50.0, 2.7)
    assert (row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) == (800, 80, 4.0)
    assert (row["completed"], row["out_of_limits"], row["in_trouble"]) == (1, 1, 1)
