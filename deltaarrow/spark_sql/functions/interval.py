"""Computed intervals (``make_interval`` and similar), and timestamps shifted by them.

One that may have months stands in a sum with a date or a timestamp alone.
"""

from dataclasses import dataclass

from deltaarrow.spark_sql.functions.function import Function, as_date, as_integer, as_timestamp
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import implicitly
from deltaarrow.spark_sql.types.time_zones import zone_of
from deltaarrow.spark_sql.types.type_rules import DATE, INTEGER, LONG, TIMESTAMP, TIMESTAMPS, decimal_type

__all__ = ["FUNCTIONS", "MAKING_INTERVALS", "MadeInterval", "made_interval"]

_DAY = 86_400_000_000
_MOST_DAYS = 366 * 10_000
_MOST_MONTHS = 12 * 10_000
_OUTSIDE = "error('unsupported: a time outside the years 1 to 9999')"
_NO_TIME_OF_DAY = raising(
    "INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION",
    "a date is moved by less than a day: cast it to a timestamp",
)
MAKING_INTERVALS = {
    "make_ym_interval": ("years", "months"),
    "make_dt_interval": ("days", "hours", "minutes", "seconds"),
    "make_interval": ("years", "months", "weeks", "days", "hours", "minutes", "seconds"),
}
"""What the arguments of each function count, by its name; all of them may be left out."""


@dataclass(frozen=True)
class MadeInterval:
    """An interval of months, days and microseconds, each None if the type of the interval has none."""

    months: Node | None
    days: Node | None
    microseconds: Node | None

    def moved(self, operand: Node, sign: str) -> Node:
        """A date or a time that much later, or earlier for ``-``."""
        if operand.type not in (DATE, *TIMESTAMPS):
            raise refused("an interval added to something other than a date or a timestamp")
        if operand.type == DATE and (self.microseconds is None or self.days is not None):
            return self._moved_date(as_date(operand), sign)
        time = cast(operand, TIMESTAMP) if operand.type == DATE else as_timestamp(operand)
        zone = zone_of(time.type)
        if self.months is not None:
            months = f"CAST({sign}({{1}}) AS INTEGER)"
            time = _step(time, self.months, _MOST_MONTHS, zone.months_later("{0}", months))
        if self.days is not None:
            days = f"CAST({sign}({{1}}) AS BIGINT) * {_DAY}"
            time = _step(time, self.days, _MOST_DAYS, zone.microseconds_later("{0}", days))
        if self.microseconds is not None:
            later = zone.microseconds_later("{0}", f"CAST({sign}({{1}}) AS BIGINT)")
            time = _step(time, self.microseconds, _MOST_DAYS * _DAY, later)
        return time

    def _moved_date(self, date: Node, sign: str) -> Node:
        if self.months is not None:
            later = f"CAST({{0}} + to_months(CAST({sign}({{1}}) AS INTEGER)) AS DATE)"
            date = _step(date, self.months, _MOST_MONTHS, later)
        if self.days is not None:
            date = _step(date, self.days, _MOST_DAYS, f"({{0}} + CAST({sign}({{1}}) AS INTEGER))")
        if self.microseconds is not None:
            whole = f"CASE WHEN {{1}} <> 0 THEN {_NO_TIME_OF_DAY} ELSE {{0}} END"
            date = call("interval", (date, self.microseconds), DATE, given(whole, 2), fails=True)
        return date


def _step(time: Node, count: Node, most: int, later: str) -> Node:
    within = let(f"CASE WHEN year(later) BETWEEN 1 AND 9999 THEN later ELSE {_OUTSIDE} END", later=later)
    sql = f"CASE WHEN {{1}} NOT BETWEEN -{most} AND {most} THEN {_OUTSIDE} ELSE {within} END"
    return call("interval", (time, count), time.type, given(sql, 2), fails=True)


def made_interval(name: str, operands: tuple[Node, ...]) -> MadeInterval:
    """The interval that a call of one of `MAKING_INTERVALS` makes."""
    names = MAKING_INTERVALS[name.lower()]
    if len(operands) > len(names):
        raise refused(f"{name} with {len(operands)} arguments")
    parts = dict(zip(names, operands, strict=False))
    months = _sum(parts, {"years": 12, "months": 1})
    if len(names) == 2:
        return MadeInterval(months, None, None)
    clock = {"hours": 3_600_000_000, "minutes": 60_000_000, "seconds": 1_000_000}
    if len(names) == 4:
        return MadeInterval(None, None, _sum(parts, {"days": _DAY, **clock}))
    return MadeInterval(months, _sum(parts, {"weeks": 7, "days": 1}), _sum(parts, clock))


def _sum(parts: dict[str, Node], units: dict[str, int]) -> Node:
    """The sum of the given parts, each times its unit, as a number that nothing exceeds."""
    found = [(_count(name, parts[name]), unit) for name, unit in units.items() if name in parts]
    if not found:
        return Constant(0, INTEGER)
    terms = (f"CAST({{{place}}} * {unit} AS HUGEINT)" for place, (_, unit) in enumerate(found))
    return call("interval", tuple(node for node, _ in found), LONG, f"({' + '.join(terms)})")


def _count(name: str, operand: Node) -> Node:
    if name == "seconds":
        return implicitly(operand, decimal_type(18, 6))
    return call("interval", (as_integer(operand),), LONG, "CAST({0} AS HUGEINT)")


def _misplaced(name: str) -> Function:
    def bind(*_: Node) -> Node:
        raise refused(f"{name} outside of a sum with a date or a timestamp")

    names = MAKING_INTERVALS[name]
    return Function(
        (name,),
        f"[{', '.join(names)}]",
        (0, len(names)),
        bind,
        "only as an operand of date and timestamp arithmetic",
    )


FUNCTIONS = tuple(_misplaced(name) for name in MAKING_INTERVALS if name != "make_dt_interval")
"""The functions, in other places than in a sum."""
