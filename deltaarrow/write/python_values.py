"""Columns of Python values, of pandas objects and of rows as dictionaries, as Arrow arrays of one type.

Arrow takes the type from the first values and converts the others to it. Some conversions change the value
without an error; columns that mix such values are refused:

=========================================== =====================================================
a column with                               Arrow alone makes of it
=========================================== =====================================================
dates and timestamps                        dates: the time of day is lost
timestamps with and without a time zone     one of both: the wall-clock time or the instant is lost
strings and bytes                           bytes
timestamps with digits below microseconds   microseconds
=========================================== =====================================================
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import ensure_microseconds
from deltaarrow.errors import SchemaMismatchError

__all__ = ["FAILURES", "array_of_values", "ensure_one_kind", "refusal"]

FAILURES = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What Arrow and pandas raise for values that have no common Arrow type."""

_MISSING = {type(None), float}
_PLAIN = {str, bytes, int, bool}
_LISTS = (list, tuple, set, frozenset)
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "strings"),
    ((bytes, bytearray), "bytes"),
    (dt.datetime, "timestamps"),
    (dt.date, "dates"),
)
"""A timestamp is a date in Python: the first that fits counts."""
_MIXED = (
    {"strings", "bytes"},
    {"dates", "timestamps with a time zone"},
    {"dates", "timestamps without a time zone"},
    {"timestamps with a time zone", "timestamps without a time zone"},
)


def array_of_values(name: str, values: Sequence[Any], *, cuts_times: bool = False) -> pa.Array:
    """Return Python values as an Arrow array.

    Args:
        name: the column, for errors.
        values: the values; None is NULL.
        cuts_times: whether timestamps may lose their digits below microseconds.

    Raises `SchemaMismatchError` if the values have no common type, or would change.
    """
    ensure_one_kind(name, values, cuts_times=cuts_times)
    try:
        return pa.array(values)
    except FAILURES as error:
        raise refusal(name, "Python values", error) from error


def ensure_one_kind(name: str, values: Sequence[Any], *, cuts_times: bool = False) -> None:
    """Raise `SchemaMismatchError` if Arrow would change a value of a column without an error."""
    found = set(map(type, values)) - _MISSING
    if len(found) < 2 and found <= _PLAIN:
        return
    _ensure_not_mixed(name, values)
    if cuts_times:
        return
    try:
        ensure_microseconds(values)
    except ValueError as error:
        raise SchemaMismatchError(f"column {name!r}: {error}, or write with allow_truncation=True") from None


def refusal(name: str, kind: str, error: Exception) -> SchemaMismatchError:
    """Return the error for a column of values that have no common Arrow type."""
    reason = str(error.args[0]) if error.args else type(error).__name__
    return SchemaMismatchError(
        f"column {name!r} of {kind} has no Arrow type that holds all of its values: {reason};"
        " give the values one type before writing, as with .astype(str) or pyarrow.array(values, type)"
    )


def _ensure_not_mixed(path: str, values: Iterable[Any]) -> None:
    kinds: set[str] = set()
    inner: list[Any] = []
    members: dict[Any, list[Any]] = {}
    by_type = {each: _kind_of(each) for each in set(map(type, values))}
    if not any(by_type.values()):
        return
    for value in values:
        kind = by_type[type(value)]
        if kind == "timestamps" and value == value:  # The missing time of pandas equals nothing.
            kinds.add(f"timestamps {'without' if value.tzinfo is None else 'with'} a time zone")
        elif kind == "lists":
            inner.extend(value)
        elif kind == "objects":
            for key, member in value.items():
                members.setdefault(key, []).append(member)
        elif kind not in ("", "timestamps"):
            kinds.add(kind)
    for pair in _MIXED:
        if pair <= kinds:
            first, second = sorted(pair)
            raise SchemaMismatchError(
                f"column {path!r} mixes {first} and {second}, of which Arrow would change one;"
                " give all values one of these types"
            )
    if inner:
        _ensure_not_mixed(f"{path}.element", inner)
    for key, found in members.items():
        _ensure_not_mixed(f"{path}.{key}", found)


def _kind_of(python_type: type) -> str:
    """The kind of a Python type that may be mixed with another one, "" for types that Arrow checks."""
    if issubclass(python_type, _LISTS) or python_type is np.ndarray:
        return "lists"
    if issubclass(python_type, dict):
        return "objects"
    return next((kind for types, kind in _KINDS if issubclass(python_type, types)), "")
