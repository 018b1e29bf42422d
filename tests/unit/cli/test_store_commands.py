"""Commands that only read the store: tables and files, projections, lineage, the page; mistakes in one line."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.cli.main import app, guarded
from facet_dagster.records.base import now
from facet_dagster.records.call import LedgerRow
from facet_dagster.testing.paper_store import fill

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `facet` on a store of a few simulated seeds; the exit code."""
    monkeypatch.setenv("FACET_STORE", str(tmp_path / "store"))
    for name in ("FACET_LLM_BASE_URL", "FACET_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    fill(ParquetStore(str(tmp_path / "store")), 4)

    def command(*arguments: str) -> int:
        return guarded(lambda: app(list(arguments), standalone_mode=False))

    return command


def test_questions_are_named_and_answered(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("yields") == 0
    assert "table 5" in capsys.readouterr().out
    csv_file, json_file = tmp_path / "a.csv", tmp_path / "a.json"
    assert run("yields", "funnel", "--csv", str(csv_file), "--json", str(json_file)) == 0
    assert "first-pass valid" in capsys.readouterr().out
    assert csv_file.read_text().splitlines()[3].startswith("seeds,4,")
    assert json.loads(json_file.read_text())[2] == {"station": "seeds", "count": 4, "percent": None, "of": None}


def test_sql_is_answered_or_refused(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sql", "SELECT count(*) AS n FROM seeds", "--json", str(tmp_path / "n.json")) == 0
    assert json.loads((tmp_path / "n.json").read_text()) == [{"n": 4}]
    assert run("sql", "DROP VIEW seeds") == 2
    assert run("sql", "SELECT 1", "--csv", str(tmp_path / "none" / "x.csv")) == 2
    assert "one SELECT" in capsys.readouterr().err


def test_values_of_every_type_are_shown_and_written(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "SELECT [1, 2] AS l, NULL AS n, {'a': 1} AS s, '3a8e57b1-9e4c-4d3a-8a55-000000000000'::UUID AS u FROM Seeds"
    assert run("sql", odd, "--json", str(tmp_path / "odd.json")) == 0
    written = json.loads((tmp_path / "odd.json").read_text())
    assert written[0] == {"l": [1, 2], "n": None, "s": {"a": 1}, "u": "3a8e57b1-9e4c-4d3a-8a55-000000000000"}
    assert "[1 2]" in capsys.readouterr().out and len(written) == 4
    assert run("sql", "SELECT BITSTRING '101'", "--json", str(tmp_path / "bytes.json")) == 2
    assert "is no text" in capsys.readouterr().err


def test_a_plan_says_what_to_expect_and_what_it_does_not_know(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "--seeds", "100", "--json", str(tmp_path / "plan.json")) == 0
    shown = capsys.readouterr().out
    assert "100 seeds, from 4 that have ended" in shown and "all stations" in shown
    assert "no price is set for author, teacher (FACET_PRICE_AUTHOR)" in shown
    assert json.loads((tmp_path / "plan.json").read_text())["seeds"] == 100
    monkeypatch.setenv("FACET_STORE", str(tmp_path / "nothing"))
    assert run("plan", "--seeds", "100") == 0
    assert "nothing is projected" in capsys.readouterr().out


def test_a_plan_minds_every_budget_and_what_today_has_cost(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(**limits: str) -> str:
        for name in ("USD", "TOKENS", "DAY_USD", "DAY_TOKENS"):
            monkeypatch.delenv(f"FACET_BUDGET_{name}", raising=False)
        for name, value in limits.items():
            monkeypatch.setenv(f"FACET_BUDGET_{name}", value)
        assert run("plan", "--seeds", "4") == 0
        return capsys.readouterr().out.replace("\n", " ")

    assert "FACET_BUDGET_TOKENS = 1,000 allows: the run will stop" in said(TOKENS="1000")
    assert "FACET_BUDGET" not in said(TOKENS="1000000000", USD="1e6", DAY_USD="1e6", DAY_TOKENS="1000000000")
    store = ParquetStore(str(Path(os.environ["FACET_STORE"])))
    rows = store.rows(LedgerRow)
    expected = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    limit = str(expected + 1_000)
    assert "the run may stop there" in said(TOKENS=limit) and "may stop" in said(DAY_TOKENS=limit)
    store.put(rows[0].model_copy(update={"fingerprint": "today", "subject": "elsewhere", "at": now()}))
    paid = rows[0].prompt_tokens + rows[0].completion_tokens
    assert paid > 1_000
    told = said(DAY_TOKENS=limit)
    assert f"({paid:,} of it are paid today) allows: the run will stop there" in told
    assert "the run may stop there" in said(TOKENS=limit)


def test_lineage_is_a_tree_or_one_line(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lineage", "seed-00000", "--json", str(tmp_path / "tree.json")) == 0
    assert "skill skill-00000-b" in capsys.readouterr().out
    assert json.loads((tmp_path / "tree.json").read_text())["made_from"][1]["name"] == "skill-00000-b"
    assert run("lineage", "nothing") == 2
    assert "unknown seed, task or row 'nothing'" in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_refused_before_the_work(run: Run, tmp_path: Path) -> None:
    assert run("report", str(tmp_path / "none" / "page.html")) == 2
    assert run("report", str(tmp_path)) == 2
