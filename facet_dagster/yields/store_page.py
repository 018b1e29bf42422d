"""docs/store.md: every table of the store with its columns, from the records' docstrings and comments beside fields.

`python -m facet_dagster.yields.store_page` prints the page; a test holds the docs to it.
"""

import inspect
import io
import tokenize
from collections.abc import Iterator
from enum import StrEnum
from types import NoneType
from typing import Any, get_args

from facet_dagster.adapters.parquet_store import KINDS
from facet_dagster.adapters.store_format import schema_of
from facet_dagster.records.base import StoredRecord

_INTRODUCTION = """\
# The tables of the store

The store is a folder (or an object store) of Parquet files, one table for each kind of record. `facet sql "SELECT …"`
asks it, and so can any DuckDB, at any time and beside any number of writers:

    facet sql "SELECT component, reason, count(*) FROM components WHERE kind = 'rejected' GROUP BY ALL ORDER BY 3 DESC"
    facet sql "SELECT seed, json_extract_string(record, '$.body.text') FROM components WHERE kind = 'instruction'"

Columns are the plain values of a record; all of it, nested parts too, stands in `record` as JSON. Nothing is ever
overwritten: what has changed is another row. `facet sql` takes one SELECT, reads the store and nothing else, and writes
nothing. Ready questions: [yields.md](yields.md).

This page is printed by `python -m facet_dagster.yields.store_page`; a test holds it to the code.
"""
_SHARED = {
    "schema_version": "version of the record's shape",
    "record": "the whole record as JSON, the nested fields included",
    "group_": "what the record belongs to; names the folder of a single row's file",
    "key_": "unique in the table within `group_`",
    "at": "when it was written, UTC",
    "run_id": "of the run that wrote it",
    "seed": "id of the scenario seed",
    "skill_id": "id of the skill",
    "skill_ids": "ids of the skills",
    "hypothesis_ids": "ids of the hypotheses",
    "model": "name of the model",
    "recorded": "whether recorded answers were replayed",
    "prompt_tokens": "sent",
    "completion_tokens": "received",
    "tokens": "of its model calls, sent and received",
    "cost_usd": "of its model calls, US dollars",
    "seconds": "that it took",
}


def page() -> str:
    """The whole page as markdown."""
    return "\n".join([_INTRODUCTION, *(line for kind in KINDS for line in _table(kind))])


def _table(kind: type[StoredRecord]) -> Iterator[str]:
    yield f"## `{kind.table}`\n"
    yield f"{' '.join(inspect.getdoc(kind).split())}\n"  # type: ignore[union-attr]  # every record has a docstring
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    meanings = _SHARED | meanings_of(kind)
    columns = {field.name: str(field.type) for field in schema_of(kind)}
    for name, type_ in columns.items():
        yield f"| `{name}` | {type_} | {meanings.get(name, '')} |"
    nested = [name for name in kind.model_fields if name not in columns]
    for name in nested:
        yield f"| `record` → `$.{name}` | JSON | {meanings.get(name, '')} |"
    yield ""


def meanings_of(kind: type[StoredRecord]) -> dict[str, str]:
    """Field or drawn value -> its description, else the comment on its line; then the values of a closed set."""
    said: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, StoredRecord) and base is not StoredRecord:
            said |= _comments(inspect.getsource(base))
    for name, info in kind.model_fields.items():
        if info.description:
            said[name] = info.description
        if values := _values(info.annotation):
            said[name] = "; ".join(filter(None, (said.get(name), f"one of {', '.join(f'`{v}`' for v in values)}")))
    return {name: meaning.replace("|", "\\|") for name, meaning in said.items()}


def _comments(source: str) -> dict[str, str]:
    """First name (or string) of a line -> the comment at its end."""
    found: dict[str, str] = {}
    first = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL):
            first = ""
        elif token.type == tokenize.COMMENT and first:
            found[first] = token.string.lstrip("# ")
        elif token.type in (tokenize.NAME, tokenize.STRING) and not first:
            first = token.string.strip("\"'")
    return found


def _values(annotation: Any) -> list[str]:
    kinds = [each for each in (annotation, *get_args(annotation)) if each is not NoneType]
    return [member.value for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum) for member in kind]


if __name__ == "__main__":
    print(page(), end="")
