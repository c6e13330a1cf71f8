"""Dates and times from texts, in the forms from which Spark casts a string.

A date is ``y-m-d``, with one or two digits for month and day. A timestamp adds a time after a ``T`` or a
space (digits below a microsecond are dropped) and possibly a zone: ``Z``, ``UTC`` or an offset. Further forms
of Spark (region names, years of more than four digits) have no Python value and are refused.
"""

import datetime
import re

__all__ = ["parse_date", "parse_timestamp"]

_DATE = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6})\d*)?)?"
_ZONE = r"\s*(Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?)"
_TIMESTAMP = rf"\s*{_DATE}(?:[T ]{_TIME}(?:{_ZONE})?)?\s*"


def parse_date(text: str) -> datetime.date:
    """Parse a date; a time after it must be midnight.

    Raises:
        ValueError: the text is not a date.

    >>> parse_date("2020-2-29")
    datetime.date(2020, 2, 29)
    """
    parsed = parse_timestamp(text)
    if parsed.time() != datetime.time() or parsed.tzinfo is not None:
        raise ValueError(f"{text!r} is a time, not a date")
    return parsed.date()


def parse_timestamp(text: str) -> datetime.datetime:
    """Parse a time: in UTC if the text names a zone, else without zone.

    Raises:
        ValueError: the text is not a time, or one outside the years 1 to 9999.

    >>> parse_timestamp("2020-01-01T00:30:00.5+01:00").isoformat()
    '2019-12-31T23:30:00.500000+00:00'
    """
    match = re.fullmatch(_TIMESTAMP, text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not a date or a time")
    year, month, day, hour, minute, second, fraction, zone, sign, *offset = match.groups()
    local = datetime.datetime(
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0),
        int(minute or 0),
        int(second or 0),
        int((fraction or "").ljust(6, "0")),
    )
    if zone is None:
        return local
    hours, minutes, seconds = (int(part or 0) for part in offset)
    shift = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    try:
        return (local + shift if sign == "-" else local - shift).replace(tzinfo=datetime.UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is not within the years 1 to 9999") from error
