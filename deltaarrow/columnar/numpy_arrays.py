"""Conversions between Arrow and numpy arrays without copying.

`pyarrow.array`, `pyarrow.scalar` and `to_numpy` would import pandas if it is installed, which takes longer
than many statements.
"""

import datetime as dt
from collections.abc import Sequence
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = [
    "ENCODED_TEXT",
    "array_of",
    "booleans",
    "empty_table",
    "ensure_microseconds",
    "in_order",
    "integers",
    "is_text_or_binary",
    "lengths",
    "numbers_of",
    "raw_numbers",
    "repeated_text",
    "scalar_of",
    "texts",
    "truths",
    "validity",
]

ENCODED_TEXT = pa.dictionary(pa.int32(), pa.string())
"""The type of texts as Parquet dictionaries have them: each distinct one once, and its place a row."""

_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_EXACT = Context(prec=76)


def array_of(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """Return Python values of one type as an Arrow array: partition values and literals.

    Accepted are texts, bytes, booleans, numbers, decimals, dates and times in microseconds, and None. A time
    without a zone counts as UTC. `OverflowError` for an integer outside the type.

    >>> array_of([dt.date(1970, 1, 2), None], pa.date32()).to_pylist()
    [datetime.date(1970, 1, 2), None]
    """
    known = [value is not None for value in values]
    validity = None if all(known) else pa.py_buffer(np.packbits(np.array(known), bitorder="little"))
    types = pa.types
    if types.is_string(data_type) or types.is_binary(data_type):
        stored = [
            b"" if each is None else each.encode() if isinstance(each, str) else each for each in values
        ]
        offsets = np.cumsum([0, *map(len, stored)], dtype=np.int32)
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(stored))]
        return pa.Array.from_buffers(data_type, len(values), buffers)
    numbers = [0 if value is None else _number(value, data_type) for value in values]
    if types.is_decimal(data_type):
        data = b"".join(each.to_bytes(16, "little", signed=True) for each in numbers)
    elif types.is_boolean(data_type):
        data = np.packbits(np.array(numbers, np.bool_), bitorder="little").tobytes()
    else:
        kind = "f" if types.is_floating(data_type) else "u" if types.is_unsigned_integer(data_type) else "i"
        data = np.array(numbers, f"{kind}{data_type.bit_width // 8}").tobytes()
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(data)])


def ensure_microseconds(value: Any) -> None:
    """Raise `ValueError` if a time has digits below microseconds, also inside of a list or dictionary.

    Conversions of times of pandas and NumPy to Python or to Arrow would cut these digits off.

    >>> ensure_microseconds([np.datetime64("2026-01-31T12:00:00.000001", "ns"), "a"])
    >>> try:
    ...     ensure_microseconds(np.datetime64(1001, "ns"))
    ... except ValueError as error:
    ...     print(str(error).partition(", which")[0])
    1970-01-01T00:00:00.000001001 has digits below microseconds
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set):
        for each in value:
            ensure_microseconds(each)
    elif _nanoseconds(value):
        raise ValueError(
            f"{value} has digits below microseconds, which Delta lacks: cut them off, as with"
            " Timestamp.floor('us')"
        )


def _nanoseconds(value: Any) -> int:
    """The nanoseconds of a time below its microseconds."""
    if isinstance(value, pa.TimestampScalar) and value.type.unit == "ns":
        return value.value % 1000 if value.is_valid else 0
    if isinstance(value, np.datetime64):
        return 0 if np.isnat(value) else int(value != value.astype("datetime64[us]"))
    # A time of pandas; its missing time equals nothing.
    return getattr(value, "nanosecond", 0) if isinstance(value, dt.datetime) and value == value else 0


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows.

    >>> empty_table(pa.schema([("id", pa.int64())])).num_rows
    0
    """
    # A NULL sliced away: of every type, nested ones too.
    return pa.Table.from_arrays([pa.nulls(1, field.type).slice(1) for field in schema], schema=schema)


def scalar_of(value: Any, data_type: pa.DataType) -> pa.Scalar:
    """Return a Python value in Arrow; what `array_of` takes.

    >>> scalar_of(7, pa.int64())
    <pyarrow.Int64Scalar: 7>
    """
    return array_of([value], data_type)[0]


def _number(value: Any, data_type: pa.DataType) -> Any:
    """The number that represents a value in an Arrow buffer."""
    if pa.types.is_decimal(data_type):
        return int(value.scaleb(data_type.scale, _EXACT))
    if pa.types.is_date32(data_type):
        return value.toordinal() - _EPOCH_DAY
    if pa.types.is_timestamp(data_type):
        in_utc = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return (in_utc - _EPOCH) // _MICROSECOND
    return value


def booleans(mask: np.ndarray) -> pa.Array:
    """Return a mask as an Arrow array.

    >>> booleans(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits], 0)


def truths(array: pa.BooleanArray) -> np.ndarray:
    """Return a mask as a numpy array, with NULL as False.

    >>> truths(pa.array([True, None, False])[:2]).tolist()
    [True, False]
    """
    found, known = _bits(array.buffers()[1], array.offset, len(array)), validity(array)
    return found if known is None else found & known


def validity(array: pa.Array) -> np.ndarray | None:
    """Return a mask of the values that are not NULL; None if there is no NULL.

    >>> validity(pa.array([1, None, 2])[1:]).tolist()
    [False, True]
    """
    return _bits(array.buffers()[0], array.offset, len(array)) if array.null_count else None


def _bits(buffer: pa.Buffer, offset: int, length: int) -> np.ndarray:
    octets = np.frombuffer(buffer, np.uint8)[offset // 8 : -(-(offset + length) // 8)]
    return np.unpackbits(octets, bitorder="little")[offset % 8 :][:length].view(np.bool_)


def integers(numbers: np.ndarray | Sequence[int], data_type: pa.DataType | None = None) -> pa.Array:
    """Return 64-bit integers as an Arrow array: of `pa.int64` or another 64-bit type.

    >>> integers(np.arange(3), pa.uint64()).type
    DataType(uint64)
    """
    values = pa.py_buffer(np.ascontiguousarray(numbers, np.int64))
    return pa.Array.from_buffers(data_type or pa.int64(), len(numbers), [None, values], 0)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return the numbers of a column without NULLs; copied if it has several chunks.

    >>> numbers_of(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty(0, column.type.to_pandas_dtype())


def is_text_or_binary(data_type: pa.DataType) -> bool:
    """Whether values of a type are texts or bytes behind offsets, of 32 or 64 bits.

    >>> is_text_or_binary(pa.large_string()), is_text_or_binary(pa.string_view())
    (True, False)
    """
    types = pa.types
    return any(
        is_such(data_type)
        for is_such in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def in_order(table: pa.Table, name: str) -> pa.Table:
    """Sort the rows of a table by a column of integers; the table itself if it is sorted.

    >>> in_order(pa.table({"place": [3, 1], "path": ["b", "a"]}), "place").column("path").to_pylist()
    ['a', 'b']
    """
    numbers = numbers_of(table.column(name))
    return table if (numbers[1:] > numbers[:-1]).all() else table.take(integers(np.argsort(numbers)))


def raw_numbers(array: pa.Array) -> np.ndarray:
    """Return the integers of an array, or its days since 1970; arbitrary numbers in place of NULL.

    >>> raw_numbers(pa.array([1, 2, 3], pa.int16())[1:])
    array([2, 3], dtype=int16)
    """
    kind = "u" if pa.types.is_unsigned_integer(array.type) else "i"
    # An empty array may have no buffer.
    values = np.frombuffer(array.buffers()[1] or b"", f"{kind}{array.type.bit_width // 8}")
    return values[array.offset : array.offset + len(array)]


def lengths(texts: pa.Array) -> np.ndarray:
    """Return the number of bytes of each text of a `pa.string` array; any number in place of NULL.

    >>> lengths(texts(["a", "", "bc"])[1:])
    array([0, 2], dtype=int32)
    """
    if not len(texts):
        return np.empty(0, np.int32)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)
    found: np.ndarray = np.diff(offsets[texts.offset : texts.offset + len(texts) + 1])
    return found


def texts(values: Sequence[str]) -> pa.Array:
    """Return strings as a `pa.string` array.

    >>> texts(["a", "bc"]).to_pylist()
    ['a', 'bc']
    """
    return array_of(values, pa.string())


def repeated_text(text: str, length: int) -> pa.Array:
    """Return one repeated string as a `pa.string` array.

    >>> repeated_text("insert", 2).to_pylist()
    ['insert', 'insert']
    """
    encoded = text.encode()
    offsets = np.arange(length + 1, dtype=np.int32) * np.int32(len(encoded))
    return pa.Array.from_buffers(
        pa.string(), length, [None, pa.py_buffer(offsets), pa.py_buffer(encoded * length)]
    )
