"""GROUP BY: its keys and grouping sets, and the SELECT that computes keys and aggregates.

Groups are computed in a SELECT of their own, with one column for each key and each aggregate. Everything that
uses them (the select list, HAVING, windows, ORDER BY) is in the SELECT around it and reads these columns.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.spark_sql.functions.aggregate import is_aggregate
from deltaarrow.spark_sql.queries.blocks import AS_IS, Writer, normalized, substituted
from deltaarrow.spark_sql.queries.context import Context, Source
from deltaarrow.spark_sql.queries.expressions import GROUPING, is_plain_part
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Node, refused, walk
from deltaarrow.spark_sql.types.type_rules import VARIANT, type_name

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["GroupKeys", "aggregates_in", "ensure_groupable", "group_keys", "grouped", "projected"]

_MOST_SETS = 4096


@dataclass(frozen=True)
class GroupKeys:
    """The keys of GROUP BY without duplicates, and the sets of them; None for one set of all."""

    nodes: tuple[Node, ...]
    sets: tuple[tuple[int, ...], ...] | None


def group_keys(group: "exp.Expr", bind: "Callable[[exp.Expr], Node]") -> GroupKeys:
    """The keys of a GROUP BY clause that lists them; `bind` binds one of them."""
    if not is_plain_part(group, {"expressions", "rollup", "cube", "grouping_sets"}):
        raise refused("GROUP BY of this form")
    found: list[Node] = []

    def place(node: "exp.Expr") -> int:
        key = bind(node)
        ensure_groupable(key.type, "GROUP BY")
        if key not in found:
            found.append(key)
        return found.index(key)

    def places(node: "exp.Expr") -> tuple[int, ...]:
        if node.key == "tuple":
            return tuple(place(each) for each in node.expressions)
        return (place(node.this if node.key == "paren" else node),)

    def sets_of(node: "exp.Expr") -> list[tuple[int, ...]]:
        parts = [places(each) for each in node.expressions if node.key in ("rollup", "cube")]
        if node.key == "rollup":
            return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
        if node.key == "cube":
            return [
                _joined(chosen)
                for length in range(len(parts), -1, -1)
                for chosen in itertools.combinations(parts, length)
            ]
        if node.key == "groupingsets":
            return [one for each in node.expressions for one in _nested(each)]
        return [(place(node),)]

    def _nested(node: "exp.Expr") -> list[tuple[int, ...]]:
        return sets_of(node) if node.key in ("rollup", "cube", "groupingsets") else [places(node)]

    listed = [sets_of(each) for each in group.expressions]
    everything = tuple(range(len(found)))
    for name in ("rollup", "cube", "grouping_sets"):
        for each in group.args.get(name) or []:
            if each.expressions:
                made = sets_of(each)
                listed = listed if name != "grouping_sets" else []
            elif name == "rollup":
                made, listed = [everything[:length] for length in range(len(found), -1, -1)], []
            else:
                chosen = (itertools.combinations(everything, n) for n in range(len(found), -1, -1))
                made, listed = list(itertools.chain(*chosen)), []
            listed.append(made)
    if all(len(each) == 1 for each in listed):
        return GroupKeys(tuple(found), None)
    count = 1
    for each in listed:
        count *= len(each)
    if count > _MOST_SETS:
        raise refused(f"{count} grouping sets")
    sets = [_joined(each) for each in itertools.product(*listed)]
    return GroupKeys(tuple(found), tuple(sets))


def _joined(parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(itertools.chain.from_iterable(parts)))


def ensure_groupable(data_type: DataType, clause: str) -> None:
    """Refuse a type of which Spark cannot tell whether two values are equal."""
    if isinstance(data_type, MapType) or data_type == VARIANT:
        is_map = isinstance(data_type, MapType) and "GROUP BY" not in clause and clause != "PIVOT"
        kind = "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE" if is_map else None
        raise refused(f"{clause} of {type_name(data_type)}", error_class=kind)
    if isinstance(data_type, ArrayType):
        ensure_groupable(data_type.element_type, clause)
    if isinstance(data_type, StructType):
        for each in data_type.fields:
            ensure_groupable(each.type, clause)


def aggregates_in(nodes: Iterable[Node]) -> list[Node]:
    """The aggregates in some expressions, each once."""
    return list(dict.fromkeys(found for node in nodes for found in _aggregates(node)))


def _aggregates(node: Node) -> Iterator[Node]:
    if is_aggregate(node):
        yield node
    elif isinstance(node, Call):
        for each in node.operands:
            yield from _aggregates(each)


def grouped(
    context: Context,
    writer: Writer,
    source: Source,
    where: Node | None,
    keys: GroupKeys,
    used: Sequence[Node],
) -> tuple[str, Callable[[Node], Node]]:
    """The SELECT over the groups as a relation, and the rewriting of expressions to its columns.

    Args:
        context: gives names.
        writer: of the SELECT.
        source: the relations in FROM.
        where: the condition of WHERE.
        keys: of GROUP BY; none for one group of everything.
        used: the expressions that are computed from the groups.
    """
    rows = f" FROM {source.sql}" if source.sql else ""
    rows += f" WHERE {writer.condition(where)}" if where is not None else ""
    alias = context.alias()
    aggregates = aggregates_in(used)
    known: dict[Node, Node] = {}
    selected, tail = [], ""
    if keys.sets is None:
        for place, key in enumerate(keys.nodes):
            selected.append(f"{writer.native(normalized(key))} AS {quote_identifier(f'k{place}')}")
            known[key] = ColumnRef((alias, f"k{place}"), key.type)
        if keys.nodes:
            tail = " GROUP BY " + ", ".join(str(place) for place in range(1, len(keys.nodes) + 1))
        computed = {each: each for each in aggregates}
    else:
        plain = [each for each in aggregates if not _is_grouping(each)]
        made = [normalized(each) for each in keys.nodes]
        refs, columns, rows = projected(context, writer, made, plain, rows)
        below = dict(zip(keys.nodes, refs, strict=True))
        for place, key in enumerate(keys.nodes):
            name = quote_identifier(f"k{place}")
            selected.append(f"{writer.column(below[key])} AS {name}")
            known[key] = ColumnRef((alias, f"k{place}"), key.type)
        names = [writer.column(below[key]) for key in keys.nodes]
        listed = (f"({', '.join(names[place] for place in each)})" for each in keys.sets)
        # Without rows Spark has no groups, not even that of the empty set.
        tail = f" GROUP BY GROUPING SETS ({', '.join(listed)}) HAVING count(*) > 0"
        computed = {
            each: substituted(each, {**below} if _is_grouping(each) else columns) for each in aggregates
        }
    for place, (aggregate, node) in enumerate(computed.items()):
        selected.append(f"{_aggregated(writer, node)} AS {quote_identifier(f'a{place}')}")
        known[aggregate] = ColumnRef((alias, f"a{place}"), aggregate.type)
    if not selected:
        selected.append('count(*) AS "a0"')
    writer.own.add(alias)
    sql = f"(SELECT {', '.join(selected)}{rows}{tail}) AS {quote_identifier(alias)}"
    hidden = {name for each in source.columns for name in _aliases(each.node)}

    def rewritten(node: Node) -> Node:
        found = substituted(node, known, with_constants=keys.sets is not None)
        for each in walk(found):
            if isinstance(each, ColumnRef):
                path = each.path[1:] if each.path[0] == AS_IS else each.path
                if path[0] in hidden:
                    named = "MISSING_AGGREGATION" if keys.nodes else "MISSING_GROUP_BY"
                    raise SchemaMismatchError(
                        f"[{named}] the column `{'.'.join(path[1:])}` is neither in GROUP BY nor"
                        " in an aggregate: add it to GROUP BY, or use any_value"
                    )
        return found

    return sql, rewritten


def _aggregated(writer: Writer, node: Node) -> str:
    """The SQL of an aggregate; what GROUPING reads has no form but its own."""
    if _is_grouping(node) and isinstance(node, Call):
        columns = [writer.column(each) for each in node.operands if isinstance(each, ColumnRef)]
        return node.sql.format(*columns)
    return writer.native(node)


def _is_grouping(node: Node) -> bool:
    return isinstance(node, Call) and node.name == GROUPING


def _aliases(node: Node) -> set[str]:
    return {each.path[0] for each in walk(node) if isinstance(each, ColumnRef)}


def projected(
    context: Context, writer: Writer, keys: Sequence[Node], others: Sequence[Node], rows: str
) -> tuple[list[ColumnRef], dict[Node, Node], str]:
    """A SELECT below: some computed values, and apart from them the columns that other expressions read.

    Returns the columns of the values, the new column of each old one, and the FROM clause.
    """
    alias = context.alias()
    selected = [f"{writer.native(key)} AS {quote_identifier(f'k{place}')}" for place, key in enumerate(keys)]
    made = [ColumnRef((alias, f"k{place}"), key.type) for place, key in enumerate(keys)]
    columns: dict[Node, Node] = {}
    for each in (part for node in others for part in walk(node)):
        if not isinstance(each, ColumnRef):
            continue
        column = ColumnRef(each.path[1:], each.type) if each.path[0] == AS_IS else each
        if column.path[0] in writer.own and column not in columns:
            name = f"c{len(columns)}"
            columns[column] = ColumnRef((alias, name), column.type)
            selected.append(f"{writer.column(column)} AS {quote_identifier(name)}")
    sql = f" FROM (SELECT {', '.join(selected) or '1'}{rows}) AS {quote_identifier(alias)}"
    writer.own.add(alias)
    return made, columns, sql
