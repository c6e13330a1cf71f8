"""PIVOT and UNPIVOT of a relation in FROM.

PIVOT groups by the columns that it does not name. For each value it filters the rows of the aggregates; a
value without rows gives NULL for every aggregate, even for ``count``. UNPIVOT makes a row of each of some
columns.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_literal
from deltaarrow.schema import Field, StructType
from deltaarrow.spark_sql.binding.tree_reading import names_of, written_name
from deltaarrow.spark_sql.functions.aggregate import find_aggregate
from deltaarrow.spark_sql.functions.function import same_type
from deltaarrow.spark_sql.functions.generator import Generated
from deltaarrow.spark_sql.queries.blocks import Writer
from deltaarrow.spark_sql.queries.column_names import ColumnNames
from deltaarrow.spark_sql.queries.context import Context, Source
from deltaarrow.spark_sql.queries.expressions import Binding, is_plain_part
from deltaarrow.spark_sql.queries.grouping import GroupKeys, ensure_groupable, grouped
from deltaarrow.spark_sql.queries.name_resolution import Columns, SourceColumn
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, escaped, refused, walk
from deltaarrow.spark_sql.types.char_comparison import PLAIN
from deltaarrow.spark_sql.types.nested import array_of, struct_of
from deltaarrow.spark_sql.types.type_rules import INTEGRAL, STRING

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["pivoted", "unpivoted"]

_DERIVED = {
    *("this", "expressions", "fields", "unpivot", "include_nulls", "alias", "columns"),
    *("default_on_null", "identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming"),
    "value_columns_first",
}
"""What a node of sqlglot says of a pivot; it also derives names of columns, which are not Spark's."""


def pivoted(context: Context, writer: Writer, source: Source, pivot: "exp.Expr", binding: Binding) -> Source:
    """``PIVOT (aggregate [AS name], ... FOR column IN (value [AS name], ...))``; also for ``(a, b)``."""
    from sqlglot import exp

    wanted = _wanted(pivot)
    columns_for = _parts(wanted.this)
    calls = [(each.this if each.key == "alias" else each, each.alias) for each in pivot.expressions]
    for tree, _ in calls:
        if tree.key != "anonymous" or find_aggregate(str(tree.this)) is None:
            raise refused("PIVOT of something other than aggregates")
    taking = replace(binding, takes_aggregates=True)
    chosen = [binding.bind_output(each) for each in columns_for]
    read = {*chosen, *(part for tree, _ in calls for part in walk(taking.bind(tree)))}
    kept = [each for each in Columns(source.columns).shown if each.node not in read]
    for each in kept:
        ensure_groupable(each.field.type, "PIVOT")
    names = ColumnNames(binding.shown)
    made: list[tuple[str, Node]] = []
    for each in wanted.expressions:
        values = _parts(each.this if each.key == "pivotalias" else each)
        if len(values) != len(columns_for):
            raise refused(f"PIVOT of {len(columns_for)} columns for {len(values)} values")
        if each.key == "pivotalias":
            shown = written_name(each.args["alias"])
        else:
            texts = [_shown(binding.bind(value)) for value in values]
            shown = texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"
        equal: list[exp.Expr] = [
            exp.NullSafeEQ(this=column.copy(), expression=value.copy())
            for column, value in zip(columns_for, values, strict=True)
        ]
        for comparison in equal:
            comparison.meta[PLAIN] = True
        is_value = functools.reduce(lambda one, two: exp.And(this=one, expression=two), equal)
        where = exp.Where(this=is_value)
        counted = taking.bind(
            exp.Filter(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=where)
        )
        for tree, alias in calls:
            node = taking.bind(exp.Filter(this=tree.copy(), expression=where.copy()))
            only = call("pivoted", (counted, node), node.type, "CASE WHEN {0} > 0 THEN {1} END")
            more = f"_{alias or names.of(tree, node)}" if len(calls) > 1 else ""
            made.append((f"{shown}{more}", only))
    keys = [each.node for each in kept]
    sql, rewritten = grouped(
        context, writer, source, None, GroupKeys(tuple(keys), None), [node for _, node in made]
    )
    columns = [replace(each, node=rewritten(each.node)) for each in kept]
    columns += [SourceColumn(name, rewritten(node), Field(name, node.type)) for name, node in made]
    return Source(sql, tuple(columns))


def unpivoted(
    source: Source,
    pivot: "exp.Expr",
    binding: Binding,
    generated: Callable[[Source, Generated, tuple[str, ...]], Source],
) -> Source:
    """``UNPIVOT [INCLUDE NULLS] (value FOR name IN (column [AS text], ...))``; also of ``(a, b)``."""
    wanted = _wanted(pivot)
    names = [each.name for target in pivot.expressions for each in _parts(target)]
    if wanted.this.key != "identifier" or len(pivot.expressions) != 1:
        raise refused("UNPIVOT of this form")
    texts: list[Node] = []
    found: list[list[Node]] = []
    for each in wanted.expressions:
        trees = _parts(each.this if each.key == "pivotalias" else each)
        columns = [names_of(tree) for tree in trees]
        if len(trees) != len(names) or None in columns:
            raise refused("UNPIVOT of something other than columns, as many as have names")
        own = "_".join(column[-1] for column in columns if column is not None)
        texts.append(Constant(written_name(each.args["alias"]) if each.key == "pivotalias" else own, STRING))
        found.append([binding.bind_output(tree) for tree in trees])
    typed = [same_type(tuple(row[place] for row in found)) for place in range(len(names))]
    values = [Field(name, common) for name, (_, common) in zip(names, typed, strict=True)]
    fields = StructType([Field(wanted.this.name, STRING), *values])
    made = [struct_of([text, *(nodes[row] for nodes, _ in typed)], fields) for row, text in enumerate(texts)]
    rows = array_of(made, fields)
    if not pivot.args.get("include_nulls"):
        members = (escaped(quote_literal(name)) for name in names)
        has_value = " OR ".join(f"struct_extract(made, {each}) IS NOT NULL" for each in members)
        rows = call("unpivoted", (rows,), rows.type, f"list_filter({{0}}, lambda made: {has_value})")
    taken = {node for row in found for node in row}
    before = len(source.columns)
    more = generated(source, Generated(rows, fields, is_outer=False), ())
    rest = [each for each in source.columns if each.node not in taken]
    return Source(more.sql, (*rest, *more.columns[before:]))


def _parts(tree: "exp.Expr") -> "Sequence[exp.Expr]":
    """The parts of ``(a, b)``, or what stands alone."""
    return tree.expressions if tree.key == "tuple" else [tree]


def _wanted(pivot: "exp.Expr") -> "exp.Expr":
    """The part ``FOR ... IN (...)``."""
    fields: Sequence[exp.Expr] = pivot.args.get("fields") or []
    if not is_plain_part(pivot, _DERIVED) or len(fields) != 1 or fields[0].key != "in":
        raise refused("UNPIVOT of this form" if pivot.args.get("unpivot") else "PIVOT of this form")
    if not fields[0].expressions or not pivot.expressions:
        raise refused("a pivot of this form")
    return fields[0]


def _shown(value: Node) -> str:
    """The name of a pivot's column that is made for a value."""
    if isinstance(value, Constant) and not isinstance(value.value, bool):
        if value.value is None:
            return "null"
        if value.type in INTEGRAL or value.type == STRING or isinstance(value.value, Decimal):
            return f"{value.value}"
    raise refused("PIVOT for a value without a name that is not a text or a number: add AS name")
