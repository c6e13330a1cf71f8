"""Functions on seconds since 1970 and on the parts of dates and timestamps."""

from collections.abc import Callable

from deltaarrow.schema import DataType
from deltaarrow.spark_sql.functions.datetime import NO_SUCH_DATE, extracted, to_timestamp
from deltaarrow.spark_sql.functions.function import Function, as_date, as_integer, literal_text, timestamp_at
from deltaarrow.spark_sql.tree.forms import given, let, raised_as
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import exactly, implicitly
from deltaarrow.spark_sql.types.time_zones import TimeZone, in_time_zone, parse_time_zone, session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
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
        parts = tuple(map(as_integer, (year, month, day, hour, minute)))
        digits = decimal_of(second.type)
        if digits is not None and digits[1] > 6:
            raise refused(f"{name} with seconds of {type_name(second.type)}")
        nodes = (*parts, implicitly(second, decimal_type(16, 6)))
        wrong = "NULL" if tries else NO_SUCH_DATE
        date = "make_date(p.y, p.m, p.d)"
        day_start = f"CAST({f'TRY({date})' if tries else raised_as(NO_SUCH_DATE, date)} AS TIMESTAMP)"
        micros = "CAST({5} * 1000000 AS BIGINT)"
        time = f"make_timestamp(epoch_us({day_start}) + ({{3}} * 60 + {{4}})::BIGINT * 60000000 + {micros})"
        moment = let(time, p=_PACKED)
        sql = (
            "CASE WHEN {3} NOT BETWEEN 0 AND 23 OR {4} NOT BETWEEN 0 AND 59 OR {5} NOT BETWEEN 0 AND 60"
            f" THEN {wrong} WHEN {{0}} NOT BETWEEN 1 AND 9999 THEN {_OUTSIDE} ELSE {moment} END"
        )
        local = call(name, nodes, TIMESTAMP_NTZ, given(sql, 6), fails=True)
        if data_type == TIMESTAMP_NTZ:
            return local
        with in_time_zone(session_time_zone() if zone is None else _zone_of(zone, name)):
            return timestamp_at(local)

    return bind


_PACKED = "struct_pack(y := {0}, m := {1}, d := {2})"


def _months_between(end: Node, start: Node, rounds: Node | None = None) -> Node:
    if rounds is not None and (not isinstance(rounds, Constant) or rounds.type != BOOLEAN):
        raise refused("months_between with a third argument that is not TRUE or FALSE")
    nodes = tuple(cast(to_timestamp(each), kind) for each in (end, start) for kind in (DATE, TIMESTAMP))
    months = "((year({0}) - year({2})) * 12 + month({0}) - month({2}))"
    whole = "day({0}) = day({2}) OR ({0} = last_day({0}) AND {2} = last_day({2}))"
    seconds = [f"(epoch_us({{{k + 1}}}) - epoch_us({_start_of_day(k)})) // 1000000" for k in (0, 2)]
    part = f"((day({{0}}) - day({{2}})) * 86400 + {seconds[0]} - {seconds[1]})::DOUBLE / 2678400::DOUBLE"
    found = f"CASE WHEN {whole} THEN {months}::DOUBLE ELSE {months} + {part} END"
    if rounds is None or rounds.value:
        found = let("floor(n * 100000000::DOUBLE + 0.5::DOUBLE) / 100000000::DOUBLE", n=found)
    return call("months_between", nodes, DOUBLE, given(found, 4))


def _start_of_day(place: int) -> str:
    return session_time_zone().start_of_day(f"CAST({{{place}}} AS TIMESTAMP)")


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


def _current_zone() -> Node:
    return Constant(session_time_zone().name, STRING)


def _zone_of(zone: Node, name: str) -> TimeZone:
    text = literal_text(zone, f"the time zone of {name}")
    try:
        return parse_time_zone(text)
    except ValueError:
        raise refused(f"{name} in the time zone {text!r}") from None


def _from_utc(operand: Node, zone: Node) -> Node:
    sql = _zone_of(zone, "from_utc_timestamp").local_time("{0}")
    return call("from_utc_timestamp", (to_timestamp(operand),), TIMESTAMP, sql)


def _to_utc(operand: Node, zone: Node) -> Node:
    sql = _zone_of(zone, "to_utc_timestamp").point_in_time("{0}")
    return call("to_utc_timestamp", (to_timestamp(operand),), TIMESTAMP, sql)


def _converted(*operands: Node) -> Node:
    name = "convert_timezone"
    source = session_time_zone() if len(operands) == 2 else _zone_of(operands[0], name)
    sql = _zone_of(operands[-2], name).local_time(source.point_in_time("{0}"))
    return call(name, (cast(operands[-1], TIMESTAMP_NTZ),), TIMESTAMP_NTZ, sql)


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
        "zone must be a literal",
    ),
    Function(("make_timestamp_ntz",), _PLACES, (6, 6), _made("make_timestamp_ntz", TIMESTAMP_NTZ)),
    Function(
        ("try_make_timestamp", "try_make_timestamp_ltz"),
        f"{_PLACES}[, zone]",
        (6, 7),
        _made("try_make_timestamp", TIMESTAMP, tries=True),
        "zone must be a literal",
    ),
    Function(
        ("try_make_timestamp_ntz",),
        _PLACES,
        (6, 6),
        _made("try_make_timestamp_ntz", TIMESTAMP_NTZ, tries=True),
    ),
    Function(("months_between",), "end, start[, round_off]", (2, 3), _months_between),
    Function(("next_day",), "date, day", (2, 2), _next_day, "day must be a literal"),
    Function(("dayname",), "date", (1, 1), _named("dayname", "%a")),
    Function(("monthname",), "date", (1, 1), _named("monthname", "%b")),
    Function(("date_part", "datepart"), "unit, date or timestamp", (2, 2), _part, "unit must be a literal"),
    Function(("current_timezone",), "", (0, 0), _current_zone),
    Function(
        ("from_utc_timestamp",),
        "timestamp, zone",
        (2, 2),
        _from_utc,
        "zone must be a literal",
    ),
    Function(
        ("to_utc_timestamp",),
        "timestamp, zone",
        (2, 2),
        _to_utc,
        "zone must be a literal",
    ),
    Function(
        ("convert_timezone",),
        "[source, ]target, timestamp",
        (2, 3),
        _converted,
        "time zones must be literals",
    ),
)
"""The functions of this module."""
