"""ORDER BY, LIMIT and OFFSET, of a SELECT and of a set operation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.functions.aggregate import Order
from deltaarrow.spark_sql.queries.blocks import Query, Writer
from deltaarrow.spark_sql.queries.constants import constant_value
from deltaarrow.spark_sql.queries.context import Around, Context, shown_keys, unique_keys
from deltaarrow.spark_sql.queries.expressions import Binding, BindSubquery, is_plain_part
from deltaarrow.spark_sql.queries.name_resolution import Columns
from deltaarrow.spark_sql.queries.placement import ensure_ordering
from deltaarrow.spark_sql.queries.subqueries import bind_subquery
from deltaarrow.spark_sql.tree.nodes import Constant, Node, refused
from deltaarrow.spark_sql.types.nested_order import in_order
from deltaarrow.spark_sql.types.type_rules import INTEGER, type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["bound_order", "compile_ordered", "limits", "ordered_sql"]


def bound_order(tree: "exp.Expr", output: Sequence[tuple[str, Node]], binding: Binding) -> list[Order]:
    """The keys of ORDER BY, over the columns of the output and then those of the relations.

    Args:
        tree: the query.
        output: the columns of the select list by name.
        binding: binds expressions over the relations.
    """
    order = tree.args.get("order")
    if order is None:
        return []  # SORT BY and DISTRIBUTE BY order rows within partitions, of which there is one or many.
    if not is_plain_part(order, {"expressions"}):
        raise refused("ORDER BY of this form")
    names: dict[str, Node] = {}
    for name, node in output:
        if name.lower() in names and names[name.lower()] != node:
            continue
        names[name.lower()] = node
    first = order.expressions[0]
    if len(order.expressions) == 1 and first.this.key == "var" and first.this.name.upper() == "ALL":
        found = [_order(first, node) for _, node in output]
    else:
        over = replace(binding, first=names, subquery=_in_order(binding.subquery))
        found = [_order(each, _key(each.this, output, over)) for each in order.expressions]
    return [replace(each, node=in_order(each.node, "ORDER BY")) for each in found]


def _in_order(bind_subquery: BindSubquery) -> BindSubquery:
    """Binds the subqueries in ORDER BY."""

    def bind(node: "exp.Expr", columns: Columns, bind_inner: Callable[["exp.Expr"], Node]) -> Node:
        found = bind_subquery(node, columns, bind_inner)
        ensure_ordering(found)
        return found

    return bind


def _key(tree: "exp.Expr", output: Sequence[tuple[str, Node]], binding: Binding) -> Node:
    if tree.key == "literal" and not tree.is_string and tree.this.isdecimal():
        place = int(tree.this)
        if not 1 <= place <= len(output):
            raise SchemaMismatchError(
                f"[ORDER_BY_POS_OUT_OF_RANGE] ORDER BY {place}: the select list has {len(output)} columns"
            )
        return output[place - 1][1]
    return binding.bind_output(tree)


def _order(tree: "exp.Expr", node: Node) -> Order:
    if not is_plain_part(tree, {"this", "desc", "nulls_first"}):
        raise refused("ORDER BY with a range or a fill")
    return Order(node, bool(tree.args.get("desc")), bool(tree.args.get("nulls_first")))


def ordered_sql(writer: Writer, order: Sequence[Order], output: Sequence[Node]) -> str:
    """The SQL of ORDER BY; a column of the output is named by its place."""
    keys = []
    for each in order:
        if each.node in output:
            sql = str(output.index(each.node) + 1)
        elif isinstance(each.node, Constant):
            continue
        else:
            sql = writer.native(each.node)
        direction = "DESC" if each.descending else "ASC"
        keys.append(f"{sql} {direction} NULLS {'FIRST' if each.nulls_first else 'LAST'}")
    return f" ORDER BY {', '.join(keys)}" if keys else ""


def limits(tree: "exp.Expr", binding: Binding, now_ms: int) -> str:
    """The SQL of LIMIT and OFFSET; `now_ms` is the time of the query."""
    sql = ""
    alone = replace(binding, columns=Columns(()), aliases={})
    for name in ("limit", "offset"):
        node = tree.args.get(name)
        if node is not None and node.key == "fetch":
            raise SchemaMismatchError("[PARSE_SYNTAX_ERROR] Spark has no FETCH: write LIMIT")
        if node is None or (node.expression.key == "var" and node.expression.name.upper() == "ALL"):
            continue
        if not is_plain_part(node, {"expression"}):
            raise refused(f"{name.upper()} of this form")
        count = alone.bind(node.expression)
        if count.type != INTEGER:
            raise SchemaMismatchError(
                f"[INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE] {name.upper()} takes an integer, not"
                f" {type_name(count.type)}"
            )
        value = constant_value(count, now_ms, name.upper())
        if not isinstance(value, int):
            raise refused(f"{name.upper()} {value}")
        if value < 0:
            raise SchemaMismatchError(
                f"[INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE] {name.upper()} is {value}, which is less than 0"
            )
        sql += f" {name.upper()} {value}"
    return sql


def compile_ordered(context: Context, tree: "exp.Expr", query: Query, around: Around) -> Query:
    """The query with the ORDER BY, LIMIT and OFFSET of `tree`, and with Spark's names at the top."""
    names = [each.name for each in query.columns]
    keys = shown_keys(names) if around.is_top else unique_keys(names)
    has_clauses = any(tree.args.get(each) is not None for each in ("order", "limit", "offset"))
    if not has_clauses and keys == [each.key for each in query.columns]:
        return query
    writer = context.writer()
    source = context.nested(writer, query, ())
    qualified = (
        replace(column, qualifier=each.qualifier)
        for column, each in zip(source.columns, query.columns, strict=True)
    )
    binding = Binding(
        Columns(qualified, around.outer),
        lambda node, columns, bind: bind_subquery(context, node, columns, around, bind),
        context.parameters,
        "ORDER BY",
    )
    nodes = [each.node for each in source.columns]
    order = bound_order(tree, list(zip(names, nodes, strict=True)), binding)
    listed = ", ".join(
        f"{writer.native(node)} AS {quote_identifier(key)}" for node, key in zip(nodes, keys, strict=True)
    )
    sql = f"SELECT {listed} FROM {source.sql}{ordered_sql(writer, order, nodes)}"
    sql += limits(tree, binding, context.now_ms)
    columns = [replace(each, key=key) for each, key in zip(query.columns, keys, strict=True)]
    return writer.query(sql, columns)
