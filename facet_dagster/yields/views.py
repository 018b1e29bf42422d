"""The store as SQL: DuckDB in memory with one view per table, and the queries that stand in queries/*.sql.

Belongs here: opening and running. What is counted stands in the queries; drawing stands in report.py.
"""

from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa

from facet_dagster.adapters.parquet_store import KINDS, ParquetStore
from facet_dagster.adapters.store_format import schema_of
from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.records.base import StoredRecord

QUERIES = Path(__file__).parent / "queries"

_TRIES = 3  # a compaction may remove files between listing and reading them


def names() -> list[str]:
    """The queries that `run_query` knows."""
    return sorted(path.stem for path in QUERIES.glob("*.sql"))


def run_query(store_root: str, name: str) -> pd.DataFrame:
    """Run a query by name. Raises SettingsError where there is none, or where the store cannot be read."""
    if name not in names():
        raise SettingsError(f"there is no query {name!r}; known are: {', '.join(names())}")
    return run_sql(store_root, (QUERIES / f"{name}.sql").read_text(encoding="utf-8"))


def run_sql(store_root: str, sql: str) -> pd.DataFrame:
    """Run SQL over the views of a store."""
    for left in reversed(range(_TRIES)):
        try:
            with open_views(store_root) as connection:
                frame: pd.DataFrame = connection.sql(sql).df()
                return frame
        except (duckdb.Error, FileNotFoundError) as error:  # a file may be compacted away while it is read
            if not left:
                said = str(error).splitlines()[0]
                raise InfrastructureError(f"the store {store_root} cannot be read: {said}") from error
    raise AssertionError("unreachable")


def open_views(store_root: str) -> duckdb.DuckDBPyConnection:
    """A connection with one view per table; a table without rows is an empty view with the same columns."""
    store = ParquetStore(store_root)
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    if not store.files.local:
        connection.register_filesystem(store.files.fs)
    for kind in KINDS:
        paths = store.paths(kind)
        shown = paths if store.files.local else [str(store.files.fs.unstrip_protocol(path)) for path in paths]
        connection.execute(f'CREATE VIEW "{kind.table}" AS {_select(kind, shown)}')
    return connection


def _select(kind: type[StoredRecord], paths: list[str]) -> str:
    """All rows once: a row that stands in two files (compaction under way) is taken from the compacted one."""
    schema = schema_of(kind)
    empty = ", ".join(f'CAST(NULL AS {_sql_type(field.type)}) AS "{field.name}"' for field in schema)
    nothing = f"SELECT {empty} WHERE false"
    if not paths:
        return nothing
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    columns = ", ".join(f'"{name}"' for name in schema.names)
    everything = f"""
        {nothing}
        UNION ALL BY NAME
        SELECT *, file_row_number AS row_, filename AS file_
        FROM read_parquet([{listed}], union_by_name = true, file_row_number = true, filename = true)
    """
    first = "PARTITION BY group_, key_ ORDER BY contains(file_, '/_compacted/') DESC, file_, row_"
    return f"SELECT {columns} FROM ({everything}) QUALIFY row_number() OVER ({first}) = 1"


def _sql_type(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "BOOLEAN"
    if pa.types.is_integer(type_):
        return "BIGINT"
    if pa.types.is_floating(type_):
        return "DOUBLE"
    return "TIMESTAMPTZ" if pa.types.is_timestamp(type_) else "VARCHAR"
