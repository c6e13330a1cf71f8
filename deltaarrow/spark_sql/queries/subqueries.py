"""Subqueries in expressions: scalar ones, EXISTS and IN.

The SQL of a subquery is in the format string of its node, whose operands are the columns of the SELECTs
around it that it reads. So it moves with the expression, for instance into the SELECT over the groups.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.function import same_type
from deltaarrow.spark_sql.native import given
from deltaarrow.spark_sql.nested import leaf_types, rebuilt
from deltaarrow.spark_sql.nodes import Call, ColumnRef, Node, refused
from deltaarrow.spark_sql.operators import compare
from deltaarrow.spark_sql.queries.blocks import OutputColumn, Query
from deltaarrow.spark_sql.queries.context import Around, Context
from deltaarrow.spark_sql.queries.membership import MEMBER
from deltaarrow.spark_sql.queries.names import Columns
from deltaarrow.spark_sql.types import BOOLEAN, VARIANT

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
    """``value IN (SELECT ...)``, compared in the common type of both."""
    if node.this.key == "tuple":
        raise refused("IN with several columns of a subquery: use EXISTS")
    if len(query.columns) != 1:
        raise SchemaMismatchError(
            f"[DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH] IN compares one value with {len(query.columns)}"
            " columns"
        )
    operand = bind(node.this)
    column = query.columns[0]
    alias = context.alias()
    reference = ColumnRef((alias, column.key), column.field.type)
    (value, member), _ = same_type((operand, reference))
    compare(value, member, "=")  # Refuses what cannot be compared.
    writer = context.writer()
    writer.own.add(alias)
    inner = f"({writer.inlined(query)}) AS {quote_identifier(alias)}"
    made = writer.query(
        f"SELECT {writer.computed(member)} FROM {inner}", [OutputColumn("member", "member", column.field)]
    )
    places = len(made.outer)
    # The columns of outer queries come first, so the compared value has the last place.
    sql = f"({{{places}}} IN ({made.sql}))"
    if value.can_fail:
        sql = f"CASE WHEN {{{places}}} IS NULL THEN NULL ELSE {sql} END"
    return Call(MEMBER, (*made.outer, value), BOOLEAN, sql, value.can_fail)
