"""Statements and queries of Spark SQL in this process, run by a connection of `deltaarrow.connect`."""

from collections import deque

import pyarrow as pa

from deltaarrow.errors import AppendOnlyError, CommitFailedError
from deltaarrow.pipeline.engine import StatementReport
from deltaarrow.pipeline.reports import report_on
from deltaarrow.sql import connect

__all__ = ["OneNodeEngine"]


class OneNodeEngine:
    """Runs statements in this process, with DuckDB and the methods of `DeltaTable`."""

    def __init__(self) -> None:
        self._connection = connect(dialect="spark")

    def run(self, statement: str) -> StatementReport | None:
        """Run one statement, or a query to its end.

        Raises what `DeltaConnection.run` raises, and `duckdb.Error` for a row that cannot be computed.
        """
        result = self._connection.run(statement)
        if isinstance(result, pa.Table):
            return report_on(statement, result)
        if result is not None:
            deque(result.to_arrow_reader(), maxlen=0)
        return None

    def is_conflict(self, error: Exception) -> bool:
        """Whether another writer of the table was quicker than a statement."""
        return isinstance(error, CommitFailedError) and not isinstance(error, AppendOnlyError)
