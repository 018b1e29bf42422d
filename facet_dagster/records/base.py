"""The base of every record: frozen, versioned, strict about unknown keys, addressed by its content.

Belongs here: what all records share. Does not belong here: any station's data.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


def digest_of(data: bytes | str) -> str:
    """SHA-256 of bytes (text is encoded as UTF-8), as 64 hex digits."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def now() -> datetime:
    """The present moment in UTC; records never hold naive times."""
    return datetime.now(UTC)


class Record(BaseModel):
    """An immutable value that stations hand to one another."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int = 1

    def digest(self) -> str:
        """Content address: SHA-256 over the canonical JSON of the record."""
        return digest_of(self.model_dump_json())


class StoredRecord(Record):
    """A record that the store keeps: one row of one table.

    `table` names the folder, `group` the sub-folder (mostly the seed), `key` is unique within the
    group; putting the same key twice replaces nothing and costs nothing. `drawn` are columns of the table beside the
    scalar fields: name -> path of attributes from the record to a value, and its type; the first is never empty.
    """

    table: ClassVar[str]
    drawn: ClassVar[Mapping[str, tuple[str, type]]] = {}

    @property
    def group(self) -> str:
        """What the record belongs to; all records of one group are cheap to read together."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """Unique within table and group, made of letters, digits, dot, dash and underscore."""
        raise NotImplementedError
