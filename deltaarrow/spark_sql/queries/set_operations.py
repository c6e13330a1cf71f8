"""UNION, INTERSECT and EXCEPT: columns meet by their place, in their least common types."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import DataType
from deltaarrow.spark_sql.queries.blocks import OutputColumn, Query, normalized
from deltaarrow.spark_sql.queries.context import Around, Context
from deltaarrow.spark_sql.queries.grouping import ensure_groupable
from deltaarrow.spark_sql.queries.made_variants import ensure_alike
from deltaarrow.spark_sql.queries.ordering import compile_ordered
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import has_same_shape, type_name, wider_type

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["compile_set_operation"]

_CLAUSES = frozenset(
    ("this", "expression", "distinct", "with_", "order", "limit", "offset", "sort", "distribute", "cluster")
)


def compile_set_operation(context: Context, tree: "exp.Expr", around: Around) -> Query:
    """Compile a set operation with its ORDER BY and LIMIT."""
    unknown = {name for name, part in tree.args.items() if part} - _CLAUSES
    if unknown:
        raise refused(f"{tree.key.upper()} with {min(unknown).strip('_').upper()}")
    # A long chain of operations needs no recursion.
    chain: list[exp.Expr] = []
    first = tree
    while first.key == tree.key and bool(first.args.get("distinct")) == bool(tree.args.get("distinct")):
        chain.append(first)
        first = first.this
        if any(first.args.get(each) for each in ("with_", "order", "limit", "offset")):
            break
    sides = [first, *(each.expression for each in reversed(chain))]
    inside = replace(around, is_top=False)
    queries = [context.query(each, inside) for each in sides]
    word = f"{tree.key.upper()}{'' if tree.args.get('distinct') else ' ALL'}"
    made = _combined(context, queries, word)
    return compile_ordered(context, tree, made, around)


def _combined(context: Context, queries: Sequence[Query], word: str) -> Query:
    counts = {len(each.columns) for each in queries}
    if len(counts) > 1:
        raise SchemaMismatchError(
            f"[NUM_COLUMNS_MISMATCH] {word} of queries with {' and '.join(map(str, sorted(counts)))} columns"
        )
    is_distinct = not word.endswith("ALL") or not word.startswith("UNION")
    ensure_alike([[column.field for column in query.columns] for query in queries], word)
    types = [column.field.type for column in queries[0].columns]
    for query in queries[1:]:
        types = [_wider(one, each.field.type, word) for one, each in zip(types, query.columns, strict=True)]
    if is_distinct:
        for each in types:
            ensure_groupable(each, word)
    writer = context.writer()
    sides = []
    for query in queries:
        source = context.nested(writer, query, ())
        nodes = [cast(each.node, wanted) for each, wanted in zip(source.columns, types, strict=True)]
        if is_distinct:
            nodes = [normalized(each) for each in nodes]
        if all(node == column.node for node, column in zip(nodes, source.columns, strict=True)):
            sides.append(f"({writer.inlined(query)})")
            continue
        listed = ", ".join(
            f"{writer.native(node)} AS {quote_identifier(each.key)}"
            for node, each in zip(nodes, query.columns, strict=True)
        )
        sides.append(f"(SELECT {listed} FROM {source.sql})")
    columns = [
        OutputColumn(each.name, each.key, replace(each.field, type=wanted))
        for each, wanted in zip(queries[0].columns, types, strict=True)
    ]
    return writer.query(f" {word} ".join(sides), columns)


def _wider(one: DataType, other: DataType, word: str) -> DataType:
    if has_same_shape(one, other, by_name=not word.startswith("UNION")):
        return one
    try:
        return wider_type(one, other)
    except UnsupportedFeatureError as error:
        kind = "INCOMPATIBLE_COLUMN_TYPE" if str(error).startswith("[") else None
        raise refused(f"{word} of {type_name(one)} and {type_name(other)}", error_class=kind) from error
