"""Conditions in DuckDB's SQL, parsed by sqlglot, as predicate trees for skipping files.

DuckDB still evaluates the condition on every remaining row, so a tree may be incomplete: anything not listed
here is `Opaque`, which skips no file. For listed conditions on a column of the given type, the tree has
exactly DuckDB's value. Nothing is concluded where DuckDB would round, convert by a connection setting that is
not known, or compare with a collation.

======================  ======================================================================
column                  constants it is compared with
======================  ======================================================================
integers                numbers; those in DOUBLE, such as ``1e3``, only below 2**52
decimals                integers and decimals, while DuckDB has a decimal type for both
float, double           numbers that the type holds exactly, decimals of 15 digits at most
string                  texts, while ``default_collation`` is not set
boolean                 ``TRUE`` and ``FALSE``
date, timestamp_ntz     dates and times without zone, texts that spell one in ISO 8601
timestamp               the same in the time zone of the connection, and times with an offset
======================  ======================================================================
"""

import calendar
import ctypes
import datetime
import re
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from deltaarrow.expressions import (
    MIRRORED,
    NULL,
    And,
    Column,
    Compare,
    CompareOp,
    Constant,
    IsIn,
    IsNull,
    Literal,
    LiteralValue,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    boolean_column,
    negated,
    null_safe_equal,
    ordered,
)
from deltaarrow.schema import FLOATING, DataType, PrimitiveType
from deltaarrow.spark_sql.text.literal_lists import ListedLiterals, listed_members

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Conditions", "Found", "is_telling", "may_keep_nulls"]

Found: TypeAlias = tuple[Column, DataType]
"""A column of the table and its type."""

_Value: TypeAlias = bool | int | float | Decimal | str | datetime.date | datetime.datetime | None

_NOT_CONSTANT: Any = object()
_OPAQUE = Opaque("a condition")

_COMPARISONS: dict[str, CompareOp] = {"eq": "=", "neq": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_USUAL_PARTS = {"this", "expression"}
_PARTS = {
    "anonymous": {"this", "expressions"},
    "between": {"this", "low", "high"},
    "boolean": {"this"},
    "cast": {"this", "to"},
    "datatype": {"this", "expressions"},
    "datefromparts": {"year", "month", "day"},
    "in": {"this", "expressions"},
    "interval": {"this", "unit"},
    "like": {"this", "expression", "negate"},
    "literal": {"this", "is_string"},
    "timestampfromparts": {"year", "month", "day", "hour", "min", "sec"},
}
"""The arguments of sqlglot's nodes, by key, where they differ from the usual ones."""

_INTEGERS = ("byte", "short", "integer", "long")
_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_LONG = range(-(2**63), 2**63)
_EXACT_AS_DOUBLE = 2**52
_EXACT_AS_FLOAT = 2**24
_MOST_DIGITS = 15
_MOST_PRECISION = 38
_LONG_DIGITS = 19
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ISO_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.(?:\d{3}|\d{6}))?(?P<zone>Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_UTC_NAMES = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")
_YEARS_OF_KNOWN_ZONES = range(1971, 2037)
"""Outside these years DuckDB and Python may disagree about a time zone."""
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SPANS = {"MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 7 * 86400, "SECOND": 1}


@dataclass(frozen=True)
class Conditions:
    """Reads the conditions on one table in a query.

    `resolve` returns the table column that a node refers to, None for anything else. `parameters` are the
    values of a prepared statement, by name or, from ``"1"`` on, by number, and those of variables, by name.
    `lists` are the literals of long ``IN`` lists.
    """

    resolve: "Callable[[exp.Expr], Found | None]"
    parameters: Mapping[str, Any]
    time_zone: str
    has_collation: bool
    lists: ListedLiterals

    def read(self, node: "exp.Expr") -> Predicate:
        """Return the tree of a condition; parts that are not understood are `Opaque`."""
        read = _READERS.get(node.key)
        if read is not None and _is_plain(node):
            return read(self, node)
        found = self.resolve(node)
        return _OPAQUE if found is None or found[1] != PrimitiveType("boolean") else boolean_column(found[0])

    def _compared(self, node: "exp.Expr") -> Predicate:
        op = _COMPARISONS[node.key]
        found, other = self.resolve(node.this), node.expression
        if found is None:
            found, other, op = self.resolve(node.expression), node.this, MIRRORED[op]
        literal = None if found is None else self._literal(other, found[1])
        return _OPAQUE if found is None or literal is None else _comparison(op, found, literal)

    def _same_or_both_null(self, node: "exp.Expr") -> Predicate:
        found = self.resolve(node.this)
        literal = None if found is None else self._literal(node.expression, found[1])
        return _OPAQUE if found is None or literal is None else null_safe_equal(found[0], literal)

    def _between(self, node: "exp.Expr") -> Predicate:
        found = self.resolve(node.this)
        if found is None:
            return _OPAQUE
        low, high = self._literals([node.args["low"], node.args["high"]], found[1])
        return And(
            (
                _OPAQUE if low is None else _comparison(">=", found, low),
                _OPAQUE if high is None else _comparison("<=", found, high),
            )
        )

    def _in(self, node: "exp.Expr") -> Predicate:
        found = self.resolve(node.this)
        if found is None or not node.expressions:
            return _OPAQUE
        members = self._literals(listed_members(node, self.lists) or node.expressions, found[1])
        known = [each.value for each in members if each is not None and each.value is not None]
        if any(each is None for each in members):
            return _OPAQUE
        listed = IsIn(found[0], tuple(known))
        return listed if len(known) == len(members) else Or((listed, NULL))

    def _is(self, node: "exp.Expr") -> Predicate:
        found = self.resolve(node.this)
        if found is None or not isinstance(found[1], PrimitiveType) or found[1].type == "variant":
            return _OPAQUE
        if node.expression.key == "null":
            return IsNull(found[0])
        if node.expression.key == "boolean" and found[1].type == "boolean":
            wanted = Compare("=", found[0], Literal(bool(node.expression.this)))
            return And((Not(IsNull(found[0])), wanted))
        return _OPAQUE

    def _like(self, node: "exp.Expr") -> Predicate:
        found = self.resolve(node.this)
        literal = None if found is None else self._literal(node.expression, found[1])
        if found is None or literal is None or not isinstance(literal.value, str):
            return _OPAQUE
        prefix = re.split("[%_]", literal.value, maxsplit=1)[0]
        if prefix == literal.value:
            tree: Predicate = Compare("=", found[0], literal)
        elif prefix + "%" == literal.value:
            tree = StartsWith(found[0], prefix)
        else:
            tree = And((StartsWith(found[0], prefix), _OPAQUE))
        return Not(tree) if node.args.get("negate") else tree

    def _literals(self, nodes: "Sequence[exp.Expr]", data_type: DataType) -> list[Literal | None]:
        """Constants that DuckDB compares with a column, all in one type; None for each uncertain one.

        Beside a DOUBLE, integers and decimals are compared as DOUBLE too; beside a time with a zone, times
        without one take the connection's zone. An unknown constant may be either.
        """
        literals = [self._literal(each, data_type) for each in nodes]
        if not any(each is None or isinstance(each.value, float) for each in literals):
            return literals
        return [each if each is None or _is_same_beside(each.value, data_type) else None for each in literals]

    def _literal(self, node: "exp.Expr", data_type: DataType) -> Literal | None:
        """The constant as DuckDB compares it with a column of a type; None if that is uncertain."""
        value = self._constant(node)
        if value is _NOT_CONSTANT or not isinstance(data_type, PrimitiveType):
            return None
        if value is None:
            return Literal(None)
        name = "decimal" if data_type.decimal else data_type.type
        if isinstance(value, bool) or name == "boolean":
            return Literal(value) if isinstance(value, bool) and name == "boolean" else None
        if isinstance(value, int | float | Decimal):
            return Literal(value) if _is_exact_number(value, data_type) else None
        if name == "string":
            return Literal(value) if isinstance(value, str) and not self.has_collation else None
        if name == "date" and isinstance(value, str):
            return Literal(_date(value)) if _date(value) is not None else None
        if name in ("date", "timestamp_ntz"):
            time = _time(value)
            return None if time is None or time.tzinfo is not None else Literal(time)
        if name == "timestamp":
            time = _time(value)
            point = None if time is None else self._in_utc(time)
            return None if point is None else Literal(point)
        return None

    def _in_utc(self, time: datetime.datetime) -> datetime.datetime | None:
        if time.tzinfo is not None:
            return time.astimezone(datetime.UTC)
        if self.time_zone in _UTC_NAMES:
            return time.replace(tzinfo=datetime.UTC)
        if time.year not in _YEARS_OF_KNOWN_ZONES:
            return None
        try:
            zone = zoneinfo.ZoneInfo(self.time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            return None
        points = [time.replace(tzinfo=zone, fold=fold).astimezone(datetime.UTC) for fold in (0, 1)]
        return points[0] if points[0] == points[1] else None

    def _constant(self, node: "exp.Expr") -> Any:
        """The Python value of a constant, or `_NOT_CONSTANT`."""
        node = node.unnest()
        read = _CONSTANTS.get(node.key)
        return read(self, node) if read is not None and _is_plain(node) else _NOT_CONSTANT

    def _called(self, node: "exp.Expr") -> Any:
        """The value of ``getvariable('name')``, or what `_made` reads."""
        if node.name.upper() != "GETVARIABLE":
            return self._made(node)
        (name,) = node.expressions if len(node.expressions) == 1 else (node,)
        return self._parameter(name) if name.key == "literal" and name.is_string else _NOT_CONSTANT

    def _parameter(self, node: "exp.Expr") -> Any:
        value = self.parameters.get(str(node.name).lower(), _NOT_CONSTANT)
        known = (bool, int, float, Decimal, str, datetime.date, datetime.datetime, type(None))
        return value if type(value) in known else _NOT_CONSTANT

    def _negative(self, node: "exp.Expr") -> Any:
        value = self._constant(node.this)
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return negated(value) if is_number else _NOT_CONSTANT

    def _cast(self, node: "exp.Expr") -> Any:
        value, target = self._constant(node.this), node.args["to"]
        name = getattr(target.this, "name", "")
        if not _is_plain(target) or (target.expressions and name != "DECIMAL"):
            return _NOT_CONSTANT
        if isinstance(value, bool):
            return value if name == "BOOLEAN" else _NOT_CONSTANT
        if isinstance(value, int | Decimal):
            return _cast_number(value, name, target.expressions)
        if not isinstance(value, str):
            return _NOT_CONSTANT
        if name == "DATE":
            found: _Value = _date(value)
        elif name in ("TIMESTAMP", "TIMESTAMPTZ"):
            # TIMESTAMP '...Z' drops the offset; a text without one uses the zone of the connection.
            time = _time(value)
            found = time if time is not None and (time.tzinfo is None) == (name == "TIMESTAMP") else None
        else:
            return _NOT_CONSTANT
        return _NOT_CONSTANT if found is None else found

    def _made(self, node: "exp.Expr") -> Any:
        """The date or time of ``make_date``, ``make_timestamp`` or ``make_timestamptz`` of numbers."""
        parts = node.expressions if node.key == "anonymous" else node.args.values()
        values = [_NOT_CONSTANT if each is None else self._constant(each) for each in parts]
        if node.key == "anonymous":
            # Without a zone, it is a time in the zone of the connection.
            if node.name.upper() != "MAKE_TIMESTAMPTZ" or len(values) != 7 or values.pop() not in _UTC_NAMES:
                return _NOT_CONSTANT
        elif node.key == "datefromparts":
            values += [0, 0, 0]
        if len(values) != 6 or {*map(type, values[:5])} != {int} or type(values[5]) not in (int, Decimal):
            return _NOT_CONSTANT
        year, month, day, hour, minute, seconds = values
        try:
            micros, rest = divmod(seconds * 1_000_000, 1)
            time = datetime.datetime(year, month, day, hour, minute) + datetime.timedelta(0, 0, int(micros))
        except (ArithmeticError, ValueError):
            return _NOT_CONSTANT
        if rest:
            return _NOT_CONSTANT
        if node.key == "datefromparts":
            return time.date()
        return time.replace(tzinfo=datetime.UTC) if node.key == "anonymous" else time

    def _shifted(self, node: "exp.Expr") -> Any:
        """A date or time plus or minus an interval, which gives a time."""
        start, interval = self._constant(node.this), node.expression
        if interval.key != "interval" or not _is_plain(interval) or interval.args.get("unit") is None:
            return _NOT_CONSTANT
        amount = interval.this.name if interval.this.key == "literal" else ""
        time = _time(start) if isinstance(start, datetime.date) else None
        if time is None or time.tzinfo is not None or not re.fullmatch(r"\d{1,6}", amount, re.ASCII):
            return _NOT_CONSTANT
        count, unit = int(amount), interval.args["unit"].name.upper().removesuffix("S")
        count = -count if node.key == "sub" else count
        try:
            if unit in _SPANS:
                return time + datetime.timedelta(seconds=count * _SPANS[unit])
            return _plus_months(time, count * _MONTHS[unit]) if unit in _MONTHS else _NOT_CONSTANT
        except (OverflowError, ValueError):
            return _NOT_CONSTANT


def _comparison(op: CompareOp, found: Found, literal: Literal) -> Predicate:
    """The comparison with a column in whose order NaN is greater than every number."""
    column, data_type = found
    is_float = data_type in FLOATING
    return ordered(op, column, literal) if is_float else Compare(op, column, literal)


def _is_plain(node: "exp.Expr") -> bool:
    """Whether a node has only the parts that are read here: an overlooked flag would change the meaning."""
    return {name for name, part in node.args.items() if part} <= _PARTS.get(node.key, _USUAL_PARTS)


def _literal_value(node: "exp.Expr") -> Any:
    text = node.this
    if node.is_string:
        return text
    if re.fullmatch(r"\d{1,1000}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"\d*\.\d*", text, re.ASCII) and text != ".":
        return Decimal(text)
    return float(text) if re.fullmatch(r"[\d.]+[eE][+-]?\d+", text, re.ASCII) else _NOT_CONSTANT


def _cast_number(value: int | Decimal, name: str, sizes: "Sequence[exp.Expr]") -> Any:
    """The number in a type that holds it exactly, or `_NOT_CONSTANT`."""
    if isinstance(value, int) and name in _BITS:
        return value if -(1 << _BITS[name]) <= value < 1 << _BITS[name] else _NOT_CONSTANT
    digits = [size.name for size in sizes]
    if name != "DECIMAL" or len(digits) != 2 or not all(map(str.isdecimal, digits)):
        return _NOT_CONSTANT
    precision, scale = map(int, digits)
    number = Decimal(value)
    whole, places = _digits(number)
    return number if places <= scale and whole - places <= precision - scale else _NOT_CONSTANT


def _is_exact_number(value: float | Decimal, data_type: PrimitiveType) -> bool:
    """Whether DuckDB compares a column of the type with the exact number, rounding neither."""
    if isinstance(value, Decimal):
        digits, places = _digits(value)
        if digits > _MOST_DIGITS:
            return False
    elif isinstance(value, int):
        digits, places = _LONG_DIGITS, 0
        if value not in _LONG:
            return False
    elif data_type.decimal is not None or not abs(value) < _EXACT_AS_DOUBLE:
        return False
    else:
        digits, places = 0, 0
    if data_type.decimal is not None:
        precision, scale = data_type.decimal
        return max(precision - scale, digits - places) + max(scale, places) <= _MOST_PRECISION
    if data_type.type == "double":
        return abs(float(value)) < _EXACT_AS_DOUBLE
    if data_type.type == "float":
        single = ctypes.c_float(float(value)).value
        return abs(single) < _EXACT_AS_FLOAT and Decimal(single) == Decimal(value)
    return data_type.type in _INTEGERS


def _is_same_beside(value: LiteralValue, data_type: DataType) -> bool:
    """Whether comparing a column of the type with a constant does not depend on their common type."""
    if not isinstance(data_type, PrimitiveType) or data_type.type == "timestamp_ntz":
        return False
    if data_type.type not in _INTEGERS:
        return data_type.decimal is None
    return isinstance(value, int | float | Decimal) and -_EXACT_AS_FLOAT < value < _EXACT_AS_FLOAT


def _digits(value: Decimal) -> tuple[int, int]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return _MOST_PRECISION, 0
    return max(len(digits), -exponent) + max(exponent, 0), max(-exponent, 0)


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if _ISO_DATE.fullmatch(text) else None
    except ValueError:
        return None


def _time(value: _Value) -> datetime.datetime | None:
    """The time that a value is or spells; a date gives its midnight."""
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time())
    if not isinstance(value, str) or not _ISO_TIME.fullmatch(value):
        return None
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError:
        return None


def _plus_months(time: datetime.datetime, months: int) -> datetime.datetime:
    """The same day in another month, or that month's last day if it is shorter."""
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    return time.replace(
        year=year, month=month + 1, day=min(time.day, calendar.monthrange(year, month + 1)[1])
    )


_READERS: "dict[str, Callable[[Conditions, exp.Expr], Predicate]]" = {
    **dict.fromkeys(_COMPARISONS, Conditions._compared),
    "and": lambda self, node: And(tuple(map(self.read, node.flatten()))),
    "or": lambda self, node: Or(tuple(map(self.read, node.flatten()))),
    "not": lambda self, node: Not(self.read(node.this)),
    "paren": lambda self, node: self.read(node.this),
    "nullsafeeq": Conditions._same_or_both_null,
    "nullsafeneq": lambda self, node: Not(self._same_or_both_null(node)),
    "between": Conditions._between,
    "in": Conditions._in,
    "is": Conditions._is,
    "like": Conditions._like,
    "boolean": lambda _, node: Constant(bool(node.this)),
    "null": lambda *_: NULL,
}

_CONSTANTS: "dict[str, Callable[[Conditions, exp.Expr], Any]]" = {
    "literal": lambda _, node: _literal_value(node),
    "boolean": lambda _, node: bool(node.this),
    "null": lambda *_: None,
    "neg": Conditions._negative,
    "anonymous": Conditions._called,
    "cast": Conditions._cast,
    "datefromparts": Conditions._made,
    "timestampfromparts": Conditions._made,
    "add": Conditions._shifted,
    "sub": Conditions._shifted,
    "placeholder": Conditions._parameter,
}


def is_telling(predicate: Predicate) -> bool:
    """Whether a condition may skip a file: not all of it is `Opaque`."""
    match predicate:
        case Opaque():
            return False
        case Or(operands):
            return all(map(is_telling, operands))
        case And(operands):
            return any(map(is_telling, operands))
        case Not(operand):
            return not isinstance(operand, Opaque)
        case _:
            return True


def may_keep_nulls(predicate: Predicate) -> bool:
    """Whether a condition may be TRUE on a row of NULLs, as outer joins add them."""
    return True in _on_nulls(predicate)


def _on_nulls(node: Predicate) -> frozenset[bool | None]:
    """The possible values of a condition on such a row."""
    match node:
        case Constant(value):
            return frozenset([value])
        case IsNull(Column()):
            return frozenset([True])
        case Not(operand):
            return frozenset(None if value is None else not value for value in _on_nulls(operand))
        case And(operands) | Or(operands):
            absorbing = isinstance(node, Or)
            values: frozenset[bool | None] = frozenset([not absorbing])
            for operand in operands:
                values = frozenset(_joined(a, b, absorbing) for a in values for b in _on_nulls(operand))
            return values
        case Compare(_, _, Literal()) | IsIn() | StartsWith():
            return frozenset([None])
        case _:
            return frozenset([True, False, None])


def _joined(one: bool | None, other: bool | None, absorbing: bool) -> bool | None:
    if absorbing in (one, other):
        return absorbing
    return None if None in (one, other) else not absorbing
