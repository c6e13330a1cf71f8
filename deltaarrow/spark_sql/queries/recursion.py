"""WITH RECURSIVE: a query whose second half reads its own rows.

The first half makes the rows of level 1. The second half makes the rows of each further level out of those of
the level before, until it makes none. Spark raises an error for a level or a row too many; so DuckDB keeps
the level, and the number of rows up to it, in two further columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.errors import DeltaError, SchemaMismatchError
from deltaarrow.schema import DataType
from deltaarrow.spark_sql.functions.aggregate import find_aggregate
from deltaarrow.spark_sql.queries.blocks import Query, Writer
from deltaarrow.spark_sql.queries.context import Around, Context, Cte, renamed, unique_keys
from deltaarrow.spark_sql.queries.query_parsing import MOST_LEVELS
from deltaarrow.spark_sql.tree.nodes import refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import has_same_shape, type_name, wider_type

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["is_recursive", "recursive"]

_MOST_LEVELS = 100
_MOST_ROWS = 1_000_000
_OF_ROWS = ("group", "having", "windows", "qualify", "order", "sort")
_HIDING_LEFT, _HIDING_RIGHT, _TESTING = ("RIGHT", "FULL"), ("LEFT", "FULL"), ("SEMI", "ANTI")
"""The sides of joins that may leave rows of the left or of the right without a match, and kinds of joins."""


def is_recursive(definition: "exp.Expr") -> bool:
    """Whether the query of a name in WITH RECURSIVE reads the name."""
    return any(True for _ in _references(definition.this, definition.args["alias"].name))


def recursive(context: Context, writer: Writer, definition: "exp.Expr", around: Around) -> tuple[str, Cte]:
    """The SQL that defines the name, with its columns, and what the queries after it see.

    Raises `SchemaMismatchError` with Spark's class for what Spark refuses.
    """
    alias = definition.args["alias"]
    first, step = _halves(definition.this, alias.name)
    inside = replace(around, is_top=False)
    names = [each.name for each in alias.args.get("columns") or []]
    start = renamed(context.query(first, inside), names, alias.name)
    cte = Cte(f"c{context.alias()}", start.columns)
    rest = context.query(step, replace(inside, ctes={**around.ctes, alias.name.lower(): cte}))
    most = definition.meta.get(MOST_LEVELS, _MOST_LEVELS)
    return _defined(context, writer, cte, (start, rest), most), cte


def _defined(context: Context, writer: Writer, cte: Cte, halves: tuple[Query, Query], most: int) -> str:
    keys = [each.key for each in cte.columns]
    *_, level, rows = map(quote_identifier, unique_keys([*keys, "level", "rows"]))
    first, rest = (context.nested(writer, each, ()) for each in halves)
    if len(first.columns) != len(rest.columns):
        raise SchemaMismatchError(
            f"[NUM_COLUMNS_MISMATCH] UNION ALL of queries with {len(first.columns)} and {len(rest.columns)}"
            " columns"
        )
    for one, other in zip(first.columns, rest.columns, strict=True):
        _ensure_fits(one.field.type, other.field.type)
    started = [writer.native(each.node) for each in first.columns]
    made = [
        writer.native(cast(each.node, one.field.type))
        for one, each in zip(first.columns, rest.columns, strict=True)
    ]
    name, before = quote_identifier(cte.alias), quote_identifier(context.alias())
    told = f"(SELECT any_value({level}) AS {level}, any_value({rows}) AS {rows} FROM {name}) AS {before}"
    columns = ", ".join([*map(quote_identifier, keys), level, rows])
    counted = _limited(f"{before}.{rows} + count(*) OVER ()", _MOST_ROWS, "ROW")
    return (
        f"{name}({columns}) AS (SELECT {', '.join(started)}, {_limited('1', most, 'LEVEL')},"
        f" {_limited('count(*) OVER ()', _MOST_ROWS, 'ROW')} FROM {first.sql} UNION ALL"
        f" SELECT {', '.join(made)}, {_limited(f'{before}.{level} + 1', most, 'LEVEL')}, {counted}"
        f" FROM {rest.sql} CROSS JOIN {told})"
    )


def _limited(count: str, most: int, what: str) -> str:
    message = f"[RECURSION_{what}_LIMIT_EXCEEDED] a recursive query has more than {most} {what.lower()}s"
    return f"CASE WHEN {count} > {most} THEN error('{message}') ELSE {count} END"


def _ensure_fits(one: DataType, other: DataType) -> None:
    """The rows of later levels have the types of the first one."""
    try:
        if has_same_shape(one, other) or wider_type(one, other) == one:
            return
    except DeltaError:
        pass
    raise SchemaMismatchError(
        "[CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE] a column of a recursive query begins with"
        f" {type_name(one)} and goes on with {type_name(other)}: cast one of them"
    )


# --- where the name may stand ----------------------------------------------------------------------


def _halves(query: "exp.Expr", name: str) -> "tuple[exp.Expr, exp.Expr]":
    """The first half, which does not read the name, and the second."""
    if query.key == "union" and query.args.get("distinct"):
        raise SchemaMismatchError(
            "[UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE] a recursive query has UNION ALL, not UNION"
        )
    parts = ("with_", "order", "limit", "offset")
    is_plain = query.key == "union" and not any(query.args.get(each) for each in parts)
    if not is_plain or any(True for _ in _references(query.this, name)):
        raise SchemaMismatchError(
            f"[INVALID_RECURSIVE_CTE] the query of {name} is to be two queries that UNION ALL joins, of which"
            f" the second one alone reads {name}"
        )
    for each in _references(query.expression, name):
        _ensure_place(each, query)
    return query.this, query.expression


def _references(query: "exp.Expr", name: str) -> Iterator["exp.Expr"]:
    """The places in FROM where the name stands."""
    for each in query.walk():
        is_alone = each.key == "table" and not each.args.get("db") and each.this.key == "identifier"
        if is_alone and each.this.name.lower() == name.lower():
            yield each


def _ensure_place(node: "exp.Expr", query: "exp.Expr") -> None:
    """Go up from the name to the recursive query."""
    while node.parent is not query:
        above = node.parent
        assert above is not None
        if above.key == "join" and (_is_at(above, "side", _HIDING_RIGHT) or _is_at(above, "kind", _TESTING)):
            raise _misplaced()
        if above.key == "select":
            joins = above.args.get("joins") or []
            later = joins[joins.index(node) + 1 :] if node in joins else joins
            if any(_is_at(each, "side", _HIDING_LEFT) for each in later) or _is_over_rows(above):
                raise _misplaced()
        elif above.key not in ("from", "join", "subquery", "union") or above.args.get("distinct"):
            raise refused("a recursive name in a subquery of an expression, in UNION, INTERSECT or EXCEPT")
        node = above


def _is_at(join: "exp.Expr", part: str, words: Sequence[str]) -> bool:
    return str(join.args.get(part) or "").upper() in words


def _is_over_rows(select: "exp.Expr") -> bool:
    """Whether a SELECT computes something of several rows."""
    if any(select.args.get(each) for each in _OF_ROWS):
        return True
    calls = (each for part in select.expressions for each in part.walk())
    return any(
        each.key == "window" or (each.key == "anonymous" and find_aggregate(str(each.this)) is not None)
        for each in calls
    )


def _misplaced() -> SchemaMismatchError:
    return SchemaMismatchError(
        "[INVALID_RECURSIVE_REFERENCE.PLACE] the name of a recursive query stands where rows of several are"
        " computed, or on the side of a join that may be without a match: let it stand in a plain FROM"
    )
