"""Parts of a compiled query, and the SQL of typed nodes inside one SELECT.

Columns keep DuckDB's own types from one SELECT to the next: a timestamp is a TIMESTAMPTZ. A node computes
with the forms of `deltaarrow.spark_sql.rendering.native_sql`, so its columns are converted where they are
read, and its value where it leaves. A column alone, and a comparison of columns and literals, need no
conversion. They are written as plainly as a user would write them, because DuckDB's optimizer and the choice
of files read such conditions.

The SQL of a query is a format string. Its places are the columns of outer queries that it reads.
"""

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import DeltaError
from deltaarrow.schema import DataType, Field, IntervalType, PrimitiveType
from deltaarrow.spark_sql.queries.constants import constant_value
from deltaarrow.spark_sql.queries.membership import CERTAIN, filtering
from deltaarrow.spark_sql.rendering.duckdb_sql import rendered
from deltaarrow.spark_sql.rendering.native_sql import given_with_variants_sql, taken_sql
from deltaarrow.spark_sql.rendering.rows import is_aggregate, is_query, is_window
from deltaarrow.spark_sql.tree.nodes import (
    Call,
    ColumnRef,
    Constant,
    Node,
    Path,
    call,
    escaped,
    is_volatile,
    valued,
    walk,
)
from deltaarrow.spark_sql.tree.row_errors import OWN_ERRORS
from deltaarrow.spark_sql.types.nested import leaf_types, rebuilt
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    VOID,
    decimal_of,
    sql_type,
)

__all__ = ["AS_IS", "OutputColumn", "Query", "Writer", "as_is", "normalized", "substituted"]

AS_IS = ""
"""Begins the path of a column that is read in DuckDB's own type."""

_PLAIN_DIGITS = 15
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM"})
_SAME_FORM = frozenset(
    (
        *("and", "or", "not", "in", "is null", "is true", "is false", CERTAIN),
        *("aggregate count", "aggregate min", "aggregate max"),
    )
)
"""Calls that give the same for operands of DuckDB's own types and for those of expressions."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a query.

    Args:
        name: Spark's name.
        key: the unique name in the SQL.
        field: the type, with metadata.
        qualifier: that of the column of a relation that it just is; an ORDER BY of the query may write it.
        is_metadata: whether it is the ``_metadata`` of the query's relation, which no star includes.
    """

    name: str
    key: str
    field: Field
    qualifier: tuple[str, ...] = ()
    is_metadata: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled SELECT: a format string over the columns of outer queries that it reads."""

    sql: str
    columns: tuple[OutputColumn, ...]
    outer: tuple[ColumnRef, ...] = ()


class Writer:
    """Writes nodes as SQL inside one SELECT, and notes which columns of outer queries it reads."""

    def __init__(self, now_ms: int, placed: set[tuple[str, int]]) -> None:
        self.own: set[str] = set()
        """The aliases of the relations in FROM, of this SELECT and of those that it is made of."""
        self._now_ms = now_ms
        self._placed = placed
        self._now = f"make_timestamp({now_ms * 1000})"
        self._outer: dict[Path, int] = {}
        self._references: list[ColumnRef] = []

    def column(self, reference: ColumnRef) -> str:
        """The SQL of a column in DuckDB's own type."""
        path = reference.path[1:] if reference.path[0] == AS_IS else reference.path
        if path[0] in self.own:
            return ".".join(map(quote_identifier, path))
        if path not in self._outer:
            self._outer[path] = len(self._references)
            self._references.append(as_is(ColumnRef(path, reference.type)))
        return f"\0{self._outer[path]}\0"

    def inlined(self, query: Query) -> str:
        """The SQL of a query inside this SELECT."""
        return query.sql.format(*map(self.column, query.outer))

    def query(self, sql: str, columns: Iterable[OutputColumn]) -> Query:
        """The finished SELECT."""
        pieces = sql.split("\0")
        text = "".join(f"{{{piece}}}" if place % 2 else escaped(piece) for place, piece in enumerate(pieces))
        return Query(text, tuple(columns), tuple(self._references))

    def native(self, node: Node) -> str:
        """The SQL of a node's value in DuckDB's own type."""
        if isinstance(node, ColumnRef):
            return self.column(node)
        if isinstance(node, Call):
            if node.name in _COMPARISONS and (compared := self._compared(node)) is not None:
                return compared
            if node.name in ("like", "startswith") and (matched := self._prefixed(node)) is not None:
                return matched
            if node.name == "in" and (listed := self._listed(node)) is not None:
                return listed
            if node.name in _SAME_FORM and not node.can_fail:
                return f"({node.sql.format(*map(self.native, node.operands), now=self._now)})"
        elif node.type == TIMESTAMP and node.value is not None:
            return f"CAST('{node.value}+00:00' AS TIMESTAMPTZ)"
        sql = self.computed(node)
        if node.type != BOOLEAN and (node.type == VOID or not isinstance(node, Constant)):
            sql = f"CAST({sql} AS {sql_type(node.type)})"
        return taken_sql(sql, node.type)

    def condition(self, node: Node) -> str:
        """The SQL of a condition of WHERE, ON, HAVING or QUALIFY, in which NULL is as good as FALSE.

        A part that may fail keeps its place after the parts before it, as a CASE. The parts that cannot
        fail are written before it once more, where the choice of files finds them.
        """
        node = filtering(node)
        sql = self.native(node)
        if not node.can_fail:
            return sql
        certain = (each for each in _parts(node) if not each.can_fail)
        plain = [self.native(each) for each in certain if not any(map(is_query, walk(each)))]
        return " AND ".join([*plain, sql])

    def computed(self, node: Node) -> str:
        """The SQL of a node's value in the form of expressions."""
        columns: dict[Path, str] = {}
        for each in walk(node):
            if isinstance(each, ColumnRef):
                columns[each.path] = self.column(each)
            elif isinstance(each, Call) and each.place is not None and each.name in OWN_ERRORS:
                self._placed.add((each.name, each.place))
        for each in valued(node):
            if each.path[0] != AS_IS:
                columns[each.path] = given_with_variants_sql(self.column(each), each.type)
        return rendered(node, columns, self._now)

    def _compared(self, node: Call) -> str | None:
        """A comparison of columns and literals of one type."""
        left, right = map(_unwidened, node.operands)
        if isinstance(left, ColumnRef):
            right = self._known(right)
        elif isinstance(right, ColumnRef):
            left = self._known(left)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return None
        sides = [self._simple(each) for each in (left, right)]
        is_same = left.type == right.type or {left.type, right.type} <= {*INTEGRAL}
        if None in sides or not is_same:
            return None
        return f"({sides[0]} {node.name} {sides[1]})"

    def _known(self, node: Node) -> Node:
        """The value of an expression without columns, so that it is plain what a column is compared with."""
        if not isinstance(node, Call) or not isinstance(node.type, PrimitiveType):
            return node
        if isinstance(node.type, IntervalType):
            return node
        if any(isinstance(each, ColumnRef) or _reads_rows(each) for each in walk(node)):
            return node
        try:
            value = constant_value(node, self._now_ms, "a comparison")
        except DeltaError:
            return node  # It raises on the rows that reach it.
        if isinstance(value, str) and "\0" in value:
            return node  # No literal holds this character.
        if isinstance(value, datetime.datetime):
            value = value.replace(tzinfo=None)
        return Constant(value, node.type, folded=True)

    def _prefixed(self, node: Call) -> str | None:
        """``LIKE`` without escapes, and a prefix as ``LIKE``."""
        operand, pattern = node.operands
        if not isinstance(operand, ColumnRef) or not isinstance(pattern, Constant):
            return None
        text, is_prefix = pattern.value, node.name == "startswith"
        if not isinstance(text, str) or "\\" in text or (is_prefix and re.search("[%_]", text)):
            return None
        return f"({self.column(operand)} LIKE {quote_literal(f'{text}%' if is_prefix else text)})"

    def _listed(self, node: Call) -> str | None:
        operand, *members = node.operands
        operand = _unwidened(operand)
        sides = [self._simple(each) for each in members]
        if not isinstance(operand, ColumnRef) or None in sides:
            return None
        if not all(isinstance(each, Constant) for each in members):
            return None
        return f"({self.column(operand)} IN ({', '.join(map(str, sides))}))"

    def _simple(self, node: Node) -> str | None:
        if isinstance(node, ColumnRef):
            return self.column(node)
        if not isinstance(node, Constant):
            return None
        value = node.value
        if isinstance(value, int) and node.type in INTEGRAL and not isinstance(value, bool):
            return str(value)
        if isinstance(value, Decimal) and len(value.as_tuple().digits) <= _PLAIN_DIGITS:
            text = f"{value:f}"
            if "." in text:
                return text
            if decimal_of(node.type) != (MAX_PRECISION, 0):
                # Beside a place, 38 digits before the point do not fit.
                return f"{text}.0"
        if isinstance(value, str) and node.type == STRING:
            return quote_literal(value)
        if isinstance(value, float) and node.type == DOUBLE and value - value == 0:
            text = repr(value)
            return text if "e" in text else f"{text}e0"
        return self.native(node)


def as_is(column: ColumnRef) -> ColumnRef:
    """The column, read in DuckDB's own type."""
    return column if column.path[0] == AS_IS else ColumnRef((AS_IS, *column.path), column.type)


def normalized(node: Node) -> Node:
    """The value by which Spark groups: the zeros of floating numbers are one."""
    if not any(each in (FLOAT, DOUBLE) for each in leaf_types(node.type)):
        return node
    return rebuilt(node, _with_one_zero)


def substituted(node: Node, known: "dict[Node, Node]", *, with_constants: bool = False) -> Node:
    """The node with some of its parts replaced, the outermost first."""
    if node in known and (with_constants or not isinstance(node, Constant)):
        return known[node]
    if isinstance(node, ColumnRef):
        return _part_of_known(node, known)
    if not isinstance(node, Call) or not node.operands:
        return node
    operands = tuple(substituted(each, known, with_constants=with_constants) for each in node.operands)
    return replace(node, operands=operands)


def _part_of_known(column: ColumnRef, known: "dict[Node, Node]") -> Node:
    """A field of a struct that is known, or a column in DuckDB's own type."""
    is_own = column.path[0] == AS_IS
    path = column.path[1:] if is_own else column.path
    for key, other in known.items():
        if (
            isinstance(key, ColumnRef)
            and isinstance(other, ColumnRef)
            and path[: len(key.path)] == key.path
            and (len(path) > len(key.path) or is_own)
        ):
            found = ColumnRef((*other.path, *path[len(key.path) :]), column.type)
            return as_is(found) if is_own else found
    return column


def _with_one_zero(node: Node, data_type: DataType) -> Node:
    if data_type not in (FLOAT, DOUBLE):
        return node
    zero = f"CAST(0 AS {sql_type(data_type)})"
    return call("normalized", (node,), data_type, f"CASE WHEN {{0}} = 0 THEN {zero} ELSE {{0}} END")


def _unwidened(node: Node) -> Node:
    """The integral column below a cast to a wider integral type."""
    if isinstance(node, Call) and node.name == "cast" and node.type in INTEGRAL and not node.can_fail:
        (inner,) = node.operands
        if isinstance(inner, ColumnRef) and inner.type in INTEGRAL:
            return inner
    return node


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, Call) and node.name == "and":
        for each in node.operands:
            yield from _parts(each)
    else:
        yield node


def _reads_rows(node: Node) -> bool:
    return is_query(node) or is_window(node) or is_aggregate(node) or is_volatile(node)
