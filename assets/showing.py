"""What several assets show alike: lines of progress, pictures, columns of a table, checks of a rate that only warn."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import dagster as dg

from facet_dagster.records.base import StoredRecord
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


def columns(kind: type[StoredRecord]) -> dg.TableSchema:
    """The fields of a record as Dagster's column schema."""
    fields = ((name, info.annotation, info.description) for name, info in kind.model_fields.items())
    return dg.TableSchema([dg.TableColumn(name, _type_name(type_), description) for name, type_, description in fields])


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
    return annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else "list"
