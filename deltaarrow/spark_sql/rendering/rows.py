"""The rows of aggregate and window functions, and the nodes of calls over rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from deltaarrow.schema import DataType, MapType, PrimitiveType, types_within
from deltaarrow.spark_sql.tree.nodes import Call, Node, call, mismatched, refused
from deltaarrow.spark_sql.types.nested_order import in_order
from deltaarrow.spark_sql.types.type_rules import VARIANT, type_name

__all__ = [
    "Frame",
    "Order",
    "Rows",
    "RowsCall",
    "Window",
    "ensure_ordered",
    "is_aggregate",
    "is_query",
    "is_window",
    "parts_of",
]

_AGGREGATE, _WINDOW, _QUERY = "aggregate ", "window ", "query "


@dataclass(frozen=True, slots=True)
class Order:
    """One key of an ``ORDER BY``; `nulls_first` None means Spark's place: first, or last if descending."""

    node: Node
    descending: bool = False
    nulls_first: bool | None = None

    def sql(self, place: int) -> str:
        """The key in DuckDB's SQL; `place` is that of its node among the operands."""
        first = not self.descending if self.nulls_first is None else self.nulls_first
        direction = "DESC" if self.descending else "ASC"
        return f"{{{place}}} {direction} NULLS {'FIRST' if first else 'LAST'}"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a window around the current one, from `start` to `end`.

    Args:
        unit: ``ROWS`` or ``RANGE``.
        start: rows or units after the current row, negative before it, None for unbounded.
        end: as `start`.
        distance: the SQL of a number of units, with ``{}`` for the number.
        lengths: how far `start` and `end` are from the current row, where rows differ in that.
    """

    unit: str
    start: int | float | None
    end: int | float | None
    distance: str = "{}"
    lengths: tuple[Node, ...] = ()

    def sql(self, lengths: Sequence[str] = ()) -> str:
        """The frame in DuckDB's SQL, with the SQL of its lengths."""
        first, last = lengths or (None, None)
        start = "UNBOUNDED PRECEDING" if self.start is None else self._bound(self.start, first)
        end = "UNBOUNDED FOLLOWING" if self.end is None else self._bound(self.end, last)
        return f"{self.unit} BETWEEN {start} AND {end}"

    def _bound(self, count: float, length: str | None) -> str:
        if count == 0:
            return "CURRENT ROW"
        return f"{length or self.distance.format(abs(count))} {'PRECEDING' if count < 0 else 'FOLLOWING'}"


@dataclass(frozen=True, slots=True)
class Window:
    """``OVER (PARTITION BY ... ORDER BY ... frame)``; without a frame, Spark's (which is DuckDB's)."""

    partition: tuple[Node, ...] = ()
    order: tuple[Order, ...] = ()
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a call is over.

    Args:
        distinct: ``DISTINCT`` before the arguments.
        where: the condition of ``FILTER (WHERE ...)``.
        window: of ``OVER (...)``; None for a group.
        order: of ``WITHIN GROUP (ORDER BY ...)``.
        ignores_nulls: ``IGNORE NULLS`` after the call.
    """

    distinct: bool = False
    where: Node | None = None
    window: Window | None = None
    order: tuple[Order, ...] = ()
    ignores_nulls: bool = False


class RowsCall:
    """Builds the node of one call over rows: its DuckDB calls all get the same FILTER and OVER."""

    def __init__(self, rows: Rows, operands: tuple[Node, ...]) -> None:
        self.rows = rows
        self._operands = list(operands)
        self._where = "" if rows.where is None else self.place(rows.where)
        if rows.where is not None:
            # DuckDB computes the operands of all rows before it filters.
            self._operands[: len(operands)] = [_where(rows.where, each) for each in operands]
        self._over = "" if rows.window is None else f" OVER ({self._window(rows.window)})"

    def place(self, node: Node) -> str:
        """The place of a further operand in the format string."""
        self._operands.append(node)
        return f"{{{len(self._operands) - 1}}}"

    def sql(self, function: str, arguments: str = "{0}", where: str = "") -> str:
        """A call of a DuckDB aggregate; `where` is a condition of its own beside FILTER."""
        conditions = " AND ".join(each for each in (self._where, where) if each)
        kept = f" FILTER (WHERE {conditions})" if conditions else ""
        return f"{function}({'DISTINCT ' if self.rows.distinct else ''}{arguments}){kept}{self._over}"

    def order(self, keys: tuple[Order, ...]) -> str:
        """The ``ORDER BY`` of these keys, empty without any."""
        listed = []
        for each in keys:
            self._operands.append(in_order(each.node, "ORDER BY"))
            listed.append(each.sql(len(self._operands) - 1))
        return f" ORDER BY {', '.join(listed)}" if listed else ""

    def node(self, name: str, data_type: DataType, sql: str, *, fails: bool = False) -> Node:
        """The node of the call."""
        kind = _AGGREGATE if self.rows.window is None else _WINDOW
        return call(kind + name, tuple(self._operands), data_type, sql, fails=fails)

    def _window(self, window: Window) -> str:
        parts = f"PARTITION BY {', '.join(map(self.place, window.partition))}" if window.partition else ""
        parts += self.order(window.order)
        if window.frame is not None:
            parts += f" {window.frame.sql([self.place(each) for each in window.frame.lengths])}"
        return parts.strip()


def is_aggregate(node: Node) -> bool:
    """Whether a node is the call of an aggregate over a group."""
    return isinstance(node, Call) and node.name.startswith(_AGGREGATE)


def is_window(node: Node) -> bool:
    """Whether a node is the call of a function over a window."""
    return isinstance(node, Call) and node.name.startswith(_WINDOW)


def is_query(node: Node) -> bool:
    """Whether a node is a subquery."""
    return isinstance(node, Call) and node.name.startswith(_QUERY)


def parts_of(node: Node) -> list[Node]:
    """The node and the nodes below it, without those below window functions."""
    found = [node]
    if isinstance(node, Call) and not is_window(node):
        for each in node.operands:
            found += parts_of(each)
    return found


def _where(condition: Node, operand: Node) -> Node:
    if not operand.can_fail:
        return operand
    return call("if", (condition, operand), operand.type, "CASE WHEN {0} THEN {1} END")


def ensure_ordered(data_type: DataType, name: str) -> None:
    """Refuse types whose values DuckDB orders otherwise."""
    if any(isinstance(each, MapType) for each in types_within(data_type)):
        raise mismatched("INVALID_ORDERING_TYPE", f"{name} of {type_name(data_type)}")
    if not isinstance(data_type, PrimitiveType) or data_type == VARIANT:
        raise refused(f"{name} of {type_name(data_type)}")
