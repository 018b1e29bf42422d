"""The contract that an exported task of ours carries in its metadata; other tasks have none."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from facet_dagster.records.scenario import Requirement
from facet_dagster.validation.candidate import Contract


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    observable: str
    clause: str | None = None


class _Exported(BaseModel):
    model_config = ConfigDict(extra="ignore")

    requirements: dict[str, _Row]
    tests: dict[str, tuple[str, ...]]


def contract_of(metadata: dict[str, Any]) -> Contract | None:
    """Requirements, clauses and tests as `datasets/harbor.py` writes them; None where they are not all there."""
    if metadata.get("generator") != "facet-dagster":
        return None
    try:
        exported = _Exported.model_validate(metadata)
        requirements = tuple(
            Requirement(id=key, text=row.text, observable=row.observable) for key, row in exported.requirements.items()
        )
    except ValidationError:
        return None
    clauses = {key: row.clause for key, row in exported.requirements.items() if row.clause is not None}
    return Contract(requirements=requirements, clauses=clauses, tests=exported.tests)
