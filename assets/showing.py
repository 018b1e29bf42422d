"""What several assets show alike: lines of progress, pictures, columns of a table, checks of a rate that only warn."""

import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any, get_args

import dagster as dg
import pandas as pd
import pyarrow as pa

from facet_dagster.records.base import Record
from resources.watching import Onlooker


def teller(context: dg.AssetExecutionContext, onlooker: Onlooker) -> Callable[[str], None]:
    """Says a line of progress to the run's log and to whoever looks on."""

    def say(line: str) -> None:
        context.log.info(line)
        onlooker.note(line)

    return say


def picture(title: str, png: bytes) -> dg.MarkdownMetadataValue:
    """A PNG as part of the page."""
    return dg.MetadataValue.md(f"![{title}](data:image/png;base64,{b64encode(png).decode()})")


def columns(kind: type[Record]) -> dg.TableSchema:
    """The fields of a record as Dagster's column schema."""
    fields = ((name, info.annotation, info.description) for name, info in kind.model_fields.items())
    return dg.TableSchema([dg.TableColumn(name, _type_name(type_), description) for name, type_, description in fields])


def arrow_columns(schema: pa.Schema) -> dg.TableSchema:
    """The columns of a Parquet file as Dagster's column schema."""
    return dg.TableSchema([dg.TableColumn(field.name, str(field.type)) for field in schema])


def answer_size(frame: pd.DataFrame) -> dict[str, Any]:
    """Rows and columns of an answer, under the names that Dagster's catalogue knows."""
    schema = dg.TableSchema([dg.TableColumn(str(name), str(type_)) for name, type_ in frame.dtypes.items()])
    return {"dagster/row_count": len(frame), "dagster/column_schema": schema}


def rate_check(asset: str, name: str, rate: float, *, least: float = 0.0, most: float = 1.0) -> dg.AssetCheckResult:
    """Whether a share lies where it is expected; outside it is a warning, never a failure."""
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=least <= rate <= most,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"rate": rate, "least": least, "most": most},
    )


def _type_name(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return re.sub(r"\b(?:\w+\.)+", "", str(annotation))  # without the modules
