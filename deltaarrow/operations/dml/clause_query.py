"""The query of a DELETE or UPDATE: one clause, over the rows of the table alone. Picklable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.compute import quote_identifier
from deltaarrow.operations.dml.changed_rows import ChangeQuery, Clause, exported_name, found_columns
from deltaarrow.operations.dml.row_scope import QueryCondition
from deltaarrow.schema import Schema

if TYPE_CHECKING:
    import duckdb

__all__ = ["GIVEN_VALUES", "ClauseQuery", "where_clause"]

GIVEN_VALUES = "deltaarrow_given"
"""The table of one row in which a query finds the Python values of its clause."""


@dataclass(frozen=True)
class ClauseQuery:
    """Makes the `ChangeQuery` of a statement with one clause, wherever it runs.

    Args:
        schema: the table after the operation.
        clause: the condition and the values.
        ids: the row tracking columns, or none.
        exported: the columns that the clause or the change data feed reads.
        old: the SQL of the old values, for the change data feed.
        given: the Python values that the clause reads, as arrays of one value, by column.
    """

    schema: Schema
    clause: Clause
    ids: Sequence[str]
    exported: Sequence[str]
    old: Mapping[str, str]
    given: Mapping[str, pa.Array] = field(default_factory=dict)

    def __call__(self, cursor: "duckdb.DuckDBPyConnection", rows: str) -> ChangeQuery:
        """Return the query, given the SELECT of the rows of a plan; it runs on this cursor."""
        if self.given:
            cursor.register(GIVEN_VALUES, pa.table(dict(self.given)))
        columns = [
            *found_columns("0::TINYINT", self.ids),
            *(f"t.{quote_identifier(name)} AS {exported_name('t', name)}" for name in self.exported),
        ]
        where = where_clause(self.clause.condition)
        return ChangeQuery(
            f"SELECT {', '.join(columns)} FROM ({rows}) AS t WHERE {where}",
            self.schema,
            [self.clause],
            has_row_ids=bool(self.ids),
            old=self.old,
        )


def where_clause(condition: QueryCondition) -> str:
    """Return a condition on the rows ``t`` that is not computed for deleted rows, so cannot fail there."""
    if not condition.can_fail:
        return condition.sql
    return f"CASE WHEN t.{scan.ROW_COLUMN} IS NOT NULL THEN {condition.sql} END"
