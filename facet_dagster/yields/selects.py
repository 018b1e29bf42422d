"""Whether SQL is one SELECT that only reads, told from its parse tree.

DuckDB calls a statement a SELECT that has COPY or INSERT in its WITH, and has table functions that execute SQL, write
logs or change settings. Only what is listed here is let through.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from facet_dagster.errors import SettingsError

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_FUNCTIONS = {
    "generate_series", "glob", "json_each", "json_tree", "range", "repeat", "repeat_row", "sniff_csv", "summary",
    "unnest",
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_settings", "duckdb_tables", "duckdb_types",
    "duckdb_views", "pragma_table_info", "pragma_version",
}  # fmt: skip
_READING = ("read_", "parquet_")


def check_select(sql: str) -> None:
    """Raise SettingsError unless the SQL is one SELECT that writes nothing and executes no other SQL."""
    with duckdb.connect(":memory:") as connection:
        try:
            kinds = [statement.type for statement in connection.extract_statements(sql)]
        except duckdb.Error as error:
            raise SettingsError(f"this is no SQL: {' '.join(str(error).partition(chr(10))[0].split())}") from error
        (parsed,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone() or ("{}",)
    if kinds != [duckdb.StatementType.SELECT]:
        raise SettingsError("one SELECT is asked for (WITH, FROM, DESCRIBE and SHOW TABLES are, too)")
    try:
        tree = json.loads(parsed)
    except RecursionError as error:
        raise SettingsError("this is nested too deeply") from error
    if tree.get("error", True):
        raise SettingsError(f"this cannot be asked: {tree.get('error_message', 'it cannot be parsed')}")
    for node in _nodes(tree):
        kind = node.get("type")
        if ("cte_map" in node or str(kind).endswith("_NODE")) and kind not in _NODES:
            raise SettingsError("a SELECT that only reads is asked for: COPY, INSERT and their like stand in its WITH")
        if kind == "TABLE_FUNCTION":
            name = str(node["function"]["function_name"]).lower()
            if name not in _FUNCTIONS and not name.startswith(_READING):
                raise SettingsError(f"the table function {name} is not among those that only read")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the tree."""
    left = [tree]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left += each.values()
        elif isinstance(each, list):
            left += each
