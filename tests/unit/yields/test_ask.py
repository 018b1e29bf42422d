"""SQL that a person writes: one SELECT over the store, nothing else of the machine, and each mistake in one line."""

from pathlib import Path

import duckdb
import pandas as pd
import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.errors import SettingsError
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.yields.store_page import page
from facet_dagster.yields.views import ask, is_missing

PROJECT = Path(__file__).resolve().parents[3]
SECRET = "nobody's business"


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A store with one seed, and a file beside it."""
    (tmp_path / "secret.csv").write_text(SECRET)
    store = ParquetStore(str(tmp_path / "store"))
    store.put(ScenarioSeed(seed_id="s", title="t", skill_ids=("a",), hypothesis_ids=(), rationale=""))
    return str(tmp_path / "store")


@pytest.mark.parametrize(
    ("select", "answer"),
    [
        ("SELECT count(*) FROM seeds", 1),
        ("FROM seeds SELECT title", "t"),
        ("WITH a AS (SELECT 1 AS n) SELECT n FROM a", 1),
        ("SELECT json_extract_string(record, '$.skill_ids[0]') FROM seeds;", "a"),
        ("SELECT count(*) FROM (SHOW TABLES)", 16),
        ("SELECT count(*) FROM (SUMMARIZE seeds) WHERE column_name = 'title'", 1),
        ("SELECT count(*) FROM seeds, json_each(record, '$.skill_ids')", 1),
        ("SELECT 'COPY_QUERY_NODE' AS type UNION SELECT 'COPY_QUERY_NODE'", "COPY_QUERY_NODE"),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT max(n) FROM t", 3),
        ("SELECT {'type': 'INSERT_QUERY_NODE', 'cte_map': 1}.type", "INSERT_QUERY_NODE"),
    ],
)
def test_a_select_is_answered(root: str, select: str, answer: object) -> None:
    assert ask(root, select).iloc[0, 0] == answer


@pytest.mark.parametrize(
    "statement",
    [
        "SELEC 1",
        "SELECT nothing FROM seeds",
        "FROM nowhere",
        "SELECT 1; SELECT 2",
        "",
        "SELECT CAST('x' AS INTEGER)",
        "SELECT TIMESTAMP '2020-01-01' AT TIME ZONE 'Nowhere'",
        "SELECT * FROM read_csv('{beside}')",
        "SELECT * FROM '{beside}'",
        "SELECT * FROM read_text('{store}/../secret.csv')",
        "SELECT * FROM read_text('{store}/link.csv')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
        "COPY seeds TO '{store}/out.csv'",
        "CREATE TABLE t AS FROM seeds",
        "DROP VIEW seeds",
        "ATTACH '{store}/x.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM root",
    ],
)
def test_anything_else_is_refused_in_one_line(root: str, tmp_path: Path, statement: str) -> None:
    (tmp_path / "store" / "link.csv").symlink_to(tmp_path / "secret.csv")
    before = sorted(path for path in tmp_path.rglob("*"))
    with pytest.raises(SettingsError) as error:
        ask(root, statement.format(beside=tmp_path / "secret.csv", store=root))
    assert "\n" not in str(error.value) and SECRET not in str(error.value)
    assert sorted(path for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "statement",
    [
        "WITH x AS ({copy}) SELECT * FROM x",
        "with x as materialized ({copy}) from range(2)",
        "WITH x AS (SELECT 1), y AS ({copy}) SELECT * FROM x UNION ALL SELECT 2",
        "SELECT * FROM (WITH x AS ({copy}) FROM x)",
        "SELECT (WITH x AS ({copy}) SELECT count(*) FROM x)",
        "DESCRIBE WITH x AS ({copy}) FROM x",
        "WITH x AS (INSERT INTO seeds BY NAME FROM seeds RETURNING title) FROM x",
        "FROM json_execute_serialized_sql('{serialized}')",
        "FROM query('FROM json_execute_serialized_sql(''x'')')",
        "FROM enable_logging(storage = 'file', storage_path = '{store}')",
        "FROM enable_profiling()",
        "FROM checkpoint()",
    ],
)
def test_what_is_called_a_select_and_writes_leaves_the_store_as_it_is(root: str, statement: str) -> None:
    (kept,) = Path(root).rglob("*.parquet")
    before = {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}
    copy = f"COPY (SELECT 1 AS a) TO '{kept}' (FORMAT parquet)"
    writing = f"WITH x AS ({copy}) SELECT * FROM x"
    (serialized,) = duckdb.execute("SELECT json_serialize_sql(?::VARCHAR)", [writing]).fetchone() or ("",)
    quoted = serialized.replace("'", "''")
    with pytest.raises(SettingsError) as error:
        ask(root, statement.replace("{serialized}", quoted).replace("{copy}", copy).replace("{store}", root))
    assert "\n" not in str(error.value)
    assert {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()} == before


def test_the_page_of_the_tables_is_as_the_code_is() -> None:
    assert (PROJECT / "docs" / "store.md").read_text() == page(), "python -m facet_dagster.yields.store_page"
    assert "|  |" not in page()


def test_nulls_of_every_kind_are_missing_and_lists_are_not(tmp_path: Path) -> None:
    answer = ask(
        str(tmp_path), "SELECT NULL::BOOLEAN AS a, NULL::INT AS b, NULL::DOUBLE AS c, [NULL, 1] AS d, false AS e"
    )
    assert [is_missing(value) for value in answer.iloc[0]] == [True, True, True, False, False]
    assert is_missing(pd.NA) and is_missing(pd.NaT) and not is_missing("") and not is_missing(0)
