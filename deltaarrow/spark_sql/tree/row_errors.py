"""Errors in the values of a row: DuckDB's messages, and Spark's names for them.

The SQL of a call raises with `raising`, which names Spark's error class, and rendering adds the place of the
call in the user's text. What DuckDB raises by itself, as for a sum beyond the range of its type, is told by
its message. `row_error` makes all of it ours, whatever computes rows: a statement, a query, a constraint.
"""

import re
from collections.abc import Collection
from typing import TypeAlias

from deltaarrow.errors import ConstraintViolationError, DeltaError, UnsupportedFeatureError

__all__ = ["OWN_ERRORS", "PlacedCalls", "raising", "row_error", "with_place", "without_places"]

_UNSUPPORTED = "unsupported: "

_KINDS = ("Out of Range Error: ", "Conversion Error: ", "Invalid Input Error: ")
"""How messages of these DuckDB exceptions begin; through an Arrow stream they arrive as `OSError`."""

_NATIVE = (
    (r"Overflow in \w+ of INT(?:8|16) ", "BINARY_ARITHMETIC_OVERFLOW"),
    (r"Overflow in \w+ of DECIMAL", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
    (r"(?:Could not .*|Casting .*) to (?:type )?DECIMAL", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
    (r"Overflow|Type INT128 with value", "ARITHMETIC_OVERFLOW"),  # Sums and roundings have 128 bits.
    (r"Type .* can't be cast because the value is out of range|Failed to cast decimal", "CAST_OVERFLOW"),
    (r"Could not convert string ", "CAST_INVALID_INPUT"),
    (r"Map keys must be unique", "DUPLICATED_MAP_KEY"),
    (r"Map keys can not be NULL", "NULL_MAP_KEY"),
    (r"More than one row returned by a subquery", "SCALAR_SUBQUERY_TOO_MANY_ROWS"),
)
"""How messages of DuckDB's own errors begin, and Spark's class of each."""

OWN_ERRORS = {
    "+": "addition",
    "-": "subtraction|negation",
    "*": "multiplication",
    "cast": "can't be cast|CAST",
}
"""Calls that DuckDB lets fail with a message of its own, by name, and what tells them in that message."""

PlacedCalls: TypeAlias = Collection[tuple[str, int]]
"""The names of calls that DuckDB may let fail, and their places in the user's text."""

_BEHIND = re.compile(r"\n\nLINE | when casting from source column ")
"""What begins DuckDB's remarks on the SQL that it runs, which is not the user's."""

_NAMED = re.compile(r"\[([A-Z][A-Z0-9_.]*)(?:@(\d+))?\] ")
_RAISING = re.compile(r"\berror\('\[([A-Z][A-Z0-9_.]*)(?:@\d+)?\] ")


def raising(error_class: str, message: str) -> str:
    """SQL that raises an error of one of Spark's classes.

    The message stands between single quotes, and may leave them for a value.

    >>> raising("DIVIDE_BY_ZERO", "division by zero")
    "error('[DIVIDE_BY_ZERO] division by zero')"
    """
    return f"error('[{error_class}] {message}')"


def with_place(sql: str, place: int) -> str:
    """The SQL of a call whose own errors tell the place of the call in the user's text.

    >>> with_place(raising("DIVIDE_BY_ZERO", "division by zero"), 7)
    "error('[DIVIDE_BY_ZERO@7] division by zero')"
    """
    return _RAISING.sub(rf"error('[\1@{place}] ", sql)


def without_places(sql: str) -> str:
    """SQL whose errors tell no places, because the text that they are in is not that of the statement."""
    return _RAISING.sub(r"error('[\1] ", sql)


def row_error(
    error: Exception,
    what: str,
    text: str | None = None,
    raised: type[DeltaError] = ConstraintViolationError,
    calls: PlacedCalls = (),
) -> DeltaError | None:
    """The error to raise if DuckDB cannot compute a row; None for other errors of DuckDB.

    Args:
        error: from DuckDB, or from an Arrow stream of its rows.
        what: what cannot be computed, with its verb: ``a row cannot be computed``.
        text: the text that was computed, for the place of the error.
        raised: the class of the error; `UnsupportedFeatureError` for a value that is not supported.
        calls: in the text. An error of DuckDB's own is at the call that alone can be meant.
    """
    message = _message(error)
    if message is None:
        return None
    if message.startswith(_UNSUPPORTED):
        why = message.removeprefix(_UNSUPPORTED)
        return UnsupportedFeatureError(f"{why} is not supported: {what}", feature="expression")
    named = _NAMED.match(message)
    if named is not None:
        error_class, place, message = named[1], named[2], message[named.end() :]
    else:
        error_class, place = _native_class(message), _native_place(message, calls)
    found = raised(f"[{error_class}] {what}: {message}" if error_class else f"{what}: {message}")
    if place is not None and text is not None:
        found.place = text, int(place)
    return found


def _message(error: Exception) -> str | None:
    """What DuckDB says of a row; None for an error of another kind."""
    import duckdb

    kinds = (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException)
    text = str(error)
    kind = next((each for each in _KINDS if text.startswith(each)), None)
    if not isinstance(error, kinds) and not (isinstance(error, OSError) and kind is not None):
        return None
    return _BEHIND.split(text.removeprefix(kind or ""), maxsplit=1)[0]


def _native_place(message: str, calls: PlacedCalls) -> int | None:
    """The place of the call whose failure DuckDB's message tells; None if it may be one of several."""
    meant = {place for name, place in calls if re.search(OWN_ERRORS[name], message)}
    return meant.pop() if len(meant) == 1 else None


def _native_class(message: str) -> str | None:
    return next((named for begin, named in _NATIVE if re.match(begin, message)), None)
