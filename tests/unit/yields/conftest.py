"""The store of counted_store.py, as it was written and compacted."""

from pathlib import Path

import pytest

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.testing.counted_store import fill


@pytest.fixture(params=["single", "compacted"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    store = ParquetStore(str(tmp_path))
    fill(store)
    if request.param == "compacted":
        store.compact()
    return str(tmp_path)
