"""Arrow arrays made of numpy's, nothing copied, and the other way round.

`pyarrow.array`, `pyarrow.scalar` and `to_numpy` would import pandas where it is installed, which takes longer
than many statements.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

__all__ = [
    "booleans",
    "integers",
    "numbers_of",
    "raw_numbers",
    "repeated_text",
    "texts",
    "truths",
    "validity",
]


def booleans(mask: np.ndarray) -> pa.Array:
    """Return a mask in Arrow.

    >>> booleans(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits], 0)


def truths(array: pa.BooleanArray) -> np.ndarray:
    """Return a mask in numpy, in which NULL is False.

    >>> truths(pa.array([True, None, False])[:2]).tolist()
    [True, False]
    """
    found, known = _bits(array.buffers()[1], array.offset, len(array)), validity(array)
    return found if known is None else found & known


def validity(array: pa.Array) -> np.ndarray | None:
    """Return a mask of what is not NULL; None where nothing is.

    >>> validity(pa.array([1, None, 2])[1:]).tolist()
    [False, True]
    """
    return _bits(array.buffers()[0], array.offset, len(array)) if array.null_count else None


def _bits(buffer: pa.Buffer, offset: int, length: int) -> np.ndarray:
    octets = np.frombuffer(buffer, np.uint8)[offset // 8 : -(-(offset + length) // 8)]
    return np.unpackbits(octets, bitorder="little")[offset % 8 :][:length].view(np.bool_)


def integers(numbers: np.ndarray | Sequence[int], data_type: pa.DataType | None = None) -> pa.Array:
    """Return integers in Arrow, of 64 bits: as `pa.int64` or another type that has as many.

    >>> integers(np.arange(3), pa.uint64()).type
    DataType(uint64)
    """
    values = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(data_type or pa.int64(), len(numbers), [None, values], 0)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column without NULLs; copied where it has several chunks.

    >>> numbers_of(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty(0, column.type.to_pandas_dtype())


def raw_numbers(array: pa.Array) -> np.ndarray:
    """Return the integers of an array, or its days from 1970 on; where it is NULL, some number.

    >>> raw_numbers(pa.array([1, 2, 3], pa.int16())[1:])
    array([2, 3], dtype=int16)
    """
    kind = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    values = np.frombuffer(array.buffers()[1], f"{kind}{array.type.bit_width // 8}")
    return values[array.offset : array.offset + len(array)]


def texts(values: Sequence[str]) -> pa.Array:
    """Return strings in Arrow, as `pa.string`.

    >>> texts(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )


def repeated_text(text: str, length: int) -> pa.Array:
    """Return one string many times, as `pa.string`.

    >>> repeated_text("insert", 2).to_pylist()
    ['insert', 'insert']
    """
    encoded = text.encode()
    offsets = np.arange(length + 1, dtype=np.int32) * np.int32(len(encoded))
    return pa.Array.from_buffers(
        pa.string(), length, [None, pa.py_buffer(offsets), pa.py_buffer(encoded * length)]
    )
