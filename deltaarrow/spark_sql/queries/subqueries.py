"""Subqueries in expressions: scalar ones, EXISTS and IN.

The SQL of a subquery is in the format string of its node, whose operands are the columns of the SELECTs
around it that it reads. So it moves with the expression, for instance into the SELECT over the groups.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.functions.function import same_type
from deltaarrow.spark_sql.functions.operators import compare
from deltaarrow.spark_sql.queries.blocks import Query
from deltaarrow.spark_sql.queries.context import Around, Context
from deltaarrow.spark_sql.queries.membership import MEMBER
from deltaarrow.spark_sql.queries.name_resolution import Columns
from deltaarrow.spark_sql.rendering.native_sql import given
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Node, refused
from deltaarrow.spark_sql.types.nested import leaf_types, rebuilt
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, VARIANT

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["bind_subquery"]


def bind_subquery(
    context: Context,
    node: "exp.Expr",
    columns: Columns,
    around: Around,
    bind: Callable[["exp.Expr"], Node],
) -> Node:
    """The node of a subquery, EXISTS or IN; `columns` are those that it may read."""
    tree = {"exists": lambda: node.this, "in": lambda: node.args["query"]}.get(node.key, lambda: node)()
    query = context.query(tree, around.inside(columns))
    if node.key == "exists":
        return Call("query exists", query.outer, BOOLEAN, f"EXISTS ({query.sql})", can_fail=False)
    if node.key == "in":
        return _member(context, node, query, bind)
    if len(query.columns) != 1:
        raise SchemaMismatchError(
            "[INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN] a scalar"
            f" subquery has one column, not {len(query.columns)}"
        )
    data_type = query.columns[0].field.type
    if VARIANT in leaf_types(data_type):
        raise refused("a variant of a scalar subquery: take a part of it as another type in the subquery")
    return rebuilt(Call("query scalar", query.outer, data_type, f"({query.sql})", can_fail=False), given)


def _member(context: Context, node: "exp.Expr", query: Query, bind: Callable[["exp.Expr"], Node]) -> Node:
    """``value IN (SELECT ...)``, compared in the common type of both; several values are compared in turn."""
    operands = _operands(node.this, bind)
    if len(query.columns) != len(operands):
        raise SchemaMismatchError(
            f"[DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH] IN compares {len(operands)} values with"
            f" {len(query.columns)} columns"
        )
    if len(operands) > 1 and query.outer:
        raise refused("IN with several columns of a subquery that reads columns around it: use EXISTS")
    alias = context.alias()
    values, members = [], []
    for operand, column in zip(operands, query.columns, strict=True):
        reference = ColumnRef((alias, column.key), column.field.type)
        (value, member), _ = same_type((operand, reference))
        compare(value, member, "=")  # Refuses what cannot be compared.
        values.append(value)
        members.append(member)
    writer = context.writer()
    writer.own.add(alias)
    inner = f"({writer.inlined(query)}) AS {quote_identifier(alias)}"
    listed = ", ".join(map(writer.computed, members))
    made = writer.query(f"SELECT {listed} FROM {inner}", query.columns)
    # The columns of outer queries come first, so the compared values have the last places.
    places = [f"{{{len(made.outer) + place}}}" for place in range(len(values))]
    row = places[0] if len(places) == 1 else f"({', '.join(places)})"
    sql = f"({row} IN ({made.sql}))"
    can_fail = any(each.can_fail for each in values)
    if can_fail and len(values) == 1:
        sql = f"CASE WHEN {row} IS NULL THEN NULL ELSE {sql} END"
    return Call(MEMBER, (*made.outer, *values), BOOLEAN, sql, can_fail)


def _operands(tree: "exp.Expr", bind: Callable[["exp.Expr"], Node]) -> list[Node]:
    """The values before IN: those of ``(a, b)`` and ``struct(a, b)``, or the one value."""
    is_struct = tree.key == "anonymous" and str(tree.this).lower() == "struct"
    if tree.key != "tuple" and not is_struct:
        return [bind(tree)]
    return [bind(each.this if each.key == "alias" else each) for each in tree.expressions]
