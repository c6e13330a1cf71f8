"""Interval literals: ``INTERVAL 3 DAYS``, ``INTERVAL '1-2' YEAR TO MONTH``. Timestamps shifted by them."""

import re
from dataclasses import dataclass

from deltaarrow.spark_sql.functions.function import as_date, as_timestamp
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.time_zones import zone_of
from deltaarrow.spark_sql.types.type_rules import DATE, INTEGER, LONG, TIMESTAMP, TIMESTAMPS

__all__ = ["Interval", "interval", "interval_text", "interval_units", "moved"]

_MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
_MONTHS = {"MONTH": 1, "YEAR": 12}
_CLOCK = ("DAY", "HOUR", "MINUTE", "SECOND")
_FIELDS = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
"""The unit of the type for units that no type of Spark has."""

_DAYS = ("DAY", "WEEK")
_MOST_MONTHS = 12 * 10_000
_MOST_MICROSECONDS = 366 * 10_000 * _MICROSECONDS["DAY"]
_NUMBER = re.compile(r"\s*([+-]?)(\d{1,18})\s*")
_SECONDS = re.compile(r"\s*([+-]?)(\d{1,12})(?:\.(\d{1,6}))?\s*")
_TO_SECOND = r"(?P<MINUTE>\d{1,2}):(?P<SECOND>\d{1,2})(?:\.(?P<part>\d{1,6}))?"
_SPAN = {
    ("YEAR", "MONTH"): re.compile(r"([+-]?)(?P<YEAR>\d+)-(?P<MONTH>\d{1,2})"),
    ("DAY", "HOUR"): re.compile(r"([+-]?)(?P<DAY>\d+) (?P<HOUR>\d{1,2})"),
    ("DAY", "MINUTE"): re.compile(r"([+-]?)(?P<DAY>\d+) (?P<HOUR>\d{1,2}):(?P<MINUTE>\d{1,2})"),
    ("DAY", "SECOND"): re.compile(r"([+-]?)(?P<DAY>\d+) (?P<HOUR>\d{1,2}):" + _TO_SECOND),
    ("HOUR", "MINUTE"): re.compile(r"([+-]?)(?P<HOUR>\d+):(?P<MINUTE>\d{1,2})"),
    ("HOUR", "SECOND"): re.compile(r"([+-]?)(?P<HOUR>\d+):" + _TO_SECOND),
    ("MINUTE", "SECOND"): re.compile(r"([+-]?)(?P<MINUTE>\d+):(?P<SECOND>\d{1,2})(?:\.(?P<part>\d{1,6}))?"),
}
_MOST = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
_OUTSIDE = "error('unsupported: a time outside the years 1 to 9999')"


@dataclass(frozen=True, slots=True)
class Interval:
    """A length of time: months, or microseconds; `is_days` if it was written in days and weeks alone."""

    months: int = 0
    microseconds: int = 0
    is_days: bool = False

    def __neg__(self) -> "Interval":
        """The same length in the other direction."""
        return Interval(-self.months, -self.microseconds, self.is_days)

    def __add__(self, other: "Interval") -> "Interval":
        """The sum, which Spark refuses for months and days."""
        if bool(self.months) != bool(other.months):
            raise refused("an INTERVAL of months and of shorter units")
        return Interval(
            self.months + other.months, self.microseconds + other.microseconds, self.is_days and other.is_days
        )


def interval(text: str, unit: str, last: str | None = None) -> Interval:
    """The interval that a literal means: a text, its unit, and the last unit of ``DAY TO SECOND``.

    >>> interval("-3", "weeks"), interval("1-2", "YEAR", "MONTH").months
    (Interval(months=0, microseconds=-1814400000000, is_days=True), 14)
    """
    one, other = _singular(unit), _singular(last) if last is not None else None
    if other is not None:
        return _span(text, one, other)
    if one == "SECOND" and (found := _SECONDS.fullmatch(text)):
        whole = int(found[2]) * 1_000_000 + int((found[3] or "").ljust(6, "0"))
        return Interval(0, -whole if found[1] == "-" else whole)
    found = _NUMBER.fullmatch(text)
    if found is None or one not in (*_MICROSECONDS, *_MONTHS):
        raise refused(f"INTERVAL {text!r} {unit.upper()}")
    count = int(found[1] + found[2])
    if one in _MONTHS:
        return Interval(count * _MONTHS[one])
    return Interval(0, count * _MICROSECONDS[one], one in _DAYS)


def interval_units(first: str, last: str | None = None) -> tuple[str, str]:
    """The first and the last unit of the type that Spark gives an interval of these units.

    >>> interval_units("weeks"), interval_units("DAY", "SECOND")
    (('DAY', 'DAY'), ('DAY', 'SECOND'))
    """
    one = _FIELDS.get(_singular(first), _singular(first))
    return one, one if last is None else _singular(last)


def interval_text(length: Interval, units: tuple[str, str]) -> str:
    """An interval of these units as Spark prints it.

    >>> interval_text(interval("1", "HOUR"), ("HOUR", "HOUR"))
    "INTERVAL '01' HOUR"
    >>> interval_text(interval("-1 2:3:4.50", "DAY", "SECOND"), ("DAY", "SECOND"))
    "INTERVAL '-1 02:03:04.5' DAY TO SECOND"
    >>> interval_text(interval("1-2", "YEAR", "MONTH"), ("YEAR", "MONTH"))
    "INTERVAL '1-2' YEAR TO MONTH"
    """
    first, last = units
    sign = "-" if length.months < 0 or length.microseconds < 0 else ""
    text = _months_text(length, units) if first in _MONTHS else _clock_text(length, units)
    return f"INTERVAL '{sign}{text}' {first}" + (f" TO {last}" if last != first else "")


def _months_text(length: Interval, units: tuple[str, str]) -> str:
    months = abs(length.months)
    return f"{months // 12}-{months % 12}" if len({*units}) > 1 else str(months // _MONTHS[units[0]])


def _clock_text(length: Interval, units: tuple[str, str]) -> str:
    first, last = map(_CLOCK.index, units)
    parts, rest = [], abs(length.microseconds)
    for name in _CLOCK[first : last + 1]:
        count, rest = divmod(rest, _MICROSECONDS[name])
        parts.append(str(count) if name == "DAY" else f"{count:02}")
    if rest:
        parts[-1] += f".{rest:06}".rstrip("0")
    days = parts[:1] if first == 0 else []
    return " ".join([*days, ":".join(parts[len(days) :])]).strip()


def _singular(unit: str) -> str:
    return unit.upper().removesuffix("S")


def _span(text: str, first: str, last: str) -> Interval:
    pattern = _SPAN.get((first, last))
    found = pattern.fullmatch(text.strip()) if pattern else None
    if found is None:
        raise refused(f"INTERVAL {text!r} {first} TO {last}")
    months = microseconds = 0
    for place, (name, digits) in enumerate(found.groupdict().items()):
        number = int(digits or 0)
        if place and number > _MOST.get(name, number):
            raise refused(f"INTERVAL {text!r} {first} TO {last}")
        if name in _MONTHS:
            months += number * _MONTHS[name]
        else:
            part = int((digits or "").ljust(6, "0")) if name == "part" else number * _MICROSECONDS[name]
            microseconds += part
    made = Interval(months, microseconds)
    return -made if found[1] == "-" else made


def moved(operand: Node, length: Interval) -> Node:
    """A date or a time some time later.

    As in Spark, a date stays one if it moves by months or by days.
    """
    if abs(length.months) > _MOST_MONTHS or abs(length.microseconds) > _MOST_MICROSECONDS:
        raise refused("an INTERVAL of more than 10,000 years")
    if operand.type not in (DATE, *TIMESTAMPS):
        raise refused("an INTERVAL added to something other than a date or a timestamp")
    if operand.type == DATE and length.months:
        return _checked(as_date(operand), length.months, "CAST({0} + to_months({1}) AS DATE)")
    if operand.type == DATE and length.is_days:
        return _checked(as_date(operand), length.microseconds // _MICROSECONDS["DAY"], "({0} + {1})")
    time = cast(operand, TIMESTAMP) if operand.type == DATE else as_timestamp(operand)
    zone = zone_of(time.type)
    if length.months:
        return _checked(time, length.months, f"({zone.months_later('{0}', '{1}')})")
    return _checked(time, length.microseconds, zone.microseconds_later("{0}", "{1}"))


def _checked(operand: Node, count: int, sql: str) -> Node:
    data_type = INTEGER if abs(count) < 1 << 31 else LONG
    inside = f"year({sql}) BETWEEN 1 AND 9999"
    checked = f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {inside} THEN {sql} ELSE {_OUTSIDE} END"
    return call("interval", (operand, Constant(count, data_type)), operand.type, checked, fails=True)
