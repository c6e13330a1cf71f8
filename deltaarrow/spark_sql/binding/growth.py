"""Bounds on the length of texts in SQL expressions, computed before the expressions are.

Eleven nested calls of ``replace`` make gigabytes out of one letter, and DuckDB can neither be interrupted
within a value nor count its bytes. So each row gets a bound from the lengths of its texts, and a query takes
as many rows as their bounds allow. A row whose bound exceeds the limit is rare. It is measured call by call,
from the inside out, and refused if a text would really exceed the limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Constant, Node, Path

__all__ = ["grows", "length_of", "longest", "parts"]

_PADDING = frozenset({"lpad", "rpad"})
_SHORT = 64
"""The most bytes that a value of another type takes as text."""

_TOGETHER = 4
"""The total bytes of a query, as a multiple of the limit of one value."""


def grows(node: Node) -> bool:
    """Whether a value may be many times longer than everything that it is computed from."""
    if not isinstance(node, Call):
        return False
    return node.name in _BOUNDS or any(map(grows, node.operands))


def longest(node: Node, columns: Mapping[Path, pa.ChunkedArray], rows: int) -> np.ndarray:
    """Return, for each row, a bound in bytes of the longest text below a node."""
    found: list[np.ndarray] = []
    _length(node, columns, rows, found)
    bound: np.ndarray = np.maximum.reduce(found)
    return bound


def _length(
    node: Node, columns: Mapping[Path, pa.ChunkedArray], rows: int, found: list[np.ndarray]
) -> np.ndarray:
    if isinstance(node, ColumnRef):
        length = _column_length(columns[node.path], rows)
    elif isinstance(node, Constant):
        length = np.full(rows, _constant_length(node), np.float64)
    else:
        operands = [_length(each, columns, rows, found) for each in node.operands]
        length = _call_length(node, operands) if operands else np.full(rows, _SHORT, np.float64)
    found.append(length)
    return length


def _call_length(node: Call, operands: Sequence[np.ndarray]) -> np.ndarray:
    if node.name in _BOUNDS:
        return _BOUNDS[node.name](node, operands)
    total = sum(operands[1:], operands[0])
    if node.name in _PADDING and isinstance(node.operands[1], Constant):
        total = total + 4.0 * float(node.operands[1].value or 0)  # type: ignore[arg-type]
    return total + _SHORT


def _replace_length(node: Call, operands: Sequence[np.ndarray]) -> np.ndarray:
    text, _, replacement = operands
    search = node.operands[1]
    least = max(1, _constant_length(search)) if isinstance(search, Constant) else 1
    return text * np.maximum(1.0, replacement / least)


def _concat_ws_length(node: Call, operands: Sequence[np.ndarray]) -> np.ndarray:
    separator, *texts = operands
    return sum(texts, separator * len(texts))


def _times(factor: int) -> Callable[[Call, Sequence[np.ndarray]], np.ndarray]:
    return lambda node, operands: operands[0] * float(factor) + _SHORT


def _repeat_length(node: Call, operands: Sequence[np.ndarray]) -> np.ndarray:
    count = node.operands[1]
    times = count.value if isinstance(count, Constant) and isinstance(count.value, int) else 0
    found: np.ndarray = operands[0] * float(max(1, times))
    return found


def _regexp_length(node: Call, operands: Sequence[np.ndarray]) -> np.ndarray:
    # Each match has at least one byte; a group in the replacement is as long as the match at most.
    found: np.ndarray = operands[0] * (1 + 2 * operands[2])
    return found


_BOUNDS: Mapping[str, Callable[[Call, Sequence[np.ndarray]], np.ndarray]] = {
    "base64": _times(2),
    "concat_ws": _concat_ws_length,
    "hex": _times(2),
    "regexp_replace": _regexp_length,
    "repeat": _repeat_length,
    "replace": _replace_length,
    "translate": _times(4),
    "url_encode": _times(3),
}
"""Calls that may make a text longer than their operands are together, and how long it may be.

`tests/spark_sql/test_growth.py` finds a function that is missing here.
"""


def _column_length(column: pa.ChunkedArray, rows: int) -> np.ndarray:
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        lengths = pc.fill_null(pc.binary_length(column), 0)
        return numbers_of(lengths.cast(pa.int64())).astype(np.float64)
    if pa.types.is_nested(column.type) or pa.types.is_large_string(column.type):
        return np.full(rows, 8.0 * column.nbytes + _SHORT)  # numbers as texts are longer
    return np.full(rows, float(_SHORT))


def _constant_length(node: Constant) -> int:
    return len(node.value.encode()) if isinstance(node.value, str) else _SHORT


def parts(lengths: np.ndarray, most: int) -> Iterator[tuple[range, bool]]:
    """Yield ranges of rows to compute together, and whether a range is one row that may exceed `most`."""
    start, total = 0, 0.0
    is_whole = lengths.sum() <= most * _TOGETHER and not (lengths > most).any()
    for row in () if is_whole else range(len(lengths)):
        if lengths[row] > most:
            if row > start:
                yield range(start, row), False
            yield range(row, row + 1), True
            start, total = row + 1, 0.0
        elif total + lengths[row] > most * _TOGETHER:
            yield range(start, row), False
            start, total = row, lengths[row]
        else:
            total += lengths[row]
    if start < len(lengths) or not len(lengths):
        yield range(start, len(lengths)), False


def length_of(node: Node, value: Callable[[Node], object], most: int) -> int:
    """Return the length of the longest text below a node in one row, or more than `most`.

    `value` computes a node on the row. It is called only for operands whose own texts are at most `most`
    long.
    """
    if not isinstance(node, Call):
        return 0
    inner = 0
    for each in node.operands:
        inner = max(inner, length_of(each, value, most))
        if inner > most:
            return inner
    if node.name not in _BOUNDS:
        return inner
    texts = [value(each) for each in node.operands]
    if node.name not in _LENGTHS:
        sizes = [np.array([_size(each)], np.float64) for each in texts]
        return max(inner, int(_BOUNDS[node.name](node, sizes)[0]))
    given = [each.encode() if isinstance(each, str) else b"" for each in texts]
    return max(inner, _LENGTHS[node.name](given))


def _size(value: object) -> int:
    if isinstance(value, bytes):
        return len(value)
    return len(value.encode()) if isinstance(value, str) else _SHORT


def _concat_ws_of(texts: Sequence[bytes]) -> int:
    return len(texts[0]) * len(texts) + sum(map(len, texts[1:]))


def _replace_of(texts: Sequence[bytes]) -> int:
    text, search, replacement = texts
    count = text.count(search) if search else 0
    return len(text) + count * (len(replacement) - len(search))


_LENGTHS: Mapping[str, Callable[[Sequence[bytes]], int]] = {
    "concat_ws": _concat_ws_of,
    "replace": _replace_of,
}
"""How long such a text really gets; the bound of the others is near enough."""
