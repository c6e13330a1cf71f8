"""Window functions: functions of a row's position in its window.

`find_window_function` returns the record of a name, None for other names. A record is called with the name as
it was written, the bound operands and the `Rows` that the call is over, whose window is required, and returns
a node that is rendered like any other (see `deltaarrow.spark_sql.functions.aggregate`):

    find_window_function("lag")("lag", (operand,), Rows(window=Window(partition, order)))

Aggregates over a window are found by `find_aggregate`. As in Spark, these functions need an ``ORDER BY``, and
ranks are integers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.functions.argument_counts import Arity, ensure_count
from deltaarrow.spark_sql.functions.constructors import is_assignable
from deltaarrow.spark_sql.functions.function import literal_integer
from deltaarrow.spark_sql.rendering.rows import Frame, Rows, RowsCall
from deltaarrow.spark_sql.tree.nodes import Constant, Node, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import DOUBLE, INTEGER, sql_type, type_name

__all__ = ["WINDOW_FUNCTIONS", "WindowFunction", "find_window_function"]


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A window function.

    Args:
        names: in lower case; the first is the usual one.
        arguments: as documentation writes them.
        arity: least and greatest number of arguments.
        bind: returns the node of a call over `Rows` with these operands.
        frame: the only frame that may be written; None if every frame may.
        note: restrictions compared to Spark, if any.
    """

    names: tuple[str, ...]
    arguments: str
    arity: Arity
    bind: Callable[..., Node]
    frame: Frame | None = None
    note: str = ""

    def __call__(self, name: str, operands: tuple[Node, ...], rows: Rows) -> Node:
        """Return the node of a call by that name."""
        ensure_count(name, len(operands), self.arity)
        if rows.window is None or rows.distinct or rows.where is not None or rows.order:
            raise refused(f"{name} without OVER, or with DISTINCT, FILTER or WITHIN GROUP,")
        if not rows.window.order:
            raise SchemaMismatchError(
                f"[WINDOW_FUNCTION_FRAME_NOT_ORDERED] {name} over a window without ORDER BY"
            )
        if self.frame is not None and rows.window.frame not in (None, self.frame):
            raise refused(f"{name} over a window with a frame")
        if rows.ignores_nulls and self.names[0] not in ("lag", "lead", "nth_value"):
            raise refused(f"{name} with IGNORE NULLS")
        return self.bind(rows, *operands)


_SO_FAR = Frame("ROWS", None, 0)
_ALL = Frame("RANGE", None, 0)


def _rank(name: str) -> Callable[..., Node]:
    def bind(rows: Rows) -> Node:
        made = RowsCall(rows, ())
        return made.node(name, INTEGER, f"CAST({made.sql(name, '')} AS INTEGER)")

    return bind


def _share(name: str) -> Callable[..., Node]:
    def bind(rows: Rows) -> Node:
        made = RowsCall(rows, ())
        return made.node(name, DOUBLE, made.sql(name, ""))

    return bind


def _ntile(rows: Rows, count: Node | None = None) -> Node:
    buckets = 1 if count is None else literal_integer(count, "the number of buckets of ntile")
    if not 0 < buckets < 2**31:
        raise refused(f"ntile of {buckets} buckets")
    made = RowsCall(rows, ())
    return made.node("ntile", INTEGER, f"CAST({made.sql('ntile', str(buckets))} AS INTEGER)")


def _offset(name: str) -> Callable[..., Node]:
    """``lag`` and ``lead``: the value some rows away, or the default beyond the window."""

    def bind(rows: Rows, operand: Node, count: Node | None = None, default: Node | None = None) -> Node:
        distance = 1 if count is None else literal_integer(count, f"the offset of {name}")
        beyond = Constant(None, operand.type) if default is None else default
        if not is_assignable(beyond.type, operand.type):
            raise refused(f"{name} of {type_name(operand.type)} with a {type_name(beyond.type)} as default")
        made = RowsCall(rows, (operand, cast(beyond, operand.type)))
        ignored = " IGNORE NULLS" if rows.ignores_nulls else ""
        value = f"CAST({{0}} AS {sql_type(operand.type).replace('{', '{{').replace('}', '}}')})"
        sql = made.sql(name, f"{value}, {distance}, {{1}}{ignored}")
        return made.node(name, operand.type, sql)

    return bind


def _nth(rows: Rows, operand: Node, place: Node) -> Node:
    number = literal_integer(place, "the place of nth_value")
    if number < 1:
        raise refused(f"nth_value at {number}")
    made = RowsCall(rows, (operand,))
    ignored = " IGNORE NULLS" if rows.ignores_nulls else ""
    return made.node("nth_value", operand.type, made.sql("nth_value", f"{{0}}, {number}{ignored}"))


WINDOW_FUNCTIONS = (
    WindowFunction(("row_number",), "", (0, 0), _rank("row_number"), _SO_FAR),
    WindowFunction(("rank",), "", (0, 0), _rank("rank"), _SO_FAR),
    WindowFunction(("dense_rank",), "", (0, 0), _rank("dense_rank"), _SO_FAR),
    WindowFunction(("percent_rank",), "", (0, 0), _share("percent_rank"), _SO_FAR),
    WindowFunction(("cume_dist",), "", (0, 0), _share("cume_dist"), _ALL),
    WindowFunction(("ntile",), "[buckets]", (0, 1), _ntile, _SO_FAR, "buckets must be a literal"),
    WindowFunction(
        ("lag",), "value[, offset[, default]]", (1, 3), _offset("lag"), _SO_FAR, "offset must be a literal"
    ),
    WindowFunction(
        ("lead",), "value[, offset[, default]]", (1, 3), _offset("lead"), _SO_FAR, "offset must be a literal"
    ),
    WindowFunction(("nth_value",), "value, offset", (2, 2), _nth, None, "offset must be a literal"),
)
"""All functions that need a window."""

_BY_NAME = {name: each for each in WINDOW_FUNCTIONS for name in each.names}


def find_window_function(name: str) -> WindowFunction | None:
    """The window function of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
