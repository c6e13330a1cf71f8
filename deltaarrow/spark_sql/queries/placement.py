"""Places where Spark allows no subquery and no column of an outer query.

DuckDB would compute most of these, so they are refused here, with Spark's class of errors.
"""

from collections.abc import Collection, Iterable

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.queries.blocks import AS_IS
from deltaarrow.spark_sql.rendering.rows import is_query
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Node, walk

__all__ = ["ensure_joining", "ensure_of_groups", "ensure_ordering"]

_SCALAR = "query scalar"
_CATEGORY = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY"
_CORRELATED = f"[{_CATEGORY}.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY] a subquery that reads columns around it"


def ensure_ordering(query: Node) -> None:
    """Raise `SchemaMismatchError` for a subquery that no key of ORDER BY has."""
    for each in _queries(query):
        if each.name != _SCALAR:
            raise SchemaMismatchError(
                f"[{_CATEGORY}.UNSUPPORTED_IN_EXISTS_SUBQUERY] IN or EXISTS of a query stands in ORDER BY:"
                " give it a name in the select list, and order by that"
            )
        if each.operands:
            raise SchemaMismatchError(
                f"{_CORRELATED} stands in ORDER BY: give it a name in the select list, and order by that"
            )


def ensure_joining(node: Node) -> None:
    """Raise `SchemaMismatchError` for what no condition of a join has."""
    if any(each.name == _SCALAR and each.operands for each in _queries(node)):
        raise SchemaMismatchError(f"{_CORRELATED} stands in the condition of a join: write it in WHERE")


def ensure_of_groups(nodes: Iterable[Node], own: Collection[str]) -> None:
    """Raise `SchemaMismatchError` for columns of an outer query in the select list over groups.

    `own` are the aliases of the relations of the SELECT.
    """
    for each in (part for node in nodes for part in walk(node)):
        if isinstance(each, ColumnRef):
            path = each.path[1:] if each.path[0] == AS_IS else each.path
            if path[0] not in own:
                raise SchemaMismatchError(
                    f"[{_CATEGORY}.CORRELATED_REFERENCE] the column `{path[-1]}` of the query around this one"
                    " stands in a select list with aggregates: it may stand in WHERE and HAVING"
                )


def _queries(node: Node) -> Iterable[Call]:
    return (each for each in walk(node) if isinstance(each, Call) and is_query(each))
