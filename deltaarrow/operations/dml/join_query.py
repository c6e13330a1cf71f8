"""The query of a MERGE: the join of rows of the table with rows of the source. Picklable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import deltaarrow.scan as scan
from deltaarrow.compute import quote_identifier
from deltaarrow.display.marked_line import shortened
from deltaarrow.errors import DeltaError
from deltaarrow.operations.dml.changed_rows import ChangeQuery, Clause
from deltaarrow.operations.dml.merge_source import SOURCE, SourceRows
from deltaarrow.schema import Schema

if TYPE_CHECKING:
    import duckdb

__all__ = ["JoinQuery"]

_SHOWN_KEYS = 3


@dataclass(frozen=True)
class JoinQuery:
    """Makes the `ChangeQuery` of a MERGE, wherever it runs.

    Args:
        schema: the table after the operation.
        clauses: the clauses in statement order.
        ids: the row tracking columns, or none.
        old: the SQL of the old values, for the change data feed.
        columns: the columns of the join, over ``t``, rows of the table, and ``s``, rows of the source.
        join: the kind of join, such as ``INNER``.
        condition: the SQL of the match condition.
        effective: the SQL of the number of the clause that applies to joined rows; NULL if none does.
        keys: the columns of the source that the condition compares.
        source: the rows of the source to load first; None if the cursor has them.
        tells_source: whether the number of the matched source row is among `columns`.
    """

    schema: Schema
    clauses: Sequence[Clause]
    ids: Sequence[str]
    old: Mapping[str, str]
    columns: Sequence[str]
    join: str
    condition: str
    effective: str
    keys: Sequence[str]
    source: SourceRows | None = None
    tells_source: bool = False

    def __call__(self, cursor: "duckdb.DuckDBPyConnection", rows: str) -> ChangeQuery:
        """Return the query, given the SELECT of the rows of a plan; it runs on this cursor."""
        if self.source is not None:
            self.source.load(cursor)
        return ChangeQuery(
            self.joined(rows),
            self.schema,
            self.clauses,
            has_row_ids=bool(self.ids),
            old=self.old,
            tells_source=self.tells_source,
        )

    def joined(self, rows: str) -> str:
        """Return the SELECT of the joined rows to which a clause applies."""
        joined = (
            f"SELECT {', '.join(self.columns)} FROM ({rows}) AS t {self.join} JOIN {SOURCE} AS s"
            f" ON {self.condition}"
        )
        return f"SELECT * FROM ({joined}) WHERE clause IS NOT NULL"

    def repeated_keys(self, cursor: "duckdb.DuckDBPyConnection", plan: scan.ScanPlan) -> str:
        """Return the values that the condition compares in source rows which match one row; for an error."""
        import duckdb

        values = "".join(f"any_value(s.{quote_identifier(name)}), " for name in self.keys)
        try:
            rows = scan.located_rows(cursor, plan, f"deltaarrow_repeated_{plan.version}")
            found = cursor.execute(
                f"SELECT {values}count(*) FROM ({rows}) AS t JOIN {SOURCE} AS s ON {self.condition}"
                f" WHERE {self.effective} IS NOT NULL GROUP BY t.{scan.FILE_COLUMN},"
                f" t.{scan.ROW_COLUMN} HAVING count(*) > 1 ORDER BY ALL LIMIT {_SHOWN_KEYS}"
            ).fetchall()
        except (duckdb.Error, DeltaError, OSError):
            return ""
        keys = (zip(self.keys, row, strict=False) for row in found)
        shown = [", ".join(f"{name} = {shortened(repr(value))}" for name, value in key) for key in keys]
        return "; ".join(f"{key}: {many[-1]} rows" for key, many in zip(shown, found, strict=True) if key)
