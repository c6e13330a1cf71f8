"""Rows of VALUES in an INSERT: the word DEFAULT, and the types of their values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.scan import located_type
from deltaarrow.spark_sql import Words
from deltaarrow.variant import holds_variant

if TYPE_CHECKING:
    from deltaarrow.engines import Dialect
    from deltaarrow.schema import Field
    from deltaarrow.sql.statements.rows import Insert

__all__ = ["without_defaults"]


def without_defaults(
    statement: "Insert", columns: "Sequence[Field]", dialect: "Dialect"
) -> "tuple[str, list[Field]]":
    """Return the query of an INSERT without the word DEFAULT, and the columns that it has values for.

    A column that is left out of a write gets its default. So DEFAULT has to stand for the same columns in
    each row of VALUES.

    Raises `UnsupportedFeatureError` for rows that differ in it.
    """
    query = statement.query or ""
    words = Words(query, dialect)
    if not words.take("VALUES") or (dialect == "spark" and "DEFAULT" not in query.upper()):
        return query, list(columns)
    rows = []
    while words.is_at("("):
        rows.append(words.listed("a row"))
        if not words.take(","):
            break
    defaults = {
        frozenset(place for place, text in enumerate(row) if text.upper() == "DEFAULT") for row in rows
    }
    if not words.is_done or any(len(row) != len(columns) for row in rows):
        return query, list(columns)
    if len(defaults) > 1:
        raise UnsupportedFeatureError(
            "DEFAULT has to stand for the same columns in each row of VALUES: give the other rows an INSERT"
            " of their own",
            feature="DEFAULT in VALUES",
        )
    (left_out,) = defaults
    kept = [place for place in range(len(columns)) if place not in left_out]
    if not kept:
        raise UnsupportedFeatureError(
            "a row of VALUES with DEFAULT alone is not supported: give one column a value",
            feature="DEFAULT in VALUES",
        )
    written = _typed if dialect == "duckdb" else _as_is
    listed = ", ".join(
        f"({', '.join(written(row[place], columns[place]) for place in kept)})" for row in rows
    )
    return f"VALUES {listed}", [columns[place] for place in kept]


def _as_is(text: str, column: "Field") -> str:
    return text


def _typed(text: str, column: "Field") -> str:
    """A value in the type of its column: DuckDB casts each, whatever values are in the other rows."""
    return text if holds_variant(column.type) else f"CAST(({text}\n) AS {located_type(column.type)})"
