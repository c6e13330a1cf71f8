"""Frames of windows, ``ROWS`` and ``RANGE``, and the keys that a RANGE measures.

A RANGE of values has one key. DuckDB gets a key whose values are as far apart as the bounds say:

==================  ==========================  ======================================================
key                 bounds                      what DuckDB orders by
==================  ==========================  ======================================================
integer, double     numbers                     the key
date                whole numbers, days, weeks  the days since 1970
timestamp           days to seconds             the microseconds since 1970
date, timestamp     years and months            the time without a zone, which is moved by months
==================  ==========================  ======================================================

A timestamp is moved in the session time zone. Outside UTC a day, and so a month, has not always the same
length. There each row has bounds of its own: the microseconds from its key to the key moved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import DataType
from deltaarrow.spark_sql.binding.tree_reading import interval_of, interval_units_of
from deltaarrow.spark_sql.functions.aggregate import Frame, Order
from deltaarrow.spark_sql.functions.interval_literals import Interval, moved
from deltaarrow.spark_sql.queries.constants import constant_value
from deltaarrow.spark_sql.tree.nodes import Node, call, refused
from deltaarrow.spark_sql.types.time_zones import session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    DOUBLE,
    INTEGER,
    INTEGRAL,
    LONG,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    is_numeric,
    type_name,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["CAST_BOUNDS", "framed"]

CAST_BOUNDS = "cast bounds"
"""Whether Spark casts the bounds to the type of the window's key, among the metadata of a frame's node."""

_PARTS = frozenset({"kind", "start", "start_side", "end", "end_side"})
_MONTHS = frozenset({"YEAR", "MONTH"})
_MICROSECONDS_OF_DAY = 86_400_000_000
_BITS = dict(zip(INTEGRAL, (7, 15, 31, 63), strict=True))


@dataclass(frozen=True, slots=True)
class _Bound:
    """A bound that is some distance after the current row.

    Args:
        distance: a number; months or microseconds if it was written as an interval.
        kind: the type of the number, or the first and the last unit of the interval.
    """

    distance: int | float
    kind: DataType | tuple[str, str]


def framed(
    spec: "exp.Expr", order: Sequence[Order], bind: Callable[["exp.Expr"], Node]
) -> tuple[tuple[Order, ...], Frame]:
    """The keys of a window and its frame, as DuckDB is to have them.

    Raises `SchemaMismatchError` with Spark's class, and `UnsupportedFeatureError`.
    """
    if not {name for name, part in spec.args.items() if part} <= _PARTS:
        raise refused("a window frame with EXCLUDE")
    unit, keys = str(spec.args["kind"]).upper(), tuple(order)
    start = _bound(spec.args.get("start"), spec.args.get("start_side"), bind)
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), bind)
    bounds = [each for each in (start, end) if isinstance(each, _Bound)]
    if len({each.kind for each in bounds}) > 1:
        raise _mismatch("SPECIFIED_WINDOW_FRAME_DIFF_TYPES", "the bounds of a window frame have two types")
    first, last = (each.distance if isinstance(each, _Bound) else each for each in (start, end))
    if first is not None and last is not None and first > last:
        raise _mismatch("SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", "a window frame ends before it begins")
    frame = Frame(unit, first, last)
    if not bounds:
        return keys, frame
    if unit == "ROWS":
        if bounds[0].kind != INTEGER:
            raise _mismatch("SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", "a bound of ROWS is no integer")
        return keys, frame
    if len(keys) != 1:
        raise _mismatch("RANGE_FRAME_MULTI_ORDER", "a RANGE of values is over several keys of ORDER BY")
    kind, key = bounds[0].kind, keys[0].node
    if isinstance(kind, tuple):
        node, frame = _by_interval(keys[0], kind, frame)
    else:
        node, frame = _by_number(key, kind, frame)
    spec.meta[CAST_BOUNDS] = is_numeric(key.type) and kind != key.type
    return (replace(keys[0], node=node),), frame


def _bound(bound: Any, side: object, bind: Callable[["exp.Expr"], Node]) -> "_Bound | int | None":
    """A bound; 0 for the current row, None for an unbounded frame."""
    if bound == "UNBOUNDED":
        return None
    if bound == "CURRENT ROW":
        return 0
    sign = -1 if str(side).upper() == "PRECEDING" else 1
    length = interval_of(bound)
    if length is not None:
        return _Bound(sign * (length.months or length.microseconds), interval_units_of(bound))
    if any(each.key in ("anonymous", "column", "placeholder") for each in bound.walk()):
        raise refused("a bound of a window frame that is not a number or an interval")
    node = bind(bound)
    value = constant_value(node, 0, "a bound of a window frame")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused(f"{type_name(node.type)} as a bound of a window frame")
    return _Bound(sign * value, node.type)


def _by_number(key: Node, kind: DataType, frame: Frame) -> tuple[Node, Frame]:
    if key.type == DATE and kind == INTEGER:
        return _days(key), frame
    if key.type in INTEGRAL and kind in INTEGRAL:
        limit = 1 << _BITS[key.type]
        if any(abs(each or 0) >= limit for each in (frame.start, frame.end)):
            raise SchemaMismatchError(f"[CAST_OVERFLOW] a bound of RANGE is beyond {type_name(key.type)}")
        return key, frame
    if key.type == DOUBLE:
        return key, replace(frame, distance="CAST('{}' AS DOUBLE)")
    if is_numeric(key.type):
        raise refused(f"a RANGE of {type_name(kind)} over {type_name(key.type)}")
    raise _invalid(key)


def _by_interval(order: Order, units: tuple[str, str], frame: Frame) -> tuple[Node, Frame]:
    key = order.node
    if key.type not in (DATE, *TIMESTAMPS):
        raise _invalid(key)
    if key.type == TIMESTAMP and not session_time_zone().is_utc:
        return _microseconds(key), replace(frame, lengths=_lengths(order, units, frame))
    if _MONTHS.intersection(units):
        time = call("time", (key,), TIMESTAMP_NTZ, "CAST({0} AS TIMESTAMP)")
        return time, replace(frame, distance="INTERVAL ({}) MONTH")
    if key.type != DATE:
        return _microseconds(key), frame
    if units != ("DAY", "DAY"):
        raise _invalid(key)
    start, end = (each and int(each) // _MICROSECONDS_OF_DAY for each in (frame.start, frame.end))
    return _days(key), replace(frame, start=start, end=end)


def _lengths(order: Order, units: tuple[str, str], frame: Frame) -> tuple[Node, ...]:
    """The microseconds from each row's key to the key moved to the start and to the end of its frame."""
    moves = [int(each or 0) * (-1 if order.descending else 1) for each in (frame.start, frame.end)]
    intervals = [
        Interval(months=each) if _MONTHS.intersection(units) else Interval(0, each) for each in moves
    ]
    sql = "coalesce(abs(epoch_us({1}) - epoch_us({0})), 0)"
    return tuple(call("length", (order.node, moved(order.node, each)), LONG, sql) for each in intervals)


def _microseconds(key: Node) -> Node:
    return call("microseconds", (key,), LONG, "epoch_us({0})")


def _days(key: Node) -> Node:
    return call("days", (key,), LONG, "({0} - DATE '1970-01-01')")


def _invalid(key: Node) -> SchemaMismatchError:
    return _mismatch("RANGE_FRAME_INVALID_TYPE", f"the bounds of a RANGE do not fit {type_name(key.type)}")


def _mismatch(name: str, why: str) -> SchemaMismatchError:
    return SchemaMismatchError(f"[DATATYPE_MISMATCH.{name}] {why}")
