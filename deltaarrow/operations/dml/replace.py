"""INSERT ... REPLACE: rows of the table that match a row of the source are deleted, and the source inserted.

It is the MERGE that deletes matched rows, except that every row of the source is inserted, matched or not.
So a key may be in several rows of the source. A source without rows deletes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaarrow.operations.dml.changed_rows import ClauseKind, exported_name, found_columns
from deltaarrow.operations.dml.merge import Merge, carry_out_merge
from deltaarrow.operations.dml.merge_statement import MergeClause, MergeStatement, When
from deltaarrow.operations.dml.operation import RowOperation, file_metrics
from deltaarrow.operations.dml.row_scope import TopColumn
from deltaarrow.operations.dml.staging import StagedRows

__all__ = ["replace_rows"]


def replace_rows(
    operation: RowOperation,
    predicate: str,
    source: pa.RecordBatchReader,
    values: Mapping[str, str],
    *,
    aliases: tuple[str, str],
    history: Mapping[str, str],
    merges_schema: bool = False,
    reads_itself: bool = False,
) -> dict[str, Any]:
    """Replace the rows of a table that match a row of the source by all rows of the source, and commit.

    Args:
        operation: begun as ``WRITE``.
        predicate: by which rows match, in Spark SQL.
        source: the new rows.
        values: what each column of an inserted row is, in Spark SQL over the source.
        aliases: those of the source and of the table.
        history: what the entry in history says of how rows match.
        merges_schema: whether columns of the source are added that the table lacks.
        reads_itself: whether the source has rows of the same version of the table.

    Returns the metrics under the names of ``deltalake``, as `merge_rows` does.

    Raises the exceptions of `merge_rows`.
    """
    clauses = [
        MergeClause(When.MATCHED, ClauseKind.DELETE),
        MergeClause(When.NOT_MATCHED, ClauseKind.INSERT, values=values),
    ]
    statement = MergeStatement(predicate, clauses, *aliases, merges_schema)
    return carry_out_merge(
        operation, lambda of: _Replacement(of, statement, source, history), reads_itself=reads_itself
    )


class _Replacement(Merge):
    """One run of an INSERT ... REPLACE on a version of the table; clause 0 deletes and clause 1 inserts."""

    has_parts = False

    def __init__(
        self,
        operation: RowOperation,
        statement: MergeStatement,
        source: pa.RecordBatchReader,
        history: Mapping[str, str],
    ) -> None:
        super().__init__(operation, statement, source)
        self._history = history

    @property
    def may_repeat(self) -> bool:
        """Whether the query may find a row more than once: it asks whether there is a match."""
        return False

    def parameters(self) -> dict[str, Any]:
        """The operation parameters of the history entry."""
        return {"mode": "Overwrite", "partitionBy": "[]", **self._history}

    def metrics(self, staged: StagedRows, source_rows: int) -> dict[str, int]:
        """The operation metrics of the history entry."""
        return {
            "numFiles": len(staged.added),
            "numOutputRows": source_rows + staged.copied_rows,
            "numOutputBytes": sum(each.size for each in staged.added),
            "numDeletedRows": staged.rows([0]),
            **file_metrics(staged),
        }

    def _joined(self, rows: str, exported: Sequence[TopColumn], ids: Sequence[str]) -> str:
        found = found_columns("CAST(0 AS TINYINT)", ids)
        matched = [*found, *self._columns(exported, "t")]
        every = ["CAST(1 AS TINYINT)", *["NULL"] * (len(found) - 1), *self._columns(exported, "s")]
        # A semi join, because a key may be in many rows of both sides.
        return (
            f"SELECT {', '.join(matched)} FROM ({rows}) AS t SEMI JOIN {self.source_name} AS s"
            f" ON {self.condition.sql} UNION ALL SELECT {', '.join(every)} FROM {self.source_name} AS s"
        )

    def _columns(self, exported: Sequence[TopColumn], side: str) -> list[str]:
        """The exported columns in rows that have those of one side alone."""
        return [
            f"{self.inner.column(each) if self.sides[each[0]] == side else 'NULL'}"
            f" AS {exported_name(self.sides[each[0]], each[1])}"
            for each in exported
        ]
