"""The version mark of a store, and the Parquet shape of a record: its columns and its file.

A row has one column per scalar field of the record and per value that its class draws out of it (for DuckDB),
`record` (the whole as JSON, the truth), and `group_` and `key_`. Columns follow from the record's class, not from its
values, so that they never vary.
"""

import io
import json
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from facet_dagster.adapters.store_files import StoreFiles
from facet_dagster.columns import column
from facet_dagster.errors import SettingsError, StoreTooNew
from facet_dagster.records.base import StoredRecord

VERSION = 1
ROW_GROUP = 64  # rows that are read together to get one of them out of a compacted file
_AT_ONCE = 16 * ROW_GROUP  # records that are turned into columns together
_MARK = "format.json"
# Rows are found by the table's own index: statistics, dictionaries and Arrow's copy of the schema would be three
# quarters of the file of a call (13 kB instead of 3.4).
_WRITING = {"use_dictionary": False, "write_statistics": False, "store_schema": False}

R = TypeVar("R", bound=StoredRecord)


def check_format(files: StoreFiles) -> bool:
    """Whether the store is marked with a version. Raises StoreTooNew, or SettingsError for a broken mark."""
    data = files.read(files.path(_MARK))
    if data is None:
        return False
    try:
        version = int(json.loads(data)["version"])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise SettingsError(f"{files.path(_MARK)} is not the mark of a store: set FACET_STORE elsewhere") from error
    if version > VERSION:
        raise StoreTooNew(
            f"the store {files.root} has format {version}, this program knows {VERSION}: update it or set FACET_STORE"
        )
    return True


def mark_format(files: StoreFiles) -> None:
    """Write the version mark of a store that has none."""
    files.write(files.path(_MARK), json.dumps({"version": VERSION}).encode() + b"\n")


@cache
def schema_of(kind: type[StoredRecord]) -> pa.Schema:
    """Arrow schema of a table: scalar fields, drawn values, then `record`, `group_`, `key_`."""
    fields = [(name, _arrow_type(info.annotation)) for name, info in kind.model_fields.items()]
    fields += [(name, _arrow_type(type_)) for name, (_, type_) in kind.drawn.items()]
    columns = [pa.field(name, type_) for name, type_ in fields if type_ is not None]
    return pa.schema([*columns, *(pa.field(name, pa.string()) for name in ("record", "group_", "key_"))])


def _arrow_type(annotation: Any) -> pa.DataType | None:
    """Arrow type of a scalar annotation (optional or not); None for anything else."""
    if get_origin(annotation) in (Union, UnionType):
        inner = [a for a in get_args(annotation) if a is not NoneType]
        return _arrow_type(inner[0]) if len(inner) == 1 else None
    if get_origin(annotation) is Literal:
        return pa.string() if all(isinstance(a, str) for a in get_args(annotation)) else None
    if not isinstance(annotation, type):
        return None
    scalars: list[tuple[type, pa.DataType]] = [
        (bool, pa.bool_()),
        (str, pa.string()),
        (int, pa.int64()),
        (float, pa.float64()),
        (datetime, pa.timestamp("us", tz="UTC")),
    ]
    return next((type_ for python, type_ in scalars if issubclass(annotation, python)), None)


def _table_of(records: Sequence[StoredRecord]) -> pa.Table:
    schema = schema_of(type(records[0]))
    drawn = type(records[0]).drawn
    own = [name for name in schema.names if name not in ("record", "group_", "key_", *drawn)]
    columns: dict[str, list[Any]] = {name: [_scalar(getattr(record, name)) for record in records] for name in own}
    columns |= {name: [_drawn(record, *where) for record in records] for name, where in drawn.items()}
    columns["record"] = [record.model_dump_json() for record in records]
    columns["group_"] = [record.group for record in records]
    columns["key_"] = [record.key for record in records]
    return pa.Table.from_arrays([column(columns[field.name], field.type) for field in schema], schema=schema)


def _scalar(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def _drawn(record: StoredRecord, path: str, type_: type) -> object:
    """The value at a path of attributes; None where a part is missing, or something else stands there."""
    value: object = record
    for part in path.split("."):
        value = getattr(value, part, None)
    return _scalar(value) if isinstance(value, type_) else None


def parquet_bytes(records: Sequence[StoredRecord]) -> bytes:
    """Records of one kind as a Parquet file in memory, in small row groups."""
    buffer, schema = io.BytesIO(), schema_of(type(records[0]))
    # Nothing but the JSON is long enough to be worth it in the file of one row.
    packed = {name: "zstd" if name == "record" or len(records) > 1 else "none" for name in schema.names}
    with pq.ParquetWriter(buffer, schema, compression=packed, **_WRITING) as writer:
        for start in range(0, len(records), _AT_ONCE):  # a whole collection as Python rows would not fit in memory
            writer.write_table(_table_of(records[start : start + _AT_ONCE]), row_group_size=ROW_GROUP)
    return buffer.getvalue()


def parse(kind: type[R], text: str, where: str) -> R:
    """A record from its JSON. Raises SettingsError where this version of the program cannot read it."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise SettingsError(
            f"{where} is no {kind.__name__} of this version ({place}: {problem['msg']}): set FACET_STORE elsewhere"
        ) from error
