"""The store as SQL: DuckDB in memory with one view per table. It reads the store and nothing else, and writes nothing.

Belongs here: opening and running. What is counted stands in the queries (questions.py); drawing stands elsewhere.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from facet_dagster.adapters.parquet_store import KINDS, ParquetStore
from facet_dagster.adapters.store_format import schema_of
from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.records.base import StoredRecord
from facet_dagster.yields.derived import DERIVED
from facet_dagster.yields.questions import question
from facet_dagster.yields.selects import check_select

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "parquet_metadata_cache": True,
    "python_enable_replacements": False,  # a name in SQL is no variable of ours
}
_COMPACTED = "/_compacted/"
_TRIES = 3  # a compaction may remove files between listing and reading them
_MISTAKES = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError, duckdb.PermissionException)


def run_query(store_root: str, name: str) -> pd.DataFrame:
    """Run a query by name. Raises SettingsError where there is none, and what run_sql raises."""
    return run_sql(store_root, question(name).sql)


def run_queries(store_root: str, names: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Run queries by name on the same files, which is quicker than one by one. Raises as run_query does."""
    asked = {name: question(name).sql for name in names}
    return dict(zip(asked, _run(store_root, list(asked.values()), ()), strict=True))


def run_sql(store_root: str, sql: str) -> pd.DataFrame:
    """Run SQL of ours over the views that it names. Raises InfrastructureError where the store cannot be read."""
    return _run(store_root, [sql], ())[0]


def _run(store_root: str, asked: Sequence[str], mistakes: tuple[type[duckdb.Error], ...]) -> list[pd.DataFrame]:
    for left in reversed(range(_TRIES)):
        try:
            with open_views(store_root, "\n".join(asked)) as connection:
                try:
                    return [connection.sql(sql).df() for sql in asked]
                except mistakes as error:
                    raise SettingsError(f"this cannot be asked: {_first(error)}") from error
        except (duckdb.Error, FileNotFoundError) as error:  # a file may be compacted away while it is read
            if not left:
                raise InfrastructureError(f"the store {store_root} cannot be read: {_first(error)}") from error
    raise AssertionError("unreachable")


def ask(store_root: str, sql: str) -> pd.DataFrame:
    """Run one SELECT that a person wrote. Raises SettingsError for anything else, and what run_sql raises."""
    check_select(sql)
    return _run(store_root, [sql], _MISTAKES)[0]


def open_views(store_root: str, sql: str = "") -> duckdb.DuckDBPyConnection:
    """A connection with one view per table, and those of derived.py where `sql` names one; without rows they are empty.

    With `sql`, those that it names, since a view takes time to make; where it names none, all.
    """
    store = ParquetStore(store_root)
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    if not store.files.local:
        connection.register_filesystem(store.files.fs)
    text = sql.lower()
    derives = any(name in text for name in DERIVED)
    text += " ".join(DERIVED.values()) if derives else ""
    named = [kind for kind in KINDS if kind.table in text]
    for kind in named or KINDS:
        paths = store.paths(kind)
        shown = paths if store.files.local else [str(store.files.fs.unstrip_protocol(path)) for path in paths]
        connection.execute(f'CREATE VIEW "{kind.table}" AS {_select(kind, shown, _twice(connection, shown))}')
    for name, select in DERIVED.items() if derives else ():
        connection.execute(f"CREATE VIEW {name} AS {select}")
    root = store.files.root if store.files.local else str(store.files.fs.unstrip_protocol(store.files.root))
    connection.execute("SET allowed_directories = " + _listed([f"{root}/"]))
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _first(error: BaseException) -> str:
    return " ".join(str(error).partition("\n")[0].split())


def _listed(values: list[str]) -> str:
    return "[" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + "]"


def _twice(connection: duckdb.DuckDBPyConnection, paths: list[str]) -> bool:
    """Whether a row stands in two files, as while a compaction is under way."""
    if len(paths) < 2 or _COMPACTED not in paths[-1]:
        return False
    rows = f"SELECT 1 FROM read_parquet({_listed(paths)}) GROUP BY group_, key_ HAVING count(*) > 1 LIMIT 1"
    return connection.execute(rows).fetchone() is not None


def _select(kind: type[StoredRecord], paths: list[str], twice: bool) -> str:
    """All rows once: one that stands in two files is taken from the compacted one.

    That costs a join, in which DuckDB may hold all records at once, so it is done only where there is such a row.
    """
    schema = schema_of(kind)
    empty = ", ".join(f'CAST(NULL AS {_sql_type(field.type)}) AS "{field.name}"' for field in schema)
    nothing = f"SELECT {empty}, '' AS file_, 0::BIGINT AS row_ WHERE false"
    columns = ", ".join(f'"{name}"' for name in schema.names)
    if not paths:
        return f"SELECT {columns} FROM ({nothing})"
    read = f"read_parquet({_listed(paths)}, union_by_name = true, file_row_number = true, filename = true)"
    rows = f"""
        {nothing}
        UNION ALL BY NAME
        SELECT * EXCLUDE (file_row_number, filename), file_row_number AS row_, filename AS file_ FROM {read}
    """
    if kind.drawn:
        # What earlier versions wrote lacks these columns. Apart, so that nobody else has to read records for them.
        (known, *_) = kind.drawn
        found = ", ".join(f'{_drawn(*where)} AS "{name}"' for name, where in kind.drawn.items())
        rows = f"""
            SELECT * FROM ({rows}) WHERE "{known}" IS NOT NULL
            UNION ALL
            SELECT * REPLACE ({found}) FROM ({rows}) WHERE "{known}" IS NULL
        """
    if not twice:
        return f"SELECT {columns} FROM ({rows})"
    first = f"PARTITION BY group_, key_ ORDER BY contains(filename, '{_COMPACTED}') DESC, filename, file_row_number"
    # Only addresses are compared: records are large.
    return f"""
        SELECT {columns} FROM ({rows}) ANTI JOIN (
            SELECT filename AS file_, file_row_number AS row_
            FROM {read}
            SEMI JOIN (SELECT group_, key_ FROM {read} GROUP BY ALL HAVING count(*) > 1) USING (group_, key_)
            QUALIFY row_number() OVER ({first}) > 1
        ) USING (file_, row_)
    """


def _drawn(path: str, type_: type) -> str:
    """The value at a path of a record, where it has the type."""
    value = f"json_extract_string(record, '$.{path}')"
    return value if type_ is str else f"TRY_CAST({value} AS {'BOOLEAN' if type_ is bool else 'BIGINT'})"


def _sql_type(type_: pa.DataType) -> str:
    if pa.types.is_boolean(type_):
        return "BOOLEAN"
    if pa.types.is_integer(type_):
        return "BIGINT"
    if pa.types.is_floating(type_):
        return "DOUBLE"
    return "TIMESTAMPTZ" if pa.types.is_timestamp(type_) else "VARCHAR"


def is_missing(value: Any) -> bool:
    """Whether a value of an answer is SQL's NULL, in whichever guise pandas gives it; a list is never."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))
