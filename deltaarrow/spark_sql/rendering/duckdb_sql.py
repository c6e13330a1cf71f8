"""DuckDB SQL of an expression: columns under given names, quoted values, and no other user text."""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.spark_sql.rendering.rows import is_aggregate, is_query, is_window
from deltaarrow.spark_sql.tree.forms import given, guarded, let
from deltaarrow.spark_sql.tree.nodes import (
    OWN_NAME,
    Call,
    ColumnRef,
    Constant,
    Expression,
    Node,
    Path,
    is_volatile,
    refused,
    walk,
)
from deltaarrow.spark_sql.tree.row_errors import with_place
from deltaarrow.spark_sql.types.type_rules import STRING, VOID, sql_type

__all__ = ["rendered", "to_sandbox_sql", "to_sql"]

_MAX_SQL = 400_000
_OWN_NAME = re.compile(rf'"(?:{OWN_NAME}|lambda_\d)', re.IGNORECASE)
"""A column that a variable in our SQL may be called like."""
_LONG = 2_000
_PLACE = re.compile(r"(?<!\{)\{(\d+)\}(?!\})")


def to_sandbox_sql(
    expression: Expression,
    names: Mapping[Path, str] | None = None,
    *,
    now_ms: int | None = None,
) -> str:
    """DuckDB SQL that computes the expression over one relation.

    Timestamps, with and without a zone, must be DuckDB's TIMESTAMP in UTC in the relation.

    Args:
        expression: from `parse_expression`.
        names: the column of the relation for each path; by default the names joined with dots.
        now_ms: the value of ``current_timestamp()``, in milliseconds since 1970; required if the expression
            is not deterministic.

    Raises:
        UnsupportedFeatureError: the SQL of the expression becomes too long.
    """
    given = names or {path: ".".join(path) for path in expression.columns}
    return to_sql(expression, {path: quote_identifier(name) for path, name in given.items()}, now_ms=now_ms)


def to_sql(expression: Expression, columns: Mapping[Path, str], *, now_ms: int | None = None) -> str:
    """Like `to_sandbox_sql`, but with the SQL of each column, in the type that it has there."""
    time = "NULL"
    if now_ms is not None:
        time = f"make_timestamp({now_ms * 1000})"
    elif not expression.is_deterministic:
        raise refused("the time of day without a clock")
    return f"CAST({rendered(expression.root, columns, time)} AS {sql_type(expression.type)})"


def rendered(node: Node, columns: Mapping[Path, str], now: str = "NULL") -> str:
    """The SQL of a node, given the SQL of its columns and of the current time."""
    if isinstance(node, ColumnRef):
        sql = columns[node.path]
        if _OWN_NAME.search(sql):
            raise refused(f"a column with the name {'.'.join(node.path)}")
        return sql
    if isinstance(node, Constant):
        return _literal(node)
    assert isinstance(node, Call)
    operands = [rendered(operand, columns, now) for operand in node.operands]
    sql = node.sql if node.place is None else with_place(node.sql, node.place)
    for place in reversed([*_repeated(node, operands)]):
        sql = _once(sql, place, has_guard=place < guarded(node.sql))
    sql = sql.format(*operands, now=now)
    if len(sql) > _MAX_SQL:
        raise refused("an expression of this complexity")
    return f"({sql})"


def _once(sql: str, place: int, *, has_guard: bool) -> str:
    """SQL that computes an operand once; beside a guard only where the operands before it are not NULL."""
    name = f"{OWN_NAME}long{place}"
    bound = let(re.sub(rf"(?<!\{{)\{{{place}\}}(?!\}})", name, sql), **{name: f"{{{place}}}"})
    return given(bound, place) if has_guard and place else bound


def _repeated(node: Call, operands: Sequence[str]) -> Iterator[int]:
    """The operands to compute once, of long SQL or volatile, that the SQL of the call has more than once.

    An operand that can fail is one only if it comes first, or if the call is NULL wherever an operand is:
    others may stand in a branch that is not taken.
    The operands of a call over rows are of other rows than the call, so none of them can be named outside.
    The call is computed inside a lambda then, where DuckDB takes no subquery.
    """
    is_over_rows = is_aggregate(node) or is_window(node)
    places = [int(found[1]) for found in _PLACE.finditer(node.sql)]
    for place, sql in enumerate(operands):
        is_first = places[:1] == [place] or place < guarded(node.sql)
        may_bind = not is_over_rows and (is_first or not node.operands[place].can_fail)
        if places.count(place) < 2:
            continue
        others = (*node.operands[:place], *node.operands[place + 1 :])
        is_bound = may_bind and not any(is_query(part) for each in others for part in walk(each))
        if is_bound and (len(sql) > _LONG or is_volatile(node.operands[place])):
            yield place
        elif is_volatile(node.operands[place]):
            raise refused(f"{node.name} of a value at random")


def _literal(node: Constant) -> str:
    value = node.value
    if node.type == VOID:
        return "NULL"
    if value is None:
        text = "NULL"
    elif isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    elif isinstance(value, str):
        return f"({quote_literal(value)})" if node.type == STRING else _unknown(node)
    elif isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    elif isinstance(value, int | float):
        text = quote_literal(repr(value))
    elif isinstance(value, Decimal):
        text = quote_literal(f"{value:f}")
    elif isinstance(value, datetime.datetime):
        text = quote_literal(value.isoformat(sep=" "))
    elif isinstance(value, datetime.date):
        text = quote_literal(value.isoformat())
    else:
        return _unknown(node)
    return f"CAST({text} AS {sql_type(node.type)})"


def _unknown(node: Constant) -> str:
    raise refused(f"a literal of {type(node.value).__name__}")
