"""``window(time, ...)`` and ``session_window(time, gap)``: the windows of time that rows belong to.

A call stands for a struct of a start and an end, which the relations in FROM get as a column called
``window`` or ``session_window``. Rows without a time are in no window.

==================  ==================================================================================
window              the rows
==================  ==================================================================================
tumbling            each row once, with a window that its time gives
sliding             each row once for every window that it is in
session, as a key   each row once, with the session of its group: windows from the time of a row to the
                    gap after it that touch are one
session, elsewhere  each row once, with the window from its time to the gap after it
==================  ==================================================================================

A window begins some multiple of its slide after 1970 in UTC, or in local time for times without a zone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, Field, StructType
from deltaarrow.spark_sql.binding.expression_binding import parse_interval
from deltaarrow.spark_sql.functions.datetime import window_time
from deltaarrow.spark_sql.functions.function import as_timestamp
from deltaarrow.spark_sql.functions.generator import Generated
from deltaarrow.spark_sql.functions.operators import is_null, negate
from deltaarrow.spark_sql.queries.blocks import Writer, normalized, substituted
from deltaarrow.spark_sql.queries.constants import constant_value
from deltaarrow.spark_sql.queries.context import Context, Source
from deltaarrow.spark_sql.queries.from_clause import FromClause
from deltaarrow.spark_sql.queries.grouping import GroupKeys, projected
from deltaarrow.spark_sql.queries.name_resolution import SourceColumn
from deltaarrow.spark_sql.queries.query_parsing import WINDOW_OF_TIME
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Node, call, mismatched, refused
from deltaarrow.spark_sql.types.type_rules import DATE, STRING, TIMESTAMPS, type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["TimeWindow", "with_time_windows"]

_TUMBLING, _SESSION = "window", "session_window"
_CLAUSES = ("expressions", "where", "group", "having", "qualify", "order", "windows")
_QUERIES = frozenset({"select", "union", "intersect", "except", "values"})
_EPOCH = "epoch_us({0})"


@dataclass(frozen=True)
class TimeWindow:
    """The one window of time of a SELECT.

    Args:
        name: ``window`` or ``session_window``.
        time: of a row.
        length: of a window in microseconds; the gap of a session.
        slide: the microseconds between the starts of two windows.
        start: of some window, in microseconds since 1970.
    """

    name: str
    time: Node
    length: int
    slide: int = 0
    start: int = 0

    @property
    def is_given(self) -> Node:
        """The condition that a row is in a window."""
        return negate(is_null(self.time))

    @property
    def type(self) -> StructType:
        """The type of the column."""
        return StructType([Field("start", self.time.type), Field("end", self.time.type)])

    @property
    def node(self) -> Node:
        """The window that begins last, or that of the row in a session."""
        begun = "t" if self.name == _SESSION else f"t - {self._since}"
        made = let(self._struct("b"), b=begun)
        return call(self.name, (self.time,), self.type, let(made, t=_EPOCH))

    @property
    def nodes(self) -> Node:
        """All windows of a row, as the rows of a generator."""
        outer = StructType([Field(self.name, self.type)])
        count = f"({self.length} - s + {self.slide - 1}) // {self.slide}"
        one = f"struct_pack({quote_identifier(self.name)} := {self._struct(f'(t - s - n * {self.slide})')})"
        listed = let(f"list_transform(range({count}), lambda n: {one})", t=_EPOCH, s=self._since)
        sql = f"CASE WHEN {{0}} IS NOT NULL THEN {listed} END"
        return call("windows", (self.time,), ArrayType(outer), sql)

    @property
    def _since(self) -> str:
        """The microseconds from the start of the last window to a time."""
        return f"(((t - ({self.start})) % {self.slide} + {self.slide}) % {self.slide})"

    def _struct(self, begun: str) -> str:
        end = f"make_timestamp({begun} + {self.length})"
        return f'struct_pack("start" := make_timestamp({begun}), "end" := {end})'

    def added(self, source: Source, clause: FromClause) -> Source:
        """The relations with the column of the window."""
        if self.slide < self.length and self.name == _TUMBLING:
            wide = StructType([Field(self.name, self.type)])
            made = clause.generated(source, Generated(self.nodes, wide, False), (WINDOW_OF_TIME,))
            return replace(made, columns=(*source.columns, replace(made.columns[-1], is_metadata=True)))
        field = Field(self.name, self.type)
        column = SourceColumn(self.name, self.node, field, (WINDOW_OF_TIME,), is_metadata=True)
        return replace(source, columns=(*source.columns, column))

    def is_session_of(self, keys: GroupKeys | None) -> bool:
        """Whether the groups are those of sessions."""
        is_key = self.name == _SESSION and keys is not None and self.node in keys.nodes
        if is_key and keys is not None and keys.sets is not None:
            raise refused("session_window in ROLLUP, CUBE or GROUPING SETS")
        return is_key

    def sessions(
        self, context: Context, writer: Writer, source: str, keys: GroupKeys, used: list[Node]
    ) -> tuple[Source, Callable[[Node], Node]]:
        """The rows with the session of each, and the rewriting of expressions to their columns.

        Args:
            context: gives names.
            writer: of the SELECT.
            source: the rows, from FROM on.
            keys: of the groups, the session among them.
            used: the expressions that are computed from the rows.
        """
        others = [each for each in keys.nodes if each != self.node]
        parts = [call(name, (self.node,), self.time.type, f"{{0}}['{name}']") for name in ("start", "end")]
        read = [substituted(each, {self.node: parts[0]}) for each in (*used, *others)]
        made, columns, rows = projected(context, writer, [*map(normalized, others), *parts], read, source)
        *places, start, end = (quote_identifier(each.path[-1]) for each in made)
        within = f"PARTITION BY {', '.join(places)} " if places else ""
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        is_new = f"{start} > max({end}) OVER ({within}ORDER BY {start} {before})"
        session = f"count(*) FILTER (is_new) OVER ({within}ORDER BY {start} ROWS UNBOUNDED PRECEDING)"
        by_session = ", ".join([*places, "session"])
        first = f"min({start}) OVER (PARTITION BY {by_session})"
        last = f"max({end}) OVER (PARTITION BY {by_session})"
        alias = context.alias()
        writer.own.add(alias)
        sql = (
            f'(SELECT *, struct_pack("start" := {first}, "end" := {last}) AS w'
            f" FROM (SELECT *, {session} AS session FROM (SELECT *, {is_new} AS is_new{rows})))"
            f" AS {quote_identifier(alias)}"
        )
        window = ColumnRef((alias, "w"), self.type)
        known: dict[Node, Node] = {
            each: ColumnRef((alias, *column.path[1:]), column.type)
            for each, column in columns.items()
            if isinstance(column, ColumnRef)
        }
        known[self.node] = window
        shown = [
            SourceColumn(each.path[-1], found, Field(each.path[-1], found.type))
            for each, found in known.items()
            if isinstance(each, ColumnRef) and isinstance(found, ColumnRef)
        ]
        return Source(sql, tuple(shown)), lambda node: substituted(node, known)


def with_time_windows(
    tree: "exp.Expr", bind: Callable[["exp.Expr"], Node], now_ms: int
) -> tuple["exp.Expr", TimeWindow | None]:
    """The SELECT with columns in place of its windows of time, and the window; None if it has none.

    `bind` binds an argument. Raises `UnsupportedFeatureError` for several different windows.
    """
    if next(_calls(tree), None) is None:
        return tree, None
    from sqlglot import exp

    tree = tree.copy()
    found: list[TimeWindow] = []
    for each in list(_calls(tree)):
        found.append(_window(each, bind, now_ms))
        name = exp.to_identifier(found[-1].name)
        each.replace(exp.Column(this=name, table=exp.to_identifier(WINDOW_OF_TIME, quoted=True)))
    if len(set(found)) > 1:
        raise UnsupportedFeatureError(
            "a SELECT has several different windows of time, which Spark does not combine: compute one of"
            " them in a subquery",
            feature="several windows of time",
        )
    return tree, found[0]


def _calls(tree: "exp.Expr") -> Iterator["exp.Expr"]:
    """The calls in the clauses of a SELECT, without those of its subqueries."""
    for clause in _CLAUSES:
        part = tree.args.get(clause)
        for each in part if isinstance(part, list) else [part] if part is not None else []:
            for node in each.walk(prune=lambda node: node.key in _QUERIES):
                if node.key == "anonymous" and str(node.this).lower() in (_TUMBLING, _SESSION):
                    yield node


def _window(tree: "exp.Expr", bind: Callable[["exp.Expr"], Node], now_ms: int) -> TimeWindow:
    name = str(tree.this).lower()
    most = 4 if name == _TUMBLING else 2
    if not 2 <= len(tree.expressions) <= most:
        raise SchemaMismatchError(
            f"[WRONG_NUM_ARGS.WITHOUT_SUGGESTION] {name} takes 2 to {most} arguments, and has"
            f" {len(tree.expressions)}"
        )
    time, *lengths = map(bind, tree.expressions)
    if isinstance(time.type, StructType):
        time = window_time(time)
    if time.type not in (DATE, STRING, *TIMESTAMPS):
        raise mismatched("UNEXPECTED_INPUT_TYPE", f"{name} of {type_name(time.type)}")
    time = as_timestamp(time)
    length, *more = (_microseconds(each, name, now_ms) for each in lengths)
    if name == _SESSION:
        if length <= 0:
            raise refused(f"a gap of {length} microseconds in session_window")
        return TimeWindow(name, time, length)
    slide = more[0] if more else length
    start = more[1] if len(more) > 1 else 0
    for what, each in (("length", length), ("slide", slide)):
        if each <= 0:
            raise mismatched("VALUE_OUT_OF_RANGE", f"window with a {what} of {each} microseconds")
    if slide > length:
        raise mismatched("PARAMETER_CONSTRAINT_VIOLATION", "window with a slide greater than its length")
    if abs(start) >= slide:
        raise mismatched("PARAMETER_CONSTRAINT_VIOLATION", "window with a start beyond its slide")
    return TimeWindow(name, time, length, slide, start)


def _microseconds(node: Node, name: str, now_ms: int) -> int:
    """The length that an argument means: a text such as ``1 hour``, or a number of microseconds."""
    value = constant_value(node, now_ms, f"the length of {name}")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise refused(f"{name} with a length of {type_name(node.type)}")
    text = value.strip()
    try:
        length = parse_interval(text if text.lower().startswith("interval") else f"INTERVAL {text}")
    except DeltaError as error:
        raise SchemaMismatchError(f"[CANNOT_PARSE_INTERVAL] {value!r} is no length of time") from error
    if length.months:
        raise refused(f"{name} with a length of months")
    return length.microseconds
