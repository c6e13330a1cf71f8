"""Casts with Spark's ANSI semantics: a value that does not fit raises; it never becomes NULL.

Casts from float and double to text and to decimals depend on how a Java runtime prints such numbers. They
print as Java 19 and later do, and are refused in expressions that tables store. Each type reads text in one
grammar; a few other notations that Spark accepts raise like ill-formed text. Dates and timestamps must be
within the years 1 to 9999.
"""

import datetime
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from deltaarrow.expressions import decimal_digits, parse_date, parse_timestamp
from deltaarrow.schema import ArrayType, DataType, Field, IntervalType, MapType, PrimitiveType, StructType
from deltaarrow.spark_sql.tree.forms import java_text, let, raised_as
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Call, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.nested import array_of, with_elements, with_entries, with_members
from deltaarrow.spark_sql.types.time_zones import TimeZone, parse_time_zone, session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VOID,
    as_decimal,
    decimal_of,
    has_same_shape,
    sql_type,
    type_name,
)

__all__ = ["FIRST_DAY", "LAST_DAY", "cast", "cast_mismatch", "cast_pairs", "time_grammar"]

FIRST_DAY, LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"

_ENOUGH = Context(prec=2_000)
"""Digits for every literal that is rounded."""

_DATE_TEXT = re.compile(r"\s*(\d{4}(?:-\d{1,2}){0,2})\s*|\s*(\d{4}-\d{1,2}-\d{1,2})[T ].*", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE)
_NAMED_ZONE = re.compile(r"(.*:\d\d:\d\d(?:\.\d+)?) *([A-Za-z][^\s]+)\s*", re.ASCII)
"""A time before the name of a time zone."""

_FAR_ZONE = re.compile(r"[+-](?:1[89]|[2-9]\d):\d\d\s*$", re.ASCII)
_TRUTHS = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(
    ("f", "false", "n", "no", "0"), False
)
_BLANKS = "[ \\t\\r\\n]*"
_TRIMMED = "trim({0}, chr(32) || chr(9) || chr(13) || chr(10))"
_YEAR = "(?:[0-9]{{3}}[1-9]|[0-9]{{2}}[1-9]0|[0-9][1-9]00|[1-9]000)"
_ONE_OR_TWO = "[0-9]{{1,2}}"
_DATE_PARTS = f"{_BLANKS}(?P<y>{_YEAR})(?:-(?P<m>{_ONE_OR_TWO})(?:-(?P<d>{_ONE_OR_TWO}))?)?"
_INVALID = raising("CAST_INVALID_INPUT", "the text ' || {0} || ' is not a valid {type}; try_cast gives NULL")
_DATE = raised_as(
    _INVALID,
    "make_date(CAST(g.y AS INTEGER), CAST(coalesce(nullif(g.m, ''), '1') AS INTEGER),"
    " CAST(coalesce(nullif(g.d, ''), '1') AS INTEGER))",
)
_ORDINARY_DATE = "[1-9][0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}"
_ORDINARY_TIME = "[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{{1,6}})?"
"""The forms in which dates and times are mostly written, in which DuckDB's own cast reads what ours reads."""

_INTEGER_TEXT = f"{_BLANKS}[+-]?[0-9]+{_BLANKS}"
_DECIMAL_TEXT = f"{_BLANKS}[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]{{{{1,2}}}})?{_BLANKS}"
_DIGITS = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?"
_DOUBLE_TEXT = f"{_BLANKS}(?:{_DIGITS}|(?i:[+-]?inf(?:inity)?|nan)){_BLANKS}"
_BEYOND_FLOAT = 2.0**128 - 2.0**103
"""The least double that rounds beyond the greatest float."""
_NO_TIME = "error('unsupported: a timestamp outside the years 1 to 9999')"
_SECONDS = "(epoch_us({0}) - ((epoch_us({0}) % 1000000) + 1000000) % 1000000) // 1000000"
_LOCAL = (DATE, STRING, TIMESTAMP_NTZ)
"""The types of which a value is a local time, if it is a time."""

_LONG_DIGITS = 18
"""Digits of the decimals that Spark stores as a long of units."""

_SPECIAL = ("epoch", "now", "today", "tomorrow", "yesterday")
"""Literals that Spark casts to the time of the query, or to the start of 1970."""


def cast(node: Node, target: DataType, name: str = "cast") -> Node:
    """Cast the node to `target`; refuse pairs of types that are not on the list.

    The fields of a struct are cast by position, whatever their names.
    """
    if has_same_shape(node.type, target):
        return node
    if isinstance(node, Constant):
        if target in (DATE, *TIMESTAMPS) and str(node.value).strip().lower() in _SPECIAL:
            raise refused(f"the text {node.value!r} as a time, which Spark takes for a time of the query,")
        folded = _folded(node.value, node.type, target)
        if folded is not None:
            return Constant(folded, target, folded=True)
    if node.type == VOID and node.can_fail:
        return call(name, (node,), target, f"CAST({{0}} AS {escaped(sql_type(target))})")
    if node.type == VOID or (isinstance(node, Constant) and node.value is None):
        sql_type(target)
        return Constant(None, target)
    if isinstance(node.type, ArrayType) and isinstance(target, ArrayType):
        if isinstance(node, Call) and node.name == "array":
            return array_of([cast(each, target.element_type) for each in node.operands], target.element_type)
        return with_elements(node, target, cast)
    if isinstance(node.type, MapType) and isinstance(target, MapType):
        return with_entries(node, target, cast)
    if isinstance(node.type, StructType) and isinstance(target, StructType):
        if len(node.type.fields) != len(target.fields):
            raise refused(f"a cast from {type_name(node.type)} to {type_name(target)}")
        return with_members(node, node.type.fields, target, cast)
    if target == STRING and isinstance(node.type, ArrayType | MapType | StructType):
        return _nested_text(node)
    make = _CASTS.get((_kind(node.type), _kind(target)))
    if make is _decimal_to_integral and isinstance(node, Constant):
        make = _long_decimal_to_integral  # In Spark a literal is never a long of units.
    found = make(node.type, target) if make else None
    if found is None:
        raise refused(f"a cast from {type_name(node.type)} to {type_name(target)}")
    sql, fails = found
    if _kind(node.type) == "floating" and (target == STRING or decimal_of(target) is not None):
        name = f"{UNSTORED}a cast from {type_name(node.type)} to {type_name(target)}"
    if _depends_on_zone(node.type, target) and not session_time_zone().is_utc:
        # By such a name no predicate takes it for a cast that keeps the order of times.
        name = f"{name} in the session time zone"
    return call(name, (node,), target, sql.replace("{type}", sql_type(target)), fails=fails)


def cast_mismatch(source: DataType, target: DataType) -> str | None:
    """Spark's kind of error for a cast that it does not have; None for one that it has, or may have."""
    given, wanted = _kind(source), _kind(target)
    unsure = {"timestamp_ntz", "variant", "void"} | ({"string", "decimal"} if wanted == "interval" else set())
    is_nested = not isinstance(source, PrimitiveType) or not isinstance(target, PrimitiveType)
    has_parts = is_nested and (type(source) is type(target) or target == STRING)
    if (given, wanted) in _CASTS or given == wanted or has_parts or {given, wanted} & unsure:
        return None
    if _BY_FUNCTION & {(given, wanted), (wanted, given)}:
        return "CAST_WITH_FUNC_SUGGESTION"
    return "CAST_WITH_CONF_SUGGESTION" if (given, wanted) in _BY_SETTING else "CAST_WITHOUT_SUGGESTION"


def cast_pairs() -> list[tuple[str, str]]:
    """The pairs of kinds of types between which casts exist."""
    return list(_CASTS)


_Sql = tuple[str, bool] | None
_Cast = Callable[[DataType, DataType], _Sql]


def _kind(data_type: DataType) -> str:
    if data_type in INTEGRAL:
        return "integral"
    if data_type in (FLOAT, DOUBLE):
        return "floating"
    if decimal_of(data_type) is not None:
        return "decimal"
    if isinstance(data_type, IntervalType):
        return "interval"
    return data_type.type if isinstance(data_type, PrimitiveType) else "nested"


def _depends_on_zone(source: DataType, target: DataType) -> bool:
    """Whether a cast goes from points in time to local times, or back."""
    return TIMESTAMP in (source, target) and (source in _LOCAL or target in _LOCAL)


def _always(sql: str) -> _Cast:
    return lambda source, target: (sql, False)


def _zoned(sql: Callable[[TimeZone], str]) -> _Cast:
    """A cast between points in time and local times of the session time zone."""
    return lambda source, target: (sql(session_time_zone()), False)


def _raising(sql: str) -> _Cast:
    return lambda source, target: (sql, True)


def _text(pattern: str, sql: str, ordinary: str = "") -> _Cast:
    """A cast from text that matches one grammar; `ordinary` is the branch of a CASE for an ordinary text."""
    checked = (
        f"CASE WHEN {{0}} IS NULL THEN NULL{ordinary} WHEN regexp_full_match({{0}}, '{pattern}') THEN {sql}"
        f" ELSE {_INVALID} END"
    )
    return _raising(checked)


def _ordinary(pattern: str, sql: str) -> str:
    """The branch for texts of an ordinary form, whose value is NULL for a day that there is not."""
    return f" WHEN regexp_full_match({{0}}, '{pattern}') THEN coalesce({sql}, {_INVALID})"


def _integral_to_integral(source: DataType, target: DataType) -> _Sql:
    return "CAST({0} AS {type})", _bits(target) < _bits(source)


def _floating_to_integral(source: DataType, target: DataType) -> _Sql:
    whole = "CAST(trunc({0}) AS {type})"
    if target != LONG:
        return whole, True
    # In Spark 2^63 does not overflow a long, because the greatest long is the same number as a double.
    return f"CASE WHEN {{0}} = 9223372036854775808 THEN 9223372036854775807 ELSE {whole} END", True


def _floating_to_floating(source: DataType, target: DataType) -> _Sql:
    if target == DOUBLE:
        return "CAST({0} AS DOUBLE)", False
    # A double that rounds beyond the greatest float is infinite in Spark, and an error in DuckDB.
    beyond = f"isfinite({{0}}) AND abs({{0}}) >= {_BEYOND_FLOAT!r}::DOUBLE"
    return f"CAST(CASE WHEN {beyond} THEN sign({{0}}) * 'inf'::DOUBLE ELSE {{0}} END AS FLOAT)", False


def _floating_to_string(source: DataType, target: DataType) -> _Sql:
    return java_text("{0}", sql_type(source)), False


def _floating_to_decimal(source: DataType, target: DataType) -> _Sql:
    # Numbers that are not finite are NULL, even in ANSI mode.
    return "CASE WHEN isfinite({0}) THEN CAST(CAST(CAST({0} AS DOUBLE) AS VARCHAR) AS {type}) END", True


def _floating_to_timestamp(source: DataType, target: DataType) -> _Sql:
    within = "CAST({0} AS DOUBLE) BETWEEN -62135596800 AND 253402300799"
    made = "make_timestamp(CAST(trunc(CAST({0} AS DOUBLE) * 1000000) AS BIGINT))"
    return f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {within} THEN {made} ELSE {_NO_TIME} END", True


def _decimal_to_integral(source: DataType, target: DataType) -> _Sql:
    digits = decimal_of(source)
    assert digits is not None
    if digits[0] > _LONG_DIGITS:
        return _long_decimal_to_integral(source, target)
    return "CAST(trunc({0}) AS {type})", True


def _long_decimal_to_integral(source: DataType, target: DataType) -> _Sql:
    # Spark casts a decimal that is no long of units by the double next to it, except to BIGINT.
    number = "{0}" if target == LONG else "CAST(CAST({0} AS VARCHAR) AS DOUBLE)"
    return f"CAST(trunc({number}) AS {{type}})", True


def _decimal_to_timestamp(source: DataType, target: DataType) -> _Sql:
    digits = decimal_of(source)
    assert digits is not None
    if digits[0] - digits[1] > 20 or digits[1] > 12:
        return None
    within = "{0} BETWEEN -62135596800 AND 253402300799"
    made = f"make_timestamp(CAST(trunc(CAST({{0}} AS DECIMAL(38,{digits[1]})) * 1000000) AS BIGINT))"
    return f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {within} THEN {made} ELSE {_NO_TIME} END", True


def _timestamp_to_decimal(source: DataType, target: DataType) -> _Sql:
    return "CAST(CAST(epoch_us({0}) AS DECIMAL(24,6)) * 0.000001::DECIMAL(6,6) AS {type})", True


def _to_decimal(source: DataType, target: DataType) -> _Sql:
    given, wanted = as_decimal(source), as_decimal(target)
    assert given is not None and wanted is not None
    # A number that is rounded may need one digit more.
    fits = wanted[0] - wanted[1] >= given[0] - given[1] + (wanted[1] < given[1])
    return "CAST({0} AS {type})", not fits


def _decimal_to_string(source: DataType, target: DataType) -> _Sql:
    digits = decimal_of(source)
    assert digits is not None
    if digits[0] > digits[1]:
        return "CAST({0} AS VARCHAR)", False
    # DuckDB writes .5 if the type has no digit before the point.
    if digits[0] < MAX_PRECISION:
        return f"CAST(CAST({{0}} AS DECIMAL({digits[0] + 1},{digits[1]})) AS VARCHAR)", False
    return "replace(CAST({0} AS VARCHAR), '.', '0.')", False


def _interval_to_interval(source: DataType, target: DataType) -> _Sql:
    assert isinstance(source, IntervalType) and isinstance(target, IntervalType)
    is_cut = target.last_unit > source.last_unit
    return (f"{{0}} - {{0}} % {target.last_unit}" if is_cut else "{0}"), False


def _interval_to_integral(source: DataType, target: DataType) -> _Sql:
    assert isinstance(source, IntervalType)
    return f"CAST({{0}} // {source.last_unit} AS {{type}})", target != LONG


def _interval_to_decimal(source: DataType, target: DataType) -> _Sql:
    assert isinstance(source, IntervalType)
    if source.units[-1] != "second":
        return f"CAST({{0}} // {source.last_unit} AS {{type}})", True
    return "CAST(CAST({0} AS DECIMAL(24,6)) * 0.000001::DECIMAL(6,6) AS {type})", True


def _integral_to_interval(source: DataType, target: DataType) -> _Sql:
    assert isinstance(target, IntervalType)
    return f"CAST(CAST({{0}} AS HUGEINT) * {target.last_unit} AS BIGINT)", True


def _interval_to_string(source: DataType, target: DataType) -> _Sql:
    """The literal of the interval, in the units of its type."""
    assert isinstance(source, IntervalType)
    rest, parts = "abs({0})", ""
    for name in source.units:
        unit = IntervalType.of(name, name).last_unit
        shown = f"CAST({rest} // {unit} AS VARCHAR)" if name == "day" else f"printf('%02d', {rest} // {unit})"
        sign = " || ' ' || " if parts and name == "hour" else " || ':' || "
        parts, rest = (f"{parts}{sign}{shown}" if parts else shown), f"({rest} % {unit})"
    if source.units[-1] == "second":
        parts += f" || CASE WHEN {rest} > 0 THEN rtrim(printf('.%06d', {rest}), '0') ELSE '' END"
    first, last = source.units[0].upper(), source.units[-1].upper()
    units = first if first == last else f"{first} TO {last}"
    return f"'INTERVAL ''' || CASE WHEN {{0}} < 0 THEN '-' ELSE '' END || {parts} || ''' {units}'", False


def time_grammar(target: DataType) -> str:
    """The regular expression of the texts that are cast to a date or a time, or are an error of their own."""
    if target == DATE:
        whole = f"{_YEAR}-{_ONE_OR_TWO}-{_ONE_OR_TWO}(?:[ T].*)?|{_YEAR}(?:-{_ONE_OR_TWO})?"
        return f"{_BLANKS}(?:{whole}){_BLANKS}"
    zone = f" *(?P<z>Z|UTC|[+-]{_ONE_OR_TWO}:[0-5][0-9])?" if target == TIMESTAMP else "(?P<z>)"
    seconds = f"(?::(?P<s>{_ONE_OR_TWO})(?:\\.(?P<f>[0-9]{{{{0,9}}}}))?)?"
    return f"{_DATE_PARTS}(?:[ T](?P<h>{_ONE_OR_TWO}):(?P<i>{_ONE_OR_TWO}){seconds}{zone})?{_BLANKS}"


def _date_from_string(source: DataType, target: DataType) -> _Sql:
    parts = f"regexp_extract({{0}}, '{_DATE_PARTS}', ['y', 'm', 'd'])"
    ordinary = _ordinary(_ORDINARY_DATE, "TRY_CAST({0} AS DATE)")
    return _text(time_grammar(target), let(_DATE, g=parts), ordinary)(source, target)


def _timestamp_from_string(source: DataType, target: DataType) -> _Sql:
    pattern = time_grammar(target)
    hour, minute, second = (
        f"CAST(coalesce(nullif(g.{name}, ''), '0') AS BIGINT)" for name in ("h", "i", "s")
    )
    part = "CAST(rpad(left(g.f, 6), 6, '0') AS BIGINT)"
    zone_part = "CAST(split_part({}, ':', {}) AS BIGINT)"
    hours, minutes = zone_part.format("substring(g.z, 2)", 1), zone_part.format("g.z", 2)
    sign = "CASE WHEN left(g.z, 1) = '-' THEN -1 ELSE 1 END"
    offset = f"{sign} * ({hours} * 60 + {minutes}) * 60000000"
    offset = f"CASE WHEN left(g.z, 1) IN ('+', '-') THEN {offset} ELSE 0 END"
    clock = f"(({hour} * 60 + {minute}) * 60 + {second}) * 1000000 + {part}"
    local = f"make_timestamp(epoch_us(CAST({_DATE} AS TIMESTAMP)) + {clock})"
    time = f"make_timestamp(epoch_us({local}) - {offset})"
    session = session_time_zone()
    if target == TIMESTAMP and not session.is_utc:
        time = f"CASE WHEN g.z = '' THEN {session.point_in_time(local)} ELSE {time} END"
    moment = let(f"CASE WHEN year(t) BETWEEN 1 AND 9999 THEN t ELSE {_INVALID} END", t=time)
    wrong = f"{hour} > 23 OR {minute} > 59 OR {second} > 59 OR abs({offset}) > 64800000000"
    parts = f"regexp_extract({{0}}, '{pattern}', ['y', 'm', 'd', 'h', 'i', 's', 'f', 'z'])"
    checked = let(f"CASE WHEN {wrong} THEN {_INVALID} ELSE {moment} END", g=parts)
    return _text(pattern, checked, _ordinary_timestamp(target))(source, target)


def _ordinary_timestamp(target: DataType) -> str:
    """The branch for a date with a time or without; ``Z`` behind a timestamp says that it is in UTC."""
    moment, session = "TRY_CAST({0} AS TIMESTAMP)", session_time_zone()
    zone = "Z?" if target == TIMESTAMP else ""
    if target == TIMESTAMP and not session.is_utc:
        moment = f"CASE WHEN ends_with({{0}}, 'Z') THEN {moment} ELSE {session.point_in_time(moment)} END"
    return _ordinary(f"{_ORDINARY_DATE}(?:{_ORDINARY_TIME}{zone})?", moment)


def _nested_text(node: Node) -> Node:
    """An array, a map or a struct as text."""
    if isinstance(node.type, ArrayType):
        texts = with_elements(node, ArrayType(STRING), cast)
        kind, ends = "array", "[]"
        listed = "list_transform({0}, lambda x: coalesce(x, 'null'))"
    elif isinstance(node.type, MapType):
        texts = with_entries(node, MapType(STRING, STRING), cast)
        entry = "x.key || ' -> ' || coalesce(x.value, 'null')"
        kind, ends = "map", "{}"
        listed = f"list_transform(map_entries({{0}}), lambda x: {entry})"
    else:
        assert isinstance(node.type, StructType)
        fields = [Field(f"c{place}", STRING) for place, _ in enumerate(node.type.fields)]
        texts = with_members(node, node.type.fields, StructType(fields), cast)
        kind, ends = "struct", "{}"
        members = (f"coalesce(struct_extract({{0}}, '{each.name}'), 'null')" for each in fields)
        listed = f"[{', '.join(members)}]"
    first, last = (escaped(f"'{end}'") for end in ends)
    joined = f"{first} || coalesce(array_to_string({listed}, ', '), '') || {last}"
    name = f"{UNSTORED}a cast from {kind} to string"
    return call(name, (texts,), STRING, f"CASE WHEN {{0}} IS NOT NULL THEN {joined} END")


_CASTS: dict[tuple[str, str], _Cast] = {
    ("integral", "integral"): _integral_to_integral,
    ("integral", "floating"): _always("CAST({0} AS {type})"),
    ("integral", "decimal"): _to_decimal,
    ("integral", "string"): _always("CAST({0} AS VARCHAR)"),
    ("integral", "boolean"): _always("({0} <> 0)"),
    ("integral", "timestamp"): _raising(
        "CASE WHEN {0} IS NULL THEN NULL WHEN {0} BETWEEN -62135596800 AND 253402300799"
        f" THEN make_timestamp(CAST({{0}} AS BIGINT) * 1000000) ELSE {_NO_TIME} END"
    ),
    ("floating", "integral"): _floating_to_integral,
    ("floating", "floating"): _floating_to_floating,
    ("floating", "string"): _floating_to_string,
    ("floating", "decimal"): _floating_to_decimal,
    ("floating", "boolean"): _always("({0} <> 0)"),
    ("floating", "timestamp"): _floating_to_timestamp,
    ("decimal", "boolean"): _always("({0} <> 0)"),
    ("decimal", "timestamp"): _decimal_to_timestamp,
    ("boolean", "decimal"): _raising("CAST(CAST({0} AS INTEGER) AS {type})"),
    ("timestamp", "floating"): _always("CAST(CAST(epoch_us({0}) AS DOUBLE) / 1000000 AS {type})"),
    ("timestamp", "decimal"): _timestamp_to_decimal,
    ("decimal", "integral"): _decimal_to_integral,
    ("decimal", "floating"): _always("CAST(CAST({0} AS VARCHAR) AS {type})"),
    ("decimal", "decimal"): _to_decimal,
    ("decimal", "string"): _decimal_to_string,
    ("boolean", "integral"): _always("CAST({0} AS {type})"),
    ("boolean", "floating"): _always("CAST({0} AS {type})"),
    ("boolean", "string"): _always("CAST({0} AS VARCHAR)"),
    ("date", "string"): _always("CAST({0} AS VARCHAR)"),
    ("timestamp", "string"): _zoned(lambda zone: f"CAST({zone.local_time('{0}')} AS VARCHAR)"),
    ("interval", "interval"): _interval_to_interval,
    ("interval", "integral"): _interval_to_integral,
    ("interval", "decimal"): _interval_to_decimal,
    ("interval", "string"): _interval_to_string,
    ("integral", "interval"): _integral_to_interval,
    ("timestamp_ntz", "string"): _always("CAST({0} AS VARCHAR)"),
    ("date", "timestamp"): _zoned(lambda zone: zone.start_of_day("CAST({0} AS TIMESTAMP)")),
    ("date", "timestamp_ntz"): _always("CAST({0} AS TIMESTAMP)"),
    ("timestamp", "date"): _zoned(lambda zone: f"CAST({zone.local_time('{0}')} AS DATE)"),
    ("timestamp_ntz", "date"): _always("CAST({0} AS DATE)"),
    ("timestamp", "timestamp_ntz"): _zoned(lambda zone: zone.local_time("{0}")),
    ("timestamp_ntz", "timestamp"): _zoned(lambda zone: zone.point_in_time("{0}")),
    ("timestamp", "integral"): lambda source, target: (f"CAST({_SECONDS} AS {{type}})", target != LONG),
    ("string", "integral"): _text(_INTEGER_TEXT, f"CAST({_TRIMMED} AS {{type}})"),
    ("string", "decimal"): _text(_DECIMAL_TEXT, f"CAST({_TRIMMED} AS {{type}})"),
    ("string", "floating"): _text(_DOUBLE_TEXT, f"CAST({_TRIMMED} AS {{type}})"),
    ("string", "date"): _date_from_string,
    ("string", "timestamp"): _timestamp_from_string,
    ("string", "timestamp_ntz"): _timestamp_from_string,
    ("string", "boolean"): _raising(
        f"CASE WHEN {{0}} IS NULL THEN NULL"
        f" WHEN lower({_TRIMMED}) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
        f" WHEN lower({_TRIMMED}) IN ('f', 'false', 'n', 'no', '0') THEN FALSE"
        f" ELSE {_INVALID} END"
    ),
    ("string", "binary"): _always("encode({0})"),
    ("binary", "string"): _raising(
        # TRY takes no operand that may raise.
        let(
            "CASE WHEN b IS NOT NULL THEN"
            " coalesce(try(decode(b)), error('unsupported: text of bytes that are not UTF-8')) END",
            b="{0}",
        )
    ),
}


_BY_FUNCTION = frozenset(("date", kind) for kind in ("integral", "floating", "decimal"))
"""Pairs for which Spark proposes a function; also in the other direction."""

_BY_SETTING = frozenset(
    {("date", "boolean"), ("timestamp", "boolean"), ("boolean", "timestamp"), ("integral", "binary")}
)
"""Pairs that Spark casts outside of its ANSI mode."""


def _folded(value: object, source: DataType, target: DataType) -> object:
    """A constant's value as `target` if that is certain, None otherwise."""
    if isinstance(value, bool) or source == FLOAT:
        # A constant of the type FLOAT keeps its digits; only the engine rounds it.
        return None
    if isinstance(value, int | Decimal) and target == DOUBLE:
        return float(value)
    if isinstance(value, Decimal) and target == FLOAT:
        return value
    if isinstance(value, Decimal) and decimal_of(target) is not None:
        return _fitting(value, target)
    if isinstance(value, int):
        digits = decimal_of(target)
        if digits is not None and abs(value) < 10 ** (digits[0] - digits[1]):
            return Decimal(value)
        if target in INTEGRAL and -(1 << _bits(target)) <= value < 1 << _bits(target):
            return value
    if isinstance(value, str):
        return _folded_text(value, target)
    if isinstance(value, datetime.date):
        return _folded_time(value, source, target)
    return None


def _folded_time(value: datetime.date, source: DataType, target: DataType) -> object:
    """A date or a time as another one; None if that is outside the years 1 to 9999."""
    zone = session_time_zone()
    if target not in (DATE, *TIMESTAMPS):
        return None
    try:
        if not isinstance(value, datetime.datetime):
            midnight = datetime.datetime.combine(value, datetime.time())
            return zone.start_of_day_of(value) if target == TIMESTAMP else midnight
        if target == TIMESTAMP:
            return zone.point_in_time_of(value)
        local = zone.local_time_of(value) if source == TIMESTAMP else value
        return local.date() if target == DATE else local
    except ValueError:
        return None


def _bits(data_type: DataType) -> int:
    return (7, 15, 31, 63)[INTEGRAL.index(data_type)]


def _fitting(value: Decimal, target: DataType) -> Decimal | None:
    """The number rounded half up to the scale of the decimal type, if it has the digits for it."""
    digits = decimal_of(target)
    assert digits is not None
    whole, places = decimal_digits(value)
    if places > digits[1]:
        value = value.quantize(Decimal(1).scaleb(-digits[1]), ROUND_HALF_UP, _ENOUGH)
        whole, places = decimal_digits(value)
    return value if whole - places <= digits[0] - digits[1] else None


def _folded_text(text: str, target: DataType) -> object:
    try:
        if target == DATE:
            found = _DATE_TEXT.fullmatch(text)
            return None if found is None else parse_date(found[1] or found[2])
        named = _NAMED_ZONE.fullmatch(text)
        if target == TIMESTAMP and named is not None:
            return parse_time_zone(named[2]).point_in_time_of(parse_timestamp(named[1]))
        if target in TIMESTAMPS:
            time = parse_timestamp(text)
            if time.tzinfo is not None and (target != TIMESTAMP or _FAR_ZONE.search(text)):
                return None
            if time.tzinfo is None and target == TIMESTAMP:
                return session_time_zone().point_in_time_of(time)
            return time.replace(tzinfo=None)
        if target == BINARY:
            return text.encode()
        bare = text.strip(" \t\r\n")
        if target == BOOLEAN:
            return _TRUTHS.get(bare.lower())
        if target in INTEGRAL and _WHOLE.fullmatch(bare):
            return _folded(int(bare), LONG, target)
        if target == DOUBLE and (_NUMBER.fullmatch(bare) or _NOT_FINITE.fullmatch(bare)):
            return float(bare)
        if decimal_of(target) is not None and _NUMBER.fullmatch(bare) and "e" not in bare.lower():
            return _fitting(Decimal(bare), target)
    except ValueError:
        pass  # The cast itself raises, on the rows that reach it.
    return None
