"""Arrow arrays over numpy's values, nothing copied; `pyarrow.array` would import pandas where it is."""

import numpy as np
import pyarrow as pa

__all__ = ["booleans", "integers"]


def booleans(mask: np.ndarray) -> pa.Array:
    """Return a mask in Arrow.

    >>> booleans(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits], 0)


def integers(numbers: np.ndarray, data_type: pa.DataType | None = None) -> pa.Array:
    """Return integers in Arrow, of 64 bits: as `pa.int64` or another type that has as many.

    >>> integers(np.arange(3), pa.uint64()).type
    DataType(uint64)
    """
    values = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(data_type or pa.int64(), len(numbers), [None, values], 0)
