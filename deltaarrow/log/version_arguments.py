"""Versions and points in time as users write them: ints, ISO 8601 texts, `datetime` or `date` objects."""

import contextlib
import operator
from datetime import UTC, date, datetime, timedelta
from typing import Any, SupportsIndex

__all__ = ["parse_moment", "parse_version", "type_name"]

_MILLISECOND = timedelta(milliseconds=1)


def parse_version(version: SupportsIndex | str | date) -> int | str | date:
    """Return a version as an `int` and a point in time unchanged; raise `TypeError` for anything else.

    >>> import numpy
    >>> parse_version(numpy.int64(3)), parse_version("2026-01-01")
    (3, '2026-01-01')
    """
    if isinstance(version, str | date):
        return version
    is_truth = isinstance(version, bool) or getattr(getattr(version, "dtype", None), "kind", "") == "b"
    if not is_truth and isinstance(version, SupportsIndex):
        with contextlib.suppress(TypeError):  # an array of numpy's has the method too
            return operator.index(version)
    raise TypeError(
        f"a version must be an int, an ISO 8601 text, a datetime or a date, not {type_name(version)}"
    )


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        way = f"; the number of a version is an int: {text}" if text.isascii() and text.isdecimal() else ""
        raise ValueError(
            f"{text!r} is not a time in ISO 8601, such as '2026-01-31' or '2026-01-31T12:00:00Z'{way}"
        ) from None


def parse_moment(moment: str | date, *, later: bool = False) -> int:
    """Return the millisecond that contains a moment or, with `later`, the first one not before it.

    A time without a zone is in UTC; a date is its midnight.

    >>> parse_moment("1970-01-01T00:00:01.0005Z"), parse_moment("1970-01-01T00:00:01.0005Z", later=True)
    (1000, 1001)
    """
    if isinstance(moment, str):
        moment = _parse_time(moment)
    elif not isinstance(moment, date):
        raise TypeError(f"a time must be an ISO 8601 text, a datetime or a date, not {type_name(moment)}")
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return -(-since // _MILLISECOND) if later else since // _MILLISECOND


def type_name(value: Any) -> str:
    """Return the name of the type of a value, for messages."""
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
