"""Binding of expressions in queries, beyond those of `deltaarrow.spark_sql`.

Queries add names of several relations, aggregates, windows, subqueries, parameters and parts of variants.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.columnar.numpy_arrays import ensure_microseconds
from deltaarrow.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import DataType, Field
from deltaarrow.spark_sql.binding.expression_binding import NO_PARENTHESES, bind_tree
from deltaarrow.spark_sql.binding.scope import Fields
from deltaarrow.spark_sql.binding.tree_reading import names_of
from deltaarrow.spark_sql.functions.aggregate import Order, Rows, Window, find_aggregate, is_window
from deltaarrow.spark_sql.functions.datetime import window_time
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.functions.generator import find_generator
from deltaarrow.spark_sql.functions.operators import is_null
from deltaarrow.spark_sql.functions.random import find_volatile
from deltaarrow.spark_sql.functions.window import find_window_function
from deltaarrow.spark_sql.queries.blocks import as_is
from deltaarrow.spark_sql.queries.made_variants import is_made
from deltaarrow.spark_sql.queries.membership import settled
from deltaarrow.spark_sql.queries.name_resolution import Columns, Found
from deltaarrow.spark_sql.queries.query_parsing import OUTER_NAMES, PARAMETER_PLACE
from deltaarrow.spark_sql.queries.relations import Parameters
from deltaarrow.spark_sql.queries.stars import expand_arguments
from deltaarrow.spark_sql.queries.window_frames import framed
from deltaarrow.spark_sql.rendering.rows import is_query
from deltaarrow.spark_sql.tree.nodes import (
    Call,
    ColumnRef,
    Constant,
    Node,
    Path,
    call,
    is_volatile,
    refused,
    walk,
)
from deltaarrow.spark_sql.tree.positioned_errors import placed_at
from deltaarrow.spark_sql.types.time_zones import ensure_utc
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    VOID,
    decimal_type,
)

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "AMBIGUOUS",
    "GROUPING",
    "WINDOW_KEY",
    "BindSubquery",
    "Binding",
    "constant_of",
    "is_plain_part",
    "parameter_values",
]

_WITHIN = "another call"
_AGGREGATES_REFUSED = {
    _WITHIN: "NESTED_AGGREGATE_FUNCTION",
    "WHERE": "INVALID_WHERE_CONDITION",
    "GROUP BY": "GROUP_BY_AGGREGATE",
    "ORDER BY": "UNSUPPORTED_EXPR_FOR_OPERATOR",
}
"""Spark's classes for aggregates by the clause, or the call, that they cannot be in."""

AMBIGUOUS = Call("ambiguous", (), VOID, "", can_fail=True)
"""Stands for two columns of the select list that have one name."""

WINDOW_KEY = "window key"
"""The name of calls that are the keys of a window: DuckDB takes none that may raise an error."""

GROUPING = "aggregate grouping"
"""The name of calls of ``grouping`` and ``grouping_id``, whose operands are keys of the group."""

_NO_WINDOW = {
    "ORDER BY": "UNSUPPORTED_EXPR_FOR_OPERATOR",
    "WHERE": "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
}
"""Spark's class of errors for a function over a window, by the clause that takes none."""

_TAKES_VOLATILE = frozenset({"the select list", "WHERE", "ORDER BY"})
"""The clauses that are computed once for each row."""

_OVER_ROWS = ("filter", "withingroup", "ignorenulls", "respectnulls")

BindSubquery = Callable[["exp.Expr", Columns, Callable[["exp.Expr"], Node]], Node]


@dataclass
class Binding:
    """Binds the expressions of one clause of a SELECT.

    Args:
        columns: the columns that names refer to.
        subquery: binds a subquery, EXISTS or IN of a query.
        parameters: the values of parameters, by name or by place in the text.
        clause: the name of the clause, for messages.
        first: names that come before the columns, such as the select list's in ORDER BY.
        before_first: columns that come before such names nevertheless: the keys of GROUP BY in HAVING.
        aliases: names that come after the columns, such as earlier columns of the select list.
        windows: the named windows.
        takes_aggregates: whether aggregates may be called.
        takes_windows: whether functions over windows may be called.
        keys: the keys of the group, for ``grouping_id()``; None if there are no grouping sets.
    """

    columns: Columns
    subquery: BindSubquery
    parameters: Mapping[str | int, Node]
    clause: str
    first: Mapping[str, Node] = field(default_factory=dict)
    before_first: Sequence[Node] = ()
    aliases: Mapping[str, Node] = field(default_factory=dict)
    windows: "Mapping[str, exp.Expr]" = field(default_factory=dict)
    takes_aggregates: bool = False
    takes_windows: bool = False
    keys: Sequence[Node] | None = None
    _within: str = ""

    def bind(self, tree: "exp.Expr") -> Node:
        """The node of an expression."""
        with placed_at(tree):
            return settled(bind_tree(tree, self, self._part))

    def bind_output(self, tree: "exp.Expr") -> Node:
        """The node of an expression whose value is passed on: a column alone may have any type."""
        names = names_of(tree)
        if names is not None:
            found = self._found(names)
            if found is not None and isinstance(found.node, ColumnRef):
                return found.node
        return self.bind(tree)

    def field_of(self, tree: "exp.Expr") -> Field | None:
        """The field of a column that an expression just is; None for any other expression."""
        names = names_of(tree)
        found = None if names is None else self._found(names)
        return found.fields[-1] if found is not None and isinstance(found.node, ColumnRef) else None

    def shown(self, names: Sequence[str]) -> str:
        """A column as Spark prints it inside an expression: with its struct fields, without the table."""
        found = self._found(names)
        if self.is_alias(names):
            return f"lateralAliasReference({names[0]})"
        return ".".join(names if found is None else names[-len(found.fields) :])

    def bind_list(self, trees: "Sequence[exp.Expr]") -> list[Node]:
        """The nodes of several expressions."""
        return [self.bind(each) for each in trees]

    def resolve(self, names: Sequence[str]) -> tuple[Path, Fields]:
        """Return the path of a column; see `Scope.resolve`."""
        found = self._found(names)
        if found is None or not isinstance(found.node, ColumnRef):
            raise self.columns.unknown(names)
        return found.node.path, found.fields

    # --- names ---

    def _found(self, names: Sequence[str]) -> Found | None:
        is_first = len(names) == 1 and names[0].lower() in self.first and not self._within
        if is_first and not self.before_first:
            return _named(self.first[names[0].lower()], names[0])
        found = self.columns.find(names)
        if is_first and (found is None or found.node not in self.before_first):
            return _named(self.first[names[0].lower()], names[0])
        if found is not None:
            return found
        if self.is_alias(names):
            alias = self.aliases[names[0].lower()]
            if alias == AMBIGUOUS:
                raise SchemaMismatchError(
                    f"[AMBIGUOUS_LATERAL_COLUMN_ALIAS] several columns before are called `{names[0]}`"
                )
            if is_volatile(alias):
                raise refused(f"`{names[0]}`, a value at random, in the select list that makes it,")
            return _named(alias, names[0])
        # As in Spark, a subquery reads columns of the query around it, but of none around that one.
        return None if self.columns.outer is None else self.columns.outer.find(names)

    def is_alias(self, names: Sequence[str]) -> bool:
        """Whether a name refers to an earlier column of the select list."""
        return len(names) == 1 and names[0].lower() in self.aliases and self.columns.find(names) is None

    def _part(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node | None:
        """What only queries have; see `bind_tree`."""
        own = _PARTS.get(node.key)
        if own is None:
            return None
        with placed_at(node):
            if node.key in ("anonymous", "in"):
                expand_arguments(node, self.columns)
            return own(self, node, bind)

    def _column(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node | None:
        names = names_of(node)
        if names is None:
            return None
        found = self._found(names)
        if found is None:
            if len(names) == 1 and names[0].lower() in NO_PARENTHESES:
                return None
            raise self.columns.unknown(names)
        if is_made(found.fields) and isinstance(found.node, ColumnRef):
            return as_is(found.node)
        if found.node.type == VOID:
            return Constant(None, VOID)
        return None if isinstance(found.node, ColumnRef) else found.node

    # --- functions over rows ---

    def _anonymous(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node | None:
        name = str(node.this).lower()
        if name in ("grouping", "grouping_id"):
            return self._grouping(name, node, bind)
        if find_aggregate(name) is not None:
            return self._over_rows(node, bind, None)
        if name == "window_time" and len(node.expressions) == 1:
            return window_time(bind(node.expressions[0]))
        if find_window_function(name) is not None:
            raise SchemaMismatchError(f"[WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE] {name} needs OVER (...)")
        volatile = find_volatile(name)
        if volatile is not None:
            return self._volatile(volatile, name, node)
        generator = find_generator(name)
        if generator is not None and generator.is_relation:
            raise SchemaMismatchError(f"[NOT_A_SCALAR_FUNCTION] {name} is a table function: write it in FROM")
        if generator is not None and name not in ("stack", "range"):
            if self.clause == "WHERE":
                raise SchemaMismatchError(f"[UNSUPPORTED_GENERATOR.OUTSIDE_SELECT] {name} cannot be in WHERE")
            raise refused(f"{name} inside an expression or outside the select list")
        return None

    def _volatile(self, function: Function, name: str, node: "exp.Expr") -> Node:
        """A call that DuckDB computes for each row, in its place."""
        if self.clause not in _TAKES_VOLATILE or self._within:
            raise refused(f"{name} in {self._within or self.clause}")
        found = function(name, tuple(map(self.bind, node.expressions)))
        if any(map(is_window, walk(found))) and not self.takes_windows:
            if node.expressions:
                raise refused(
                    f"{name} with a seed in {self.clause} (write it in the select list of a subquery)"
                )
            raise self._misplaced(name, _NO_WINDOW)
        return found

    def _rows(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        return self._over_rows(node, bind, None)

    def _window(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        if not self.takes_windows or self._within:
            raise self._misplaced("a function over a window", _NO_WINDOW)
        window = self._window_of(node, ())
        return self._over_rows(node.this, bind, window)

    def _misplaced(self, what: str, classes: Mapping[str, str]) -> DeltaError:
        """The error for what cannot be where it is, by Spark's class for that clause."""
        error_class = classes.get(_WITHIN if self._within else self.clause)
        where = self._within or self.clause
        if error_class is None:
            return refused(f"{what} in {where}")
        return SchemaMismatchError(f"[{error_class}] {what} cannot be in {where}")

    def _over_rows(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node], window: Window | None) -> Node:
        where, order, ignores_nulls = None, (), False
        while node.key in _OVER_ROWS:
            if node.key == "filter":
                where = node.expression.this
            elif node.key == "withingroup":
                order = node.expression.expressions
            else:
                ignores_nulls = node.key == "ignorenulls"
            node = node.this
        if node.key != "anonymous":
            raise refused(f"{node.key.upper()} over a window")
        name, operands = str(node.this), list(node.expressions)
        is_distinct = len(operands) == 1 and operands[0].key == "distinct"
        if is_distinct:
            operands = list(operands[0].expressions)
        if operands and operands[-1].key in ("ignorenulls", "respectnulls"):
            ignores_nulls = operands[-1].key == "ignorenulls"
            operands[-1] = operands[-1].this
        function = find_window_function(name) if window is not None else None
        aggregate = find_aggregate(name) if function is None else None
        if function is None and aggregate is None:
            raise refused(f"{name} over a window or a group")
        if window is None and (not self.takes_aggregates or self._within):
            raise self._misplaced(f"the aggregate {name}", _AGGREGATES_REFUSED)
        if name.lower() == "count" and not operands:
            raise SchemaMismatchError(
                "[WRONG_NUM_ARGS.WITH_SUGGESTION] count takes * or values, and has none"
            )
        if name.lower() == "count" and len(operands) == 1 and operands[0].key == "star":
            operands = []
        with_rows = self._inside(f"{name}(...)") if window is None else self
        rows = Rows(
            distinct=is_distinct,
            where=with_rows.bind(where) if where is not None else None,
            window=window,
            order=tuple(map(with_rows.order, order)),
            ignores_nulls=ignores_nulls,
        )
        nodes = tuple(with_rows.bind(each) for each in operands)
        if function is not None:
            return function(name, nodes, rows)
        assert aggregate is not None
        return aggregate(name, nodes, rows)

    def _inside(self, what: str) -> "Binding":
        return Binding(
            self.columns,
            self.subquery,
            self.parameters,
            self.clause,
            first=self.first,
            aliases=self.aliases,
            _within=what,
        )

    def order(self, node: "exp.Expr") -> Order:
        """One key of an ORDER BY."""
        if not is_plain_part(node, {"this", "desc", "nulls_first"}):
            raise refused("ORDER BY with a range or a fill")
        return Order(self.bind(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _window_of(self, node: "exp.Expr", seen: tuple[str, ...]) -> Window:
        if not is_plain_part(node, {"this", "partition_by", "order", "spec", "alias", "over"}):
            raise refused("a window of this form")
        base = Window()
        alias = node.args.get("alias")
        if alias is not None:
            name = alias.name.lower()
            if name not in self.windows or name in seen:
                raise SchemaMismatchError(
                    f"[MISSING_WINDOW_SPECIFICATION] there is no window `{alias.name}` in the WINDOW clause"
                )
            base = self._window_of(self.windows[name], (*seen, name))
        partition = self.bind_list(node.args.get("partition_by") or [])
        order = node.args.get("order")
        keys = tuple(map(self.order, order.expressions)) if order is not None else ()
        spec, frame = node.args.get("spec"), None
        if spec is not None:
            keys, frame = framed(spec, keys or base.order, self.bind)
            frame = replace(frame, lengths=tuple(map(_key, frame.lengths)))
        if alias is not None and (partition or order or spec):
            raise refused(f"the window {alias.name} with another PARTITION BY, ORDER BY or frame")
        return Window(
            tuple(map(_key, partition)) or base.partition,
            tuple(replace(each, node=_key(each.node)) for each in keys) or base.order,
            frame or base.frame,
        )

    def _grouping(self, name: str, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        if self.keys is None:
            raise SchemaMismatchError(
                f"[UNSUPPORTED_GROUPING_EXPRESSION] {name} without ROLLUP, CUBE or GROUPING SETS"
            )
        inside = self._inside(f"{name}(...)")
        wanted = [inside.bind(each) for each in node.expressions]
        if name == "grouping_id" and not wanted:
            wanted = list(self.keys)
        if name == "grouping" and (len(wanted) != 1 or wanted[0] not in self.keys):
            raise refused("grouping of something other than a key of GROUP BY")
        if name == "grouping_id" and wanted != list(self.keys):
            raise refused("grouping_id of something other than all keys of GROUP BY")
        data_type: DataType = BYTE if name == "grouping" else LONG
        places = ", ".join(f"{{{place}}}" for place in range(len(wanted)))
        kind = "TINYINT" if name == "grouping" else "BIGINT"
        return call(GROUPING, tuple(wanted), data_type, f"CAST(GROUPING({places}) AS {kind})")

    # --- other parts ---

    def _query(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        found = self.subquery(node, self.columns, bind)
        node.meta[OUTER_NAMES] = [
            each.path[-1]
            for part in walk(found)
            if isinstance(part, Call) and is_query(part)
            for each in part.operands
            if isinstance(each, ColumnRef)
        ]
        return found

    def _in(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node | None:
        return self.subquery(node, self.columns, bind) if node.args.get("query") is not None else None

    def _parameter(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        key: str | int
        if isinstance(node.this, str) and node.this:
            key, shown = node.this.lower(), f":{node.this}"
        else:
            key, shown = node.meta[PARAMETER_PLACE], "?"
        if key not in self.parameters:
            raise SchemaMismatchError(f"[UNBOUND_SQL_PARAMETER] there is no value for the parameter {shown}")
        return self.parameters[key]

    def _is(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node | None:
        """``IS NULL`` of a column of any type, and of a name that is no column of a relation."""
        names = names_of(node.this)
        if names is None or node.expression.key != "null":
            return None
        found = self._found(names)
        return None if found is None else is_null(found.node)

    def _star(self, node: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> Node:
        raise SchemaMismatchError(
            "[INVALID_USAGE_OF_STAR_OR_REGEX] * stands in an operator, which takes no list"
        )


_PARTS: "dict[str, Callable[[Binding, exp.Expr, Callable[[exp.Expr], Node]], Node | None]]" = {
    "anonymous": Binding._anonymous,
    "column": Binding._column,
    "dot": Binding._column,
    "exists": Binding._query,
    "in": Binding._in,
    "is": Binding._is,
    "placeholder": Binding._parameter,
    "select": Binding._query,
    "star": Binding._star,
    "subquery": Binding._query,
    "window": Binding._window,
    **dict.fromkeys(_OVER_ROWS, Binding._rows),
}


def _key(node: Node) -> Node:
    """A key of a window, marked: it may have to be computed in a SELECT below."""
    return call(WINDOW_KEY, (node,), node.type, "{0}")


def is_plain_part(node: "exp.Expr", known: set[str]) -> bool:
    """Whether a node has only arguments that are read: an overlooked one would change the meaning."""
    return {name for name, part in node.args.items() if part} <= known


def _named(node: Node, name: str) -> Found:
    return Found(node, (Field(name, node.type),))


def parameter_values(tree: "exp.Expr", parameters: Parameters | None) -> dict[str | int, Node]:
    """The constants of a query's parameters, by name or by place in the text."""
    if isinstance(parameters, Mapping):
        return {str(name).lower(): constant_of(value) for name, value in parameters.items()}
    if not parameters:
        return {}
    places = sorted(
        each.meta[PARAMETER_PLACE] for each in tree.walk() if PARAMETER_PLACE in each.meta and not each.args
    )
    given = list(parameters)
    if len(given) > len(places):
        raise SchemaMismatchError(
            f"the query has {len(places)} parameters, and there are {len(given)} values"
        )
    return {place: constant_of(value) for place, value in zip(places, given, strict=False)}


_EXACT = (
    (bool, BOOLEAN),
    (str, STRING),
    (bytes, BINARY),
    (float, DOUBLE),
    (datetime.datetime, TIMESTAMP),
    (datetime.date, DATE),
)


def constant_of(value: object) -> Node:
    """The constant of a Python value, in the type that PySpark gives it.

    Raises `UnsupportedFeatureError` for a value of another type.
    """
    if value is None:
        return Constant(None, VOID)
    if isinstance(value, str) and "\0" in value:
        raise refused("the character U+0000 in a parameter")
    if isinstance(value, int) and not isinstance(value, bool):
        for data_type, bits in ((INTEGER, 31), (LONG, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return Constant(value, data_type, folded=True)
        raise refused(f"the parameter {value}, which is beyond the range of a long,")
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime.datetime):
        try:
            ensure_microseconds(value)
        except ValueError as error:
            raise UnsupportedFeatureError(str(error), feature="nanosecond timestamps") from None
        if value.tzinfo is None:
            ensure_utc("a parameter that is a datetime without a time zone")
        else:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    for kind, data_type in _EXACT:
        if isinstance(value, kind):
            return Constant(value, data_type, folded=True)
    raise refused(f"a parameter of the type {type(value).__name__}")


def _decimal(value: Decimal) -> Node:
    if not value.is_finite():
        raise refused(f"the parameter {value}")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    return Constant(value, decimal_type(precision, scale), folded=True)
