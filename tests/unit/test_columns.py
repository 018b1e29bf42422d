"""Columns built from buffers hold what Arrow itself would have made of the values, and pandas stays out."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facet_dagster.columns import column

TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), st.text(st.characters(codec="utf-8"))),
    (pa.binary(), st.binary()),
    (pa.bool_(), st.booleans()),
    (pa.int64(), INTEGERS),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.timestamp("us", tz="UTC"), TIMES),
]


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), st.lists(st.none() | kind[1]))))
def test_a_column_is_what_arrow_makes_of_the_values(case: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = case
    made = column(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))


def test_what_does_not_fit_is_no_column() -> None:
    with pytest.raises(TypeError, match="list"):
        column([[1]], pa.list_(pa.int64()))
    with pytest.raises(OverflowError):
        column([2**63], pa.int64())


def test_a_store_is_written_and_read_without_pandas() -> None:
    code = (
        "import sys, tempfile\n"
        "from facet_dagster.adapters.parquet_store import ParquetStore\n"
        "from facet_dagster.records.seed import Candidate\n"
        "from facet_dagster.skills.history import keep_features\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    store = ParquetStore(place)\n"
        "    make = lambda n: Candidate(candidate_id=n, hypothesis_ids=(), skill_ids=(), similarity=0.5, kept=True,"
        " rationale='')\n"
        "    store.put_all([make('a'), make('b')]); store.put(make('c')); store.rows(Candidate)\n"
        "    keep_features(store, {'w': b's'}, {('a', 'b'): 0.5})\n"
        "print('pandas' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
