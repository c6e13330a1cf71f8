"""Date and timestamp functions, in the session time zone, for the years 1 to 9999."""

import re

from deltaarrow.schema import IntervalType, StructType
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_date,
    as_integer,
    as_local_time,
    as_long,
    as_timestamp,
    literal_text,
)
from deltaarrow.spark_sql.tree.forms import given, let, raised_as
from deltaarrow.spark_sql.tree.nodes import NOW, Node, call, mismatched, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import FIRST_DAY, LAST_DAY, cast
from deltaarrow.spark_sql.types.time_zones import UTC, session_time_zone, zone_of
from deltaarrow.spark_sql.types.type_rules import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    decimal_of,
    decimal_type,
    type_name,
)

__all__ = [
    "BY_UNIT",
    "FUNCTIONS",
    "NO_SUCH_DATE",
    "add_days",
    "date_format",
    "extracted",
    "field",
    "to_date",
    "to_timestamp",
    "window_time",
]

_DATE_FIELDS = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "day": "day({0})",
    "dayofmonth": "day({0})",
    "dayofweek": "dayofweek({0}) + 1",
    "weekday": "isodow({0}) - 1",
    "dayofyear": "dayofyear({0})",
    "weekofyear": "week({0})",
    "isodow": "isodow({0})",
    "isoyear": "isoyear({0})",
}
_TIME_FIELDS = {"hour": "hour({0})", "minute": "minute({0})", "second": "second({0})"}
_EXTRACTED = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "day"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "isodow"),
    "yearofweek": "isoyear",
    "doy": "dayofyear",
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "second and part"),
}
_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mm", "mon"), "month"),
    "week": "week",
}
_CLOCK_UNITS = {"hour": (3_600_000_000, 86_400_000_000), "minute": (60_000_000, 3_600_000_000)}
"""The microseconds of a unit, and of the one above it."""

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MOST_MONTHS = 12 * 10_000
_MOST_MICROSECONDS = 366 * 10_000 * _MICROSECONDS["day"]
"""No two times between the years 1 and 9999 are further apart."""
_TIME_UNITS = {
    **dict.fromkeys(("day", "dd"), "day"),
    **{name: name for name in ("hour", "minute", "second", "millisecond", "microsecond")},
}
_LETTERS = re.compile(r"'(?P<text>[^']*)'|(?P<run>([A-Za-z])\3*)|(?P<other>[^A-Za-z'#\[\]{}])")
_FORMATS = {
    "yyyy": "%Y",
    "yy": "%y",
    "M": "%-m",
    "MM": "%m",
    "MMM": "%b",
    "MMMM": "%B",
    "d": "%-d",
    "dd": "%d",
    "H": "%-H",
    "HH": "%H",
    "h": "%-I",
    "hh": "%I",
    "m": "%-M",
    "mm": "%M",
    "s": "%-S",
    "ss": "%S",
    "SSS": "%g",
    "SSSSSS": "%f",
    "a": "%p",
    "E": "%a",
    "EE": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "D": "%-j",
    "DDD": "%j",
}
_SEPARABLE = frozenset({"SSS", "SSSSSS"})


def field(name: str, operand: Node) -> Node:
    """A part of a date or timestamp, such as ``year`` or ``hour``, an integer."""
    if name in _TIME_FIELDS:
        return call(name, (as_local_time(operand),), INTEGER, f"CAST({_TIME_FIELDS[name]} AS INTEGER)")
    return call(name, (as_date(operand),), INTEGER, f"CAST({_DATE_FIELDS[name]} AS INTEGER)")


def extracted(unit: str, operand: Node) -> Node:
    """``EXTRACT(unit FROM operand)``."""
    if unit.lower() not in _EXTRACTED:
        raise refused(f"EXTRACT of {unit.upper()}")
    name = _EXTRACTED[unit.lower()]
    if isinstance(operand.type, IntervalType):
        return _part_of_interval(name, operand)
    if name == "second and part":
        rest = "((epoch_us({0}) % 60000000) + 60000000) % 60000000"
        sql = f"CAST(CAST({rest} AS DECIMAL(18,6)) * 0.000001::DECIMAL(6,6) AS DECIMAL(8,6))"
        return call("second", (as_local_time(operand),), decimal_type(8, 6), sql)
    return field(name, operand)


def _part_of_interval(name: str, operand: Node) -> Node:
    if name == "day":
        return call("day", (operand,), INTEGER, "CAST({0} // 86400000000 AS INTEGER)")
    if name in _CLOCK_UNITS:
        unit, above = _CLOCK_UNITS[name]
        return call(name, (operand,), BYTE, f"CAST({{0}} % {above} // {unit} AS TINYINT)")
    if name == "second and part":
        rest = "CAST({0} % 60000000 AS DECIMAL(18,6))"
        sql = f"CAST({rest} * 0.000001::DECIMAL(6,6) AS DECIMAL(8,6))"
        return call("second", (operand,), decimal_type(8, 6), sql)
    raise refused(f"EXTRACT of {name.upper()} from an interval")


def window_time(window: Node) -> Node:
    """The last microsecond of a window."""
    ends = window.type.find("end") if isinstance(window.type, StructType) else None
    if ends is None or ends.type not in TIMESTAMPS:
        raise mismatched("UNEXPECTED_INPUT_TYPE", f"window_time of {type_name(window.type)}")
    return call("window_time", (window,), ends.type, "make_timestamp(epoch_us({0}['end']) - 1)")


def add_days(operand: Node, days: Node, sign: str = "+") -> Node:
    """The date some days later, or earlier for ``-``."""
    if days.type in (LONG, FLOAT, DOUBLE) or decimal_of(days.type) is not None:
        raise refused(f"days given as {type_name(days.type)} without a cast")
    later = f"({{0}} {sign} CAST({{1}} AS INTEGER))"
    return _within_years("date_add", operand, days, later)


def _date_sub(operand: Node, days: Node) -> Node:
    return add_days(operand, days, "-")


def _add_months(operand: Node, months: Node) -> Node:
    return _within_years("add_months", operand, months, "CAST({0} + to_months({1}) AS DATE)")


def _within_years(name: str, operand: Node, count: Node, sql: str) -> Node:
    nodes = (as_date(operand), as_integer(count))
    checked = (
        f"CASE WHEN abs(CAST({{1}} AS BIGINT)) > 4000000 THEN {_OUTSIDE}"
        f" WHEN {sql} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN {sql} ELSE {_OUTSIDE} END"
    )
    return call(name, nodes, DATE, given(checked, 2), fails=True)


NO_SUCH_DATE = raising("DATETIME_FIELD_OUT_OF_BOUNDS.WITH_SUGGESTION", "there is no such date or time")
"""What functions raise that make a date of its parts."""

_OUTSIDE = "error('unsupported: a date outside the years 1 to 9999')"


def _difference(end: Node, start: Node) -> Node:
    return call("datediff", (as_date(end), as_date(start)), INTEGER, "CAST({0} - {1} AS INTEGER)")


def _units_between(unit: str, start: Node, end: Node) -> Node:
    """The number of whole units between two times."""
    nodes, name = (_local_time(start), _local_time(end)), unit.lower()
    if name in _MICROSECONDS:
        sql = f"(epoch_us({{1}}) - epoch_us({{0}})) // {_MICROSECONDS[name]}"
    elif name in _MONTHS:
        # As Java counts: an incomplete last day is dropped, then the dates are compared by their fields.
        first, last = "CAST({0} AS DATE)", "CAST({1} AS DATE)"
        begun, ended = "CAST({0} AS TIME)", "CAST({1} AS TIME)"
        cut = f"CASE WHEN {last} > {first} AND {ended} < {begun} THEN -1"
        cut += f" WHEN {last} < {first} AND {ended} > {begun} THEN 1 ELSE 0 END"
        days = (f"({last} + {cut})", first)
        places = (f"((year({day}) * 12 + month({day})) * 32 + day({day}))" for day in days)
        sql = f"({' - '.join(places)}) // {32 * _MONTHS[name]}"
    else:
        raise refused(f"timestampdiff by {unit.upper() or 'something other than a unit name'}")
    return call("timestampdiff", nodes, LONG, f"CAST({sql} AS BIGINT)")


def _units_later(unit: str, count: Node, start: Node) -> Node:
    """The time some units later."""
    nodes, name = (as_long(count), as_timestamp(start)), unit.lower()
    zone = zone_of(nodes[1].type)
    if name in _MICROSECONDS or name == "dayofyear":
        size = _MICROSECONDS.get(name, _MICROSECONDS["day"])
        # Days go by the local time, hours by the clock that knows no time zone.
        clock = zone if size >= _MICROSECONDS["day"] else UTC
        most, sql = _MOST_MICROSECONDS // size, clock.microseconds_later("{1}", f"{{0}} * {size}")
    elif name in _MONTHS:
        size = _MONTHS[name]
        most, sql = _MOST_MONTHS // size, zone.months_later("{1}", f"CAST({{0}} * {size} AS INTEGER)")
    else:
        raise refused(f"timestampadd by {unit.upper() or 'something other than a unit name'}")
    later = let(f"CASE WHEN year(later) BETWEEN 1 AND 9999 THEN later ELSE {_OUTSIDE} END", later=sql)
    checked = f"CASE WHEN {{0}} NOT BETWEEN -{most} AND {most} THEN {_OUTSIDE} ELSE {later} END"
    return call("timestampadd", nodes, nodes[1].type, given(checked, 2), fails=True)


BY_UNIT = {
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff"), _units_between),
    **dict.fromkeys(("dateadd", "date_add", "timestampadd"), _units_later),
}
"""The functions with three arguments whose first one is a unit name."""


def _last_day(operand: Node) -> Node:
    return call("last_day", (as_date(operand),), DATE, "last_day({0})")


def _make_date(year: Node, month: Node, day: Node) -> Node:
    nodes = (as_integer(year), as_integer(month), as_integer(day))
    made = let(
        raised_as(NO_SUCH_DATE, "make_date(p.y, p.m, p.d)"), p="struct_pack(y := {0}, m := {1}, d := {2})"
    )
    sql = f"CASE WHEN {{0}} NOT BETWEEN 1 AND 9999 THEN {_OUTSIDE} ELSE {made} END"
    return call("make_date", nodes, DATE, given(sql, 3), fails=True)


def to_date(operand: Node) -> Node:
    """The operand as a date."""
    return as_date(operand)


def to_timestamp(operand: Node) -> Node:
    """The operand as a timestamp."""
    return cast(as_timestamp(operand), TIMESTAMP)


def _local_time(operand: Node) -> Node:
    """The local time of the operand as a timestamp."""
    return as_local_time(to_timestamp(operand))


def _date_trunc(unit: Node, operand: Node) -> Node:
    text = literal_text(unit, "the unit of date_trunc").lower()
    zone = session_time_zone()
    if text in _UNITS:
        sql = zone.start_of_day(f"date_trunc('{_UNITS[text]}', {zone.local_time('{0}')})")
    elif text not in _TIME_UNITS:
        raise refused(f"date_trunc to {text!r}")
    elif text.endswith("second"):
        # Spark counts parts of minutes from 1970 on, whatever the offset is.
        sql = f"date_trunc('{text}', {{0}})"
    else:
        sql = zone.with_local_time("{0}", f"date_trunc('{_TIME_UNITS[text]}', {{w}})")
    return call("date_trunc", (to_timestamp(operand),), TIMESTAMP, sql)


def _trunc(operand: Node, unit: Node) -> Node:
    text = literal_text(unit, "the unit of trunc").lower()
    if text not in _UNITS:
        raise refused(f"trunc to {text!r}")
    return call("trunc", (as_date(operand),), DATE, f"CAST(date_trunc('{_UNITS[text]}', {{0}}) AS DATE)")


def date_format(operand: Node, pattern: Node | str) -> Node:
    """A time as text, by a pattern of Java."""
    text = pattern if isinstance(pattern, str) else literal_text(pattern, "the pattern of date_format")
    sql = f"strftime({{0}}, '{_strftime(text)}')"
    return call("date_format", (_local_time(operand),), STRING, sql)


def _strftime(pattern: str) -> str:
    """DuckDB's format for a Java pattern, escaped for an SQL literal in a format string."""
    parts = []
    place = 0
    before = ""
    while place < len(pattern):
        found = _LETTERS.match(pattern, place)
        run = found["run"] if found else None
        if found is None or (run and run not in _FORMATS) or (run in _SEPARABLE and before == "run"):
            raise refused(f"the date pattern {pattern!r}")
        text = found["text"] if found["text"] is not None else found["other"]
        if run:
            parts.append(_FORMATS[run])
        else:
            # Two quotes stand for one.
            parts.append(
                (text or "'").replace("%", "%%").replace("'", "''").replace("{", "{{").replace("}", "}}")
            )
        before = "run" if run else ""
        place = found.end()
    return "".join(parts)


def _current_date() -> Node:
    return call("current_date", (), DATE, f"CAST({session_time_zone().local_time(NOW)} AS DATE)")


def _current_timestamp() -> Node:
    return call("current_timestamp", (), TIMESTAMP, NOW)


def _local_timestamp() -> Node:
    return call("localtimestamp", (), TIMESTAMP_NTZ, session_time_zone().local_time(NOW))


def _field_function(names: tuple[str, ...], arguments: str) -> Function:
    return Function(names, arguments, (1, 1), lambda operand: field(names[0], operand))


FUNCTIONS = (
    _field_function(("year",), "date"),
    _field_function(("quarter",), "date"),
    _field_function(("month",), "date"),
    _field_function(("day", "dayofmonth"), "date"),
    _field_function(("dayofweek",), "date"),
    _field_function(("weekday",), "date"),
    _field_function(("dayofyear",), "date"),
    _field_function(("weekofyear",), "date"),
    _field_function(("hour",), "timestamp"),
    _field_function(("minute",), "timestamp"),
    _field_function(("second",), "timestamp"),
    Function(
        ("date_format",),
        "timestamp, pattern",
        (2, 2),
        date_format,
        "pattern must be a literal of the letters y M d D H h m s S a E",
    ),
    Function(("date_trunc",), "unit, timestamp", (2, 2), _date_trunc, "unit must be a literal"),
    Function(("trunc",), "date, unit", (2, 2), _trunc, "unit must be a literal"),
    Function(
        ("date_add", "dateadd"), "date, days", (2, 2), add_days, "also with the arguments of `timestampadd`"
    ),
    Function(("date_sub",), "date, days", (2, 2), _date_sub),
    Function(("add_months",), "date, months", (2, 2), _add_months),
    Function(
        ("datediff", "date_diff"),
        "end, start",
        (2, 2),
        _difference,
        "also with the arguments of `timestampdiff`",
    ),
    Function(("timestampadd",), "unit, count, timestamp", (3, 3), _units_later, "count must be an integer"),
    Function(("timestampdiff",), "unit, start, end", (3, 3), _units_between),
    Function(("last_day",), "date", (1, 1), _last_day),
    Function(("make_date",), "year, month, day", (3, 3), _make_date),
    Function(("current_date", "curdate"), "", (0, 0), _current_date, "not in generated columns"),
    Function(("current_timestamp", "now"), "", (0, 0), _current_timestamp, "not in generated columns"),
    Function(("localtimestamp",), "", (0, 0), _local_timestamp, "not in generated columns"),
)
"""The functions of this module."""
