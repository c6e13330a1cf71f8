"""Rows of an INSERT: the word DEFAULT in VALUES or in a select list, and the types of values."""

import contextlib
import datetime
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_literal
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.scan import located_type
from deltaarrow.schema.metadata_keys import DEFAULT_KEY, GENERATION_KEY, IDENTITY_STEP_KEY
from deltaarrow.spark_sql import DefaultColumn, Words
from deltaarrow.sql.create_text import text_literal
from deltaarrow.variant import holds_variant

if TYPE_CHECKING:
    from deltaarrow.engines import Dialect
    from deltaarrow.schema import Field
    from deltaarrow.sql.rows.statements import Insert

__all__ = ["default_literal", "refusing_placement", "without_defaults"]

_EXCLUDING = ("GROUP BY", "HAVING", "UNION", "INTERSECT", "EXCEPT", "MINUS")
_BEHIND_LIST = ("FROM", "WHERE", "ORDER BY", "LIMIT", "OFFSET", "LATERAL", "WINDOW", *_EXCLUDING)
"""Words that end a select list."""


def without_defaults(
    statement: "Insert", columns: "Sequence[Field]", dialect: "Dialect"
) -> "tuple[str, list[Field]]":
    """Return the query of an INSERT without the word DEFAULT, and the columns that it has values for.

    A column that is left out of a write gets its default, so it is left out where DEFAULT stands for the same
    columns in each row of VALUES. Else DEFAULT becomes the value that the column has by default.

    Raises `UnsupportedFeatureError` for rows that differ in it if the value has no literal.
    """
    query = statement.query
    if query is None:
        query = f"VALUES ({', '.join('DEFAULT' for _ in columns)})"
    words = Words(query, dialect)
    if dialect == "spark" and "DEFAULT" not in query.upper():
        return query, list(columns)
    if not words.take("VALUES"):
        is_plain = dialect == "spark" and not (statement.by_name or statement.replaced)
        return _selecting_literals(words, columns) if is_plain else query, list(columns)
    rows = []
    while words.is_at("(") or dialect == "spark":
        rows.append(words.listed("a row") if words.is_at("(") else [words.expression(",")])
        if not words.take(","):
            break
    defaults = {
        frozenset(place for place, text in enumerate(row) if text.upper() == "DEFAULT") for row in rows
    }
    if not words.is_done or any(len(row) != len(columns) for row in rows):
        return query, list(columns)
    left_out = next(iter(defaults)) if len(defaults) == 1 else frozenset()
    if len(defaults) > 1:
        meant = {
            place: _default_of_rows(columns[place], dialect, "give rows with it an INSERT of their own")
            for place in set().union(*defaults)
        }
        rows = [
            [meant[place] if text.upper() == "DEFAULT" else text for place, text in enumerate(row)]
            for row in rows
        ]
    kept = [place for place in range(len(columns)) if place not in left_out]
    if not kept:
        kept, literal = _one_default(columns, dialect)
        rows = [[literal] * len(columns) for _ in rows]
    written = _typed if dialect == "duckdb" else _as_is
    listed = ", ".join(
        f"({', '.join(written(row[place], columns[place]) for place in kept)})" for row in rows
    )
    return f"VALUES {listed}", [columns[place] for place in kept]


def _selecting_literals(words: Words, columns: "Sequence[Field]") -> str:
    """A query whose select list has the literals of defaults in place of DEFAULT.

    As in Spark, DEFAULT is only in the list of one SELECT without groups, and is the whole value of a column.
    """
    items = [item for item, _ in _select_list(words)]
    if not items:
        return words.text
    rest = words.text[words.start :]
    has_star = any(each == "*" or each.endswith(".*") for each in items)
    has_default = any(each.upper() == "DEFAULT" for each in items)
    words.until(*_EXCLUDING)
    if has_star or not has_default or len(items) != len(columns) or not words.is_done:
        return words.text
    listed = [
        _default_of_rows(column, "spark", "leave the column out of the INSERT")
        if text.upper() == "DEFAULT"
        else text
        for text, column in zip(items, columns, strict=True)
    ]
    return f"SELECT {', '.join(listed)} {rest}"


def _select_list(words: Words) -> Iterator[tuple[str, int]]:
    """Yield the expressions of a select list, each with the index behind it; none with DISTINCT."""
    if not words.take("SELECT") or words.is_at("DISTINCT"):
        return
    yield words.until(",", *_BEHIND_LIST), words.start
    while words.take(","):
        yield words.until(",", *_BEHIND_LIST), words.start


@contextlib.contextmanager
def refusing_placement(query: str) -> Iterator[None]:
    """Raise Spark's error for a DEFAULT inside an expression of the select list of an INSERT.

    The block compiles the query: a column of this name is no DEFAULT.
    """
    try:
        yield
    except SchemaMismatchError as error:
        text, place = error.written_place or ("", 0)
        is_unknown = text == query and str(error).startswith("[UNRESOLVED_COLUMN")
        if is_unknown and (item := _item_at(query, place)) is not None:
            refusal = SchemaMismatchError(
                f"[DEFAULT_PLACEMENT_INVALID] DEFAULT is a part of {item!r}: it can only be the whole value"
                " of a column; write the default value here"
            )
            refusal.place = text, place
            raise refusal from None
        raise


def _item_at(query: str, place: int) -> str | None:
    """The expression of the select list in which a DEFAULT is at a place; None if there is none."""
    if not re.match(r"DEFAULT\b", query[place:], re.IGNORECASE):
        return None
    item = next((item for item, end in _select_list(Words(query, "spark")) if place < end), None)
    if item is None or item.strip("( )").upper() == "DEFAULT":
        return None
    return None if re.search(r"\bSELECT\b", item, re.IGNORECASE) else item


def default_literal(column: "Field", dialect: "Dialect") -> str | None:
    """Return the literal of a column's default value; None if it has none, as of a generated column."""
    if GENERATION_KEY in column.metadata or IDENTITY_STEP_KEY in column.metadata:
        return None
    text = column.metadata.get(DEFAULT_KEY)
    value = None if text is None else DefaultColumn(column.name, column.type, str(text)).value().as_py()
    match value:
        case None:
            return "NULL"
        case bool() | int() | Decimal():
            return str(value)
        case str() if dialect == "duckdb":
            return quote_literal(value)
        case str():
            return text_literal(value)
        case float() if math.isfinite(value):
            return f"{value!r}D" if dialect == "spark" else f"CAST('{value!r}' AS DOUBLE)"
        case datetime.datetime() if value.tzinfo is None:
            return f"TIMESTAMP_NTZ '{value}'" if dialect == "spark" else f"TIMESTAMP '{value}'"
        case datetime.datetime():
            return f"{'TIMESTAMP' if dialect == 'spark' else 'TIMESTAMPTZ'} '{value}'"
        case datetime.date():
            return f"DATE '{value}'"
    return None


def _one_default(columns: "Sequence[Field]", dialect: "Dialect") -> tuple[list[int], str]:
    """The place of a column, and the literal of its default, which stands for a row of defaults."""
    for place, column in enumerate(columns):
        literal = default_literal(column, dialect)
        if literal is not None:
            return [place], literal
    raise UnsupportedFeatureError(
        "a row of VALUES with DEFAULT alone is not supported in this table: give one column a value",
        feature="DEFAULT in VALUES",
    )


def _default_of_rows(column: "Field", dialect: "Dialect", instead: str) -> str:
    literal = default_literal(column, dialect)
    if literal is None:
        raise UnsupportedFeatureError(
            f"DEFAULT of {column.name} has no literal: {instead}", feature="DEFAULT in an INSERT"
        )
    return literal


def _as_is(text: str, column: "Field") -> str:
    return text


def _typed(text: str, column: "Field") -> str:
    """A value in the type of its column: DuckDB casts each, whatever values are in the other rows."""
    return text if holds_variant(column.type) else f"CAST(({text}\n) AS {located_type(column.type)})"
