"""Python values as Arrow columns, built from buffers: `pa.array` imports pandas, half a second in every process that
writes anything.

Belongs here: the types that tables of ours have. What stands in a table is the caller's.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Strings, bytes, booleans, integers, floats or times (microseconds in UTC), each of them or None.

    Raises TypeError for another type, and what numpy raises for values that do not fit it.
    """
    present = np.array([value is not None for value in values], dtype=np.bool_)
    validity = None if present.all() else _bits(present)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        parts = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        ends = np.cumsum([0, *map(len, parts)])
        buffers = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(parts))]
    elif pa.types.is_boolean(kind):
        buffers = [_bits(np.array([bool(value) for value in values], dtype=np.bool_))]
    elif pa.types.is_timestamp(kind):
        times = [0 if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        buffers = [pa.py_buffer(np.array(times, dtype=np.int64))]
    elif kind in (pa.int64(), pa.float64()):
        numbers = np.array([0 if value is None else value for value in values], dtype=kind.to_pandas_dtype())
        buffers = [pa.py_buffer(numbers)]
    else:
        raise TypeError(f"no column of {kind} is known here")
    return pa.Array.from_buffers(kind, len(values), [validity, *buffers])


def _bits(flags: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
