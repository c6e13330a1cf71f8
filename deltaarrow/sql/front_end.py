"""`FrontEnd`: decides for each text of a `DeltaConnection` whether deltaarrow or DuckDB runs it.

This module is loaded with every connection, so it loads what statements need when there is one.
"""

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from deltaarrow.engines import DeltaConnection, Dialect, Parameters
from deltaarrow.errors import DeltaError
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaarrow.sql.session import Session

__all__ = ["FrontEnd"]

_FIRST_WORD = re.compile(r"(?:[\s;]|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)", re.DOTALL)
_OURS = frozenset(("CONVERT", "FSCK", "GENERATE", "OPTIMIZE", "REORG", "RESTORE"))
"""First words of statements that DuckDB does not have."""

_HAS_OURS = re.compile(
    rf"\b(?:{'|'.join(sorted(_OURS))}|VACUUM|ANALYZE\s+TABLE|R?E?SET\s+spark)\b", re.IGNORECASE
)
"""Finds what may be a statement that DuckDB does not have, so that DuckDB cannot split the text."""

_CHANGES = re.compile(r"\b(?:INSERT|DELETE|UPDATE|MERGE)\b", re.IGNORECASE)
"""Finds what may be a change of rows after a WITH clause."""

_OF_TRANSACTIONS = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT")
_SETTING = re.compile(r"\s+spark\.", re.IGNORECASE)
"""What follows the SET or RESET of one of Spark's settings."""

_QUERIES = frozenset(("", "SELECT", "WITH", "FROM", "VALUES", "PIVOT", "UNPIVOT", "PRAGMA", "TABLE"))
"""First words of DuckDB's statements that change nothing, and that DuckDB runs."""

_lazily = lazy_attributes(
    __name__,
    {
        "Session": "deltaarrow.sql.session",
        "inspected": "deltaarrow.sql.describe.inspections",
        "query_error": "deltaarrow.sql.error_positions",
        "run_statement": "deltaarrow.sql.running",
        "show_place": "deltaarrow.sql.error_positions",
        "shown_places": "deltaarrow.sql.error_positions",
        "split_statements": "deltaarrow.spark_sql",
    },
)


class FrontEnd:
    """Reads texts in a dialect, for one connection or cursor.

    Args:
        dialect: that of texts which come without one.
        progress: told how much of a long statement is done, and of how much.
    """

    def __init__(self, dialect: Dialect, progress: Callable[[int, int], None] | None = None) -> None:
        if dialect not in ("duckdb", "spark"):
            raise ValueError(f"the dialect is 'duckdb' or 'spark', not {dialect!r}")
        self.dialect: Dialect = dialect
        self._progress = progress
        self._session: Session | None = None

    def cursor(self) -> "FrontEnd":
        """Return the front end of another cursor."""
        return FrontEnd(self.dialect, self._progress)

    def split(self, text: str, dialect: Dialect) -> list[str] | None:
        """Return the statements of a text; None to let DuckDB split it."""
        if dialect == "duckdb" and _HAS_OURS.search(text) is None:
            return None
        with _lazily("shown_places")(text, dialect):
            found: list[str] = _lazily("split_statements")(text, dialect)
        return found

    def run(
        self, connection: DeltaConnection, statement: str, parameters: Parameters, dialect: Dialect
    ) -> "str | pa.Table":
        """Run a statement that is about Delta tables and return its result, or return a query for DuckDB.

        Such a query names Delta tables as `DeltaConnection` knows them.

        Raises what the grammar of the dialect and the methods of `DeltaTable` raise.
        """
        if dialect == "duckdb":
            first = _FIRST_WORD.match(statement)
            if first is None or not _may_be_ours(connection, statement, first):
                return statement
        session = self._session = self._session or _lazily("Session")(connection)
        session.progress = self._progress
        result: str | pa.Table = _lazily("run_statement")(session, statement, parameters, dialect)
        return result

    def row_errors(self, statement: str) -> Callable[[Exception], Exception | None]:
        """Return what makes the errors of rows of the query in Spark's dialect that was run last.

        It is given DuckDB's error, and returns None for one that is not about a row.
        """
        calls = () if self._session is None else self._session.calls
        return functools.partial(_lazily("query_error"), statement, calls)

    def show_place(self, error: DeltaError, statement: str) -> None:
        """Let an error show its place in a statement in DuckDB's dialect."""
        _lazily("show_place")(error, statement, "duckdb")

    def inspect(self, function: str, table: Snapshot) -> "pa.Table":
        """Return the rows of a function about a table, such as ``delta_history``."""
        found: pa.Table = _lazily("inspected")(function, table)
        return found


def _may_be_ours(connection: DeltaConnection, statement: str, first: "re.Match[str]") -> bool:
    """Whether a statement in DuckDB's dialect may be about Delta tables and change something."""
    word = first[1].upper()
    if word in _OF_TRANSACTIONS:
        return True
    if word in ("SET", "RESET"):
        return _SETTING.match(statement, first.end()) is not None
    if word == "WITH":
        return _CHANGES.search(statement, first.end()) is not None and connection.names_tables(statement)
    return word in _OURS or (word not in _QUERIES and connection.names_tables(statement))
