"""Vectors of texts, kept so that no text is embedded twice by the same model."""

from typing import ClassVar

from pydantic import Field

from facet_dagster.records.base import StoredRecord


class VectorBatch(StoredRecord):
    """The vectors of many texts by one model: which texts, and the blob with the numbers."""

    table: ClassVar[str] = "vectors"

    model: str
    dimensions: int  # numbers per vector
    texts: tuple[str, ...] = Field(description="SHA-256 of each text, in the order of the rows")
    blob: str = Field(description="digest of a blob: float32, little-endian, one row after another")

    @property
    def group(self) -> str:
        return self.model

    @property
    def key(self) -> str:
        return self.blob
