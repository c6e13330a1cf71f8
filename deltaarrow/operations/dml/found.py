"""DELETE, UPDATE and MERGE whose rows and values a query of an engine finds.

The query may mean anything that is no Spark SQL over one row: a subquery, or SQL of another dialect. It reads
the rows of the table with their file and position, and tells for each row that it finds the clause and the
new values. What is done with these rows is the same as for any other MERGE.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import deltaarrow.scan as scan
from deltaarrow.compute import quote_identifier
from deltaarrow.expressions import Predicate
from deltaarrow.features import is_supported
from deltaarrow.operations.commit.operation_parameters import predicates_parameter
from deltaarrow.operations.dml.changed_rows import exported_name
from deltaarrow.operations.dml.merge import Merge
from deltaarrow.operations.dml.merge_clauses import bind_clauses
from deltaarrow.operations.dml.merge_statement import MergeStatement
from deltaarrow.operations.dml.operation import RowOperation, file_metrics
from deltaarrow.operations.dml.row_scope import QueryCondition, RowScope, TopColumn
from deltaarrow.operations.dml.staging import StagedRows
from deltaarrow.schema import Schema

if TYPE_CHECKING:
    import duckdb

    from deltaarrow.transaction import RowMatcher

__all__ = ["RowQuery", "change_found_rows", "explain_found_rows"]


class RowQuery(Protocol):
    """A query of an engine that finds rows of a table."""

    @property
    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """What runs the query. It can read the files of the table."""

    @property
    def columns(self) -> Collection[str]:
        """The columns of the table that conditions and values read."""

    @property
    def predicate(self) -> Predicate | None:
        """What holds for each row of the table that is found or that matches; None if nothing is known."""

    @property
    def values(self) -> Schema:
        """The columns of new values."""

    @property
    def reads_table(self) -> bool:
        """Whether the query also reads rows of the table that it may not find."""

    @property
    def source_rows(self) -> int:
        """The number of rows of the source of a MERGE."""

    def sql(self, rows: str, columns: Mapping[str, str], *, has_marked: bool) -> str:
        """Return the query.

        Its columns are ``clause``, the number of the clause, those of `columns`, and `values` as ``s.name``.

        Args:
            rows: the SELECT of the rows of the table, once for one query.
            columns: the columns of `rows` to return, by their name in the result.
            has_marked: whether `rows` has marked rows, which have no position. Nothing may fail for them.
        """


def change_found_rows(operation: RowOperation, statement: MergeStatement, query: RowQuery) -> dict[str, Any]:
    """Change the rows that a query finds, and commit.

    Args:
        operation: begun as ``DELETE``, ``UPDATE`` or ``MERGE``.
        statement: the clauses. Values are columns of `RowQuery.values`, which is the source; conditions are
            for history alone.
        query: finds the rows.

    Returns the metrics under the names of ``deltalake``, as for `merge_rows`.

    Raises the exceptions of `merge_rows`, but of the query those of DuckDB where it cannot be bound.
    """
    if query.reads_table:
        operation.transaction.read_files()
        operation = replace(operation, begin_again=None)
    return operation.carry_out(
        lambda each: _FoundRows(each, statement, query).run(query.cursor, query.source_rows)
    )


def explain_found_rows(
    operation: RowOperation, statement: MergeStatement, query: RowQuery
) -> "scan.Explanation":
    """Return which files of the table `change_found_rows` reads; nothing is committed."""
    return _FoundRows(operation, statement, query).explain(query.cursor)


@dataclass(frozen=True)
class _Told(RowScope):
    """A scope whose conditions and values the engine has computed."""

    def only(self, alias: str) -> RowScope:
        return self

    def condition(self, text: str) -> QueryCondition:
        return QueryCondition(text, "true", can_fail=True)


class _FoundRows(Merge):
    """A MERGE with the rows that a query of an engine finds."""

    has_parts = False

    def __init__(self, operation: RowOperation, statement: MergeStatement, query: RowQuery) -> None:
        self.operation, self.statement, self._query = operation, statement, query
        tables = {statement.target_alias: operation.schema, statement.source_alias: query.values}
        sides = self.sides = {statement.target_alias: "t", statement.source_alias: "s"}

        def outside(alias: str, name: str) -> str:
            return f"j.{exported_name(sides[alias], name)}"

        target, now = statement.target_alias, operation.now_ms
        self.outer = _Told(tables, outside, target, now)
        self.clauses = bind_clauses(statement, operation.target, self.outer, self.outer, query.values)
        self.writes_changes = operation.has_change_feed and not statement.only_inserts

    @property
    def may_repeat(self) -> bool:
        """Whether the query may find a row more than once."""
        return self._name == "DELETE" or self.statement.only_inserts

    @property
    def _name(self) -> str:
        return self.operation.transaction.operation

    def parameters(self) -> dict[str, Any]:
        """The operation parameters of the history entry."""
        if self._name == "MERGE":
            return super().parameters()
        text = self.statement.predicate
        is_all = self._name == "UPDATE" and text == "true"
        return {"predicate": predicates_parameter(None if is_all else text)}

    def metrics(self, staged: StagedRows, source_rows: int) -> dict[str, int]:
        """The operation metrics of the history entry."""
        if self._name == "MERGE":
            return super().metrics(staged, source_rows)
        name = "numDeletedRows" if self._name == "DELETE" else "numUpdatedRows"
        return {name: staged.rows([0]), **file_metrics(staged)}

    def predicate(self, cursor: "duckdb.DuckDBPyConnection | None") -> Predicate | None:
        """Return the predicate of the rows of the table to read."""
        return self._query.predicate

    @property
    def columns(self) -> set[str]:
        """The columns of the table that the query reads."""
        alias = self.statement.target_alias
        return {name for each, name in self._exported() if each == alias} | {*self._query.columns}

    def _repeated_keys(self, cursor: "duckdb.DuckDBPyConnection", plan: scan.ScanPlan) -> str:
        return ""

    def _matcher(self, cursor: "duckdb.DuckDBPyConnection") -> "RowMatcher | None":
        return None

    def _joined(self, rows: str, exported: Sequence[TopColumn], ids: Sequence[str]) -> str:
        columns = {"file": scan.FILE_COLUMN, "row": scan.ROW_COLUMN}
        columns.update(zip(("row_id", "row_version"), ids, strict=False))
        alias = self.statement.target_alias
        columns |= {f"t.{name}": name for side, name in exported if side == alias}
        has_marked = is_supported(self.operation.snapshot.protocol, "deletionVectors")
        found = self._query.sql(rows, columns, has_marked=has_marked)
        names = ["clause", *columns, *(f"s.{each.name}" for each in self._query.values.fields)]
        return f"SELECT {', '.join(map(quote_identifier, names))} FROM (\n{found}\n) WHERE clause IS NOT NULL"
