"""Python values as Arrow columns, built from buffers: `pa.array` imports pandas, half a second in every process that
writes anything.

Belongs here: the types that tables of ours have. What stands in a table is the caller's.
"""

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_BYTES = {pa.string().id, pa.binary().id}
_NUMBERS = {pa.int64().id: "q", pa.float64().id: "d"}
_TIME, _FLAG = pa.timestamp("us").id, pa.bool_().id


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Strings, bytes, booleans, integers, floats or times (microseconds in UTC), each of them or None.

    Raises TypeError for another type and for values that are not of it, OverflowError for integers beyond 64 bits.
    """
    validity = _bits([value is not None for value in values]) if None in values else None
    if kind.id in _BYTES:
        parts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        buffers = [pa.py_buffer(array("i", (0, *accumulate(map(len, parts))))), pa.py_buffer(b"".join(parts))]
    elif kind.id == _FLAG:
        buffers = [_bits([bool(value) for value in values])]
    elif kind.id == _TIME:
        times = [0 if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        buffers = [pa.py_buffer(array("q", times))]
    elif kind.id in _NUMBERS:
        numbers = [0 if value is None else value for value in values]
        buffers = [pa.py_buffer(array(_NUMBERS[kind.id], numbers))]
    else:
        raise TypeError(f"no column of {kind} is known here")
    return pa.Array.from_buffers(kind, len(values), [validity, *buffers])


def _bits(flags: list[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(flags, dtype=np.bool_), bitorder="little"))
