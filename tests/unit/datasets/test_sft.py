"""Which trials become rows, and that both files hold the same."""

import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from facet_dagster.datasets.sft import export_sft
from facet_dagster.records.rollout import StopReason, Trial, Turn

AT = datetime(2026, 1, 1, tzinfo=UTC)


def trial(seed: str, attempt: int = 0, *, reward: float | None = 1.0, error: str | None = None, **more) -> Trial:
    turns = tuple(
        Turn(
            number=n, prompt=f"saw {n} ✓", raw=f"  wrote {n}\n", analysis="", plan="", commands=(),
            task_complete=False, parse_error=error if n == 1 else None, observation="o", prompt_tokens=10,
            completion_tokens=3, cost_usd=0, at=AT,
        )
        for n in (1, 2)
    )  # fmt: skip
    fields = {"recorded": False, "model": "m", "turns": turns, **more}
    return Trial(
        seed=seed, task=f"org/{seed}", bundle="b" * 64, attempt=attempt, stop=StopReason.COMPLETED, reward=reward,
        grade=None, seconds=1, started_at=AT, run_id="r", **fields,
    )  # fmt: skip


def rows_of(card):
    rows = [json.loads(line) for line in card.jsonl.read_text().splitlines()]
    assert pq.read_table(card.parquet).to_pylist() == rows
    return rows


def test_the_dialogue_stands_as_it_was_held(tmp_path, skills):
    card = export_sft([trial("s")], tmp_path, skills={"s": skills})
    (row,) = rows_of(card)
    assert row["messages"] == [
        {"role": "user", "content": "saw 1 ✓"},
        {"role": "assistant", "content": "  wrote 1\n"},
        {"role": "user", "content": "saw 2 ✓"},
        {"role": "assistant", "content": "  wrote 2\n"},
    ]
    assert (row["turns"], row["prompt_tokens"], row["completion_tokens"], row["reward"]) == (2, 20, 6, 1.0)
    assert row["licences"] == ["MIT", "Apache-2.0"]
    assert card.licences == ("Apache-2.0", "MIT")


def test_only_successes_become_rows_and_every_trial_is_counted(tmp_path):
    trials = [trial("a"), trial("b", reward=0.0), trial("c", reward=None), trial("d", reward=0.5), trial("e", turns=())]
    card = export_sft(trials, tmp_path, skills={})
    assert [row["seed"] for row in rows_of(card)] == ["a"]
    assert (card.trials, card.rows, card.failures, card.ungraded, card.not_clean) == (5, 1, 3, 1, 0)


def test_the_order_does_not_depend_on_the_order_given(tmp_path):
    trials = [trial("b", 1), trial("a"), trial("b", 0)]
    one = export_sft(trials, tmp_path / "1", skills={})
    two = export_sft(trials[::-1], tmp_path / "2", skills={})
    assert [(r["seed"], r["attempt"]) for r in rows_of(one)] == [("a", 0), ("b", 0), ("b", 1)]
    assert one.jsonl.read_bytes() == two.jsonl.read_bytes() and one.parquet.read_bytes() == two.parquet.read_bytes()


@pytest.mark.parametrize(("clean_only", "seeds"), [(False, ["a", "b"]), (True, ["a"])])
def test_clean_trials_only_where_that_is_asked_for(tmp_path, clean_only, seeds):
    trials = [trial("a"), trial("b", error="bad")]
    card = export_sft(trials, tmp_path, skills={}, parse_clean_only=clean_only)
    assert [row["seed"] for row in rows_of(card)] == seeds
    assert card.not_clean == 2 - len(seeds)


def test_without_a_success_the_set_is_valid_and_says_that_it_is_empty(tmp_path):
    card = export_sft([trial("a", reward=0.0)], tmp_path, skills={})
    assert rows_of(card) == [] and pq.read_schema(card.parquet).names[0] == "messages"
    assert "This set is empty" in card.readme.read_text() and card.rows == 0


def test_the_card_names_sources_licences_and_recordings(tmp_path, skills):
    readme = export_sft([trial("s", recorded=True)], tmp_path, skills={"s": skills}).readme.read_text()
    assert "Recorded answers" in readme and "| csv-tools-1 | samples | csv-tools/SKILL.md | MIT |" in readme
    assert "| org/s | 1 |" in readme
    plain = export_sft([trial("s")], tmp_path, skills={"s": skills}).readme.read_text()
    assert "Recorded answers" not in plain
