"""Functions that count time since 1970, put times together, and take them apart."""

import re
from collections.abc import Callable

from deltaarrow.schema import DataType
from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.coercion import exactly, implicitly
from deltaarrow.spark_sql.forms import given, let
from deltaarrow.spark_sql.function import Function, as_date, as_integer, as_timestamp, literal_text
from deltaarrow.spark_sql.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.temporal import extracted
from deltaarrow.spark_sql.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal_of,
    decimal_type,
    type_name,
)

__all__ = ["FUNCTIONS"]

_OUTSIDE = "error('unsupported: a time outside the years 1 to 9999')"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
_DAYS = {
    name: number
    for number, names in enumerate(
        (
            *(("MO", "MON", "MONDAY"), ("TU", "TUE", "TUESDAY"), ("WE", "WED", "WEDNESDAY")),
            *(("TH", "THU", "THURSDAY"), ("FR", "FRI", "FRIDAY"), ("SA", "SAT", "SATURDAY")),
            ("SU", "SUN", "SUNDAY"),
        ),
        1,
    )
    for name in names
}
_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})")


def _since(name: str, unit: int) -> Callable[[Node], Node]:
    """The whole units since 1970, rounded down."""

    def bind(operand: Node) -> Node:
        node = exactly(operand, TIMESTAMP)
        sql = f"(m - ((m % {unit}) + {unit}) % {unit}) // {unit}"
        return call(name, (node,), LONG, let(sql, m="epoch_us({0})"))

    return bind


def _unix_date(operand: Node) -> Node:
    return call(
        "unix_date",
        (exactly(operand, DATE),),
        INTEGER,
        "CAST({0} - DATE '1970-01-01' AS INTEGER)",
    )


def _from_unix_date(days: Node) -> Node:
    moved = "DATE '1970-01-01' + {0}"
    sql = f"CASE WHEN {{0}} BETWEEN -719162 AND 2932896 THEN {moved} ELSE {_OUTSIDE} END"
    return call("date_from_unix_date", (as_integer(days),), DATE, given(sql), fails=True)


def _from_units(name: str, unit: int) -> Callable[[Node], Node]:
    def bind(count: Node) -> Node:
        if name == "timestamp_seconds" and (count.type in (FLOAT, DOUBLE) or decimal_of(count.type)):
            digits = decimal_of(count.type)
            if digits is not None and digits[1] > 6:
                raise refused(f"timestamp_seconds of {type_name(count.type)}")
            return cast(count, TIMESTAMP)
        if count.type not in INTEGRAL:
            raise refused(f"{name} of {type_name(count.type)}")
        sql = (
            f"CASE WHEN {{0}} BETWEEN {-(-_FIRST // unit)} AND {_LAST // unit}"
            f" THEN make_timestamp({{0}} * {unit}) ELSE {_OUTSIDE} END"
        )
        return call(name, (cast(count, LONG),), TIMESTAMP, given(sql), fails=True)

    return bind


def _made(name: str, data_type: DataType, *, tries: bool = False) -> Callable[..., Node]:
    def bind(
        year: Node, month: Node, day: Node, hour: Node, minute: Node, second: Node, zone: Node | None = None
    ) -> Node:
        if zone is not None and (data_type != TIMESTAMP or _minutes(zone, name) != 0):
            raise refused(f"{name} in a time zone other than UTC")
        parts = tuple(map(as_integer, (year, month, day, hour, minute)))
        digits = decimal_of(second.type)
        if digits is not None and digits[1] > 6:
            raise refused(f"{name} with seconds of {type_name(second.type)}")
        nodes = (*parts, implicitly(second, decimal_type(16, 6)))
        wrong = "NULL" if tries else "error('there is no such time')"
        day_start = "CAST(make_date({0}, {1}, {2}) AS TIMESTAMP)"
        if tries:
            day_start = "TRY(CAST(make_date(p.y, p.m, p.d) AS TIMESTAMP))"
        micros = "CAST({5} * 1000000 AS BIGINT)"
        moment = f"make_timestamp(epoch_us({day_start}) + ({{3}} * 60 + {{4}})::BIGINT * 60000000 + {micros})"
        if tries:
            moment = let(moment, p=_PACKED)
        sql = (
            "CASE WHEN {3} NOT BETWEEN 0 AND 23 OR {4} NOT BETWEEN 0 AND 59 OR {5} NOT BETWEEN 0 AND 60"
            f" THEN {wrong} WHEN {{0}} NOT BETWEEN 1 AND 9999 THEN {_OUTSIDE} ELSE {moment} END"
        )
        return call(name, nodes, data_type, given(sql, 6), fails=True)

    return bind


_PACKED = "struct_pack(y := {0}, m := {1}, d := {2})"


def _months_between(end: Node, start: Node, rounds: Node | None = None) -> Node:
    if rounds is not None and (not isinstance(rounds, Constant) or rounds.type != BOOLEAN):
        raise refused("months_between with a third argument that is not TRUE or FALSE")
    nodes = (cast(as_timestamp(end), TIMESTAMP), cast(as_timestamp(start), TIMESTAMP))
    months = "((year({0}) - year({1})) * 12 + month({0}) - month({1}))"
    whole = "day({0}) = day({1}) OR (CAST({0} AS DATE) = last_day({0}) AND CAST({1} AS DATE) = last_day({1}))"
    seconds = [f"(hour({{{k}}}) * 3600 + minute({{{k}}}) * 60 + second({{{k}}}))" for k in (0, 1)]
    part = f"((day({{0}}) - day({{1}})) * 86400 + {seconds[0]} - {seconds[1]})::DOUBLE / 2678400::DOUBLE"
    found = f"CASE WHEN {whole} THEN {months}::DOUBLE ELSE {months} + {part} END"
    if rounds is None or rounds.value:
        found = let("floor(n * 100000000::DOUBLE + 0.5::DOUBLE) / 100000000::DOUBLE", n=found)
    return call("months_between", nodes, DOUBLE, given(found, 2))


def _next_day(operand: Node, name: Node) -> Node:
    text = literal_text(name, "the day of next_day").strip().upper()
    if text not in _DAYS:
        raise refused(f"next_day of the day {text!r}")
    later = f"{{0}} + CAST(({_DAYS[text]} - isodow({{0}}) + 6) % 7 + 1 AS INTEGER)"
    sql = f"CASE WHEN {{0}} > DATE '9999-12-24' THEN {_OUTSIDE} ELSE CAST({later} AS DATE) END"
    return call("next_day", (as_date(operand),), DATE, given(sql), fails=True)


def _named(name: str, pattern: str) -> Callable[[Node], Node]:
    def bind(operand: Node) -> Node:
        return call(name, (as_date(operand),), STRING, f"strftime({{0}}, '{pattern}')")

    return bind


def _part(unit: Node, operand: Node) -> Node:
    return extracted(literal_text(unit, "the part of date_part"), operand)


def _zone() -> Node:
    return Constant("UTC", STRING)


def _minutes(zone: Node, name: str) -> int:
    """The offset of a time zone that has but one."""
    text = literal_text(zone, f"the time zone of {name}")
    if text.upper() in ("UTC", "Z"):
        return 0
    found = _OFFSET.fullmatch(text)
    if found is None or int(found[2]) > 18 or int(found[3]) > 59:
        raise refused(f"{name} in the time zone {text!r}")
    return (int(found[2]) * 60 + int(found[3])) * (-1 if found[1] == "-" else 1)


def _shifted(name: str, sign: int) -> Callable[[Node, Node], Node]:
    def bind(operand: Node, zone: Node) -> Node:
        return _moved(name, cast(as_timestamp(operand), TIMESTAMP), sign * _minutes(zone, name))

    return bind


def _moved(name: str, node: Node, minutes: int) -> Node:
    later = f"epoch_us({{0}}) + {minutes * 60_000_000}"
    sql = f"CASE WHEN {later} BETWEEN {_FIRST} AND {_LAST} THEN make_timestamp({later}) ELSE {_OUTSIDE} END"
    return call(name, (node,), node.type, given(sql), fails=True)


def _converted(*operands: Node) -> Node:
    source = Constant("UTC", STRING) if len(operands) == 2 else operands[0]
    minutes = _minutes(operands[-2], "convert_timezone") - _minutes(source, "convert_timezone")
    return _moved("convert_timezone", cast(operands[-1], TIMESTAMP_NTZ), minutes)


_PLACES = "year, month, day, hour, minute, second"
FUNCTIONS = (
    Function(("unix_date",), "date", (1, 1), _unix_date),
    Function(("date_from_unix_date",), "days", (1, 1), _from_unix_date),
    Function(("unix_seconds",), "timestamp", (1, 1), _since("unix_seconds", 1_000_000)),
    Function(("unix_millis",), "timestamp", (1, 1), _since("unix_millis", 1_000)),
    Function(("unix_micros",), "timestamp", (1, 1), _since("unix_micros", 1)),
    Function(("timestamp_seconds",), "number", (1, 1), _from_units("timestamp_seconds", 1_000_000)),
    Function(("timestamp_millis",), "integer", (1, 1), _from_units("timestamp_millis", 1_000)),
    Function(("timestamp_micros",), "integer", (1, 1), _from_units("timestamp_micros", 1)),
    Function(
        ("make_timestamp", "make_timestamp_ltz"),
        f"{_PLACES}[, zone]",
        (6, 7),
        _made("make_timestamp", TIMESTAMP),
        "in UTC",
    ),
    Function(("make_timestamp_ntz",), _PLACES, (6, 6), _made("make_timestamp_ntz", TIMESTAMP_NTZ)),
    Function(
        ("try_make_timestamp", "try_make_timestamp_ltz"),
        f"{_PLACES}[, zone]",
        (6, 7),
        _made("try_make_timestamp", TIMESTAMP, tries=True),
        "in UTC",
    ),
    Function(
        ("try_make_timestamp_ntz",),
        _PLACES,
        (6, 6),
        _made("try_make_timestamp_ntz", TIMESTAMP_NTZ, tries=True),
    ),
    Function(("months_between",), "end, start[, rounds]", (2, 3), _months_between),
    Function(("next_day",), "date, day", (2, 2), _next_day, "a literal day"),
    Function(("dayname",), "date", (1, 1), _named("dayname", "%a")),
    Function(("monthname",), "date", (1, 1), _named("monthname", "%b")),
    Function(("date_part", "datepart"), "unit, date or timestamp", (2, 2), _part, "a literal unit"),
    Function(("current_timezone",), "", (0, 0), _zone),
    Function(
        ("from_utc_timestamp",),
        "timestamp, zone",
        (2, 2),
        _shifted("from_utc_timestamp", 1),
        "UTC or an offset such as +09:00",
    ),
    Function(
        ("to_utc_timestamp",),
        "timestamp, zone",
        (2, 2),
        _shifted("to_utc_timestamp", -1),
        "UTC or an offset such as +09:00",
    ),
    Function(
        ("convert_timezone",),
        "[source, ]target, timestamp",
        (2, 3),
        _converted,
        "UTC or offsets such as +09:00",
    ),
)
"""The functions of this chapter."""
