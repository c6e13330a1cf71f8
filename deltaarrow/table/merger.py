"""`TableMerger`: what ``table.merge(...)`` returns, with the names and meanings of ``deltalake``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import deltaarrow.operations as operations
from deltaarrow.operations import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.dml import ClauseKind, MergeClause, MergeStatement, When
from deltaarrow.table.target import StatementTarget
from deltaarrow.write import WriterProperties, to_reader

if TYPE_CHECKING:
    from deltaarrow.scan import Explanation

__all__ = ["TableMerger"]


@dataclass
class TableMerger:
    """A MERGE that is being put together: its methods add clauses, and `execute` runs it.

    For a row of the table that a row of the source matches, and likewise for the others, the first clause
    counts whose predicate is TRUE; if there is none, the row stays as it is. Expressions are Spark SQL over
    the columns of both tables, with their aliases in front where a name is in both.

    Args:
        table: the table, which moves to the version that is made.
        source: the data; see `DeltaTable.merge`.
        predicate: by which rows match.
        source_alias: what expressions call the source.
        target_alias: what expressions call the table.
        merges_schema: whether the table gains the columns that it lacks.
        writer_properties: how Parquet is written.
        memory_limit: what the join may take before it spills.
        commit_properties: what else goes into the commit.
        hook_properties: whether checkpoints are written.
    """

    table: StatementTarget
    source: Any
    predicate: str
    source_alias: str = "source"
    target_alias: str = "target"
    merges_schema: bool = False
    writer_properties: WriterProperties | None = None
    memory_limit: str | None = None
    commit_properties: CommitProperties | None = None
    hook_properties: PostCommitHookProperties | None = None
    clauses: tuple[MergeClause, ...] = ()

    def _add(
        self,
        when: When,
        kind: ClauseKind,
        predicate: str | None,
        values: Mapping[str, str] | None = None,
        except_columns: Sequence[str] | None = None,
    ) -> Self:
        clause = MergeClause(
            when, kind, predicate, None if values is None else dict(values), tuple(except_columns or ())
        )
        self.clauses = (*self.clauses, clause)
        return self

    def when_matched_update(self, updates: Mapping[str, str], predicate: str | None = None) -> Self:
        """Update rows that match: `updates` are expressions by the names of columns, or of members."""
        return self._add(When.MATCHED, ClauseKind.UPDATE, predicate, updates)

    def when_matched_update_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> Self:
        """Update all columns but `except_cols` of rows that match, by those of the source of their names."""
        return self._add(When.MATCHED, ClauseKind.UPDATE, predicate, None, except_cols)

    def when_matched_delete(self, predicate: str | None = None) -> Self:
        """Delete rows that match."""
        return self._add(When.MATCHED, ClauseKind.DELETE, predicate)

    def when_not_matched_insert(self, updates: Mapping[str, str], predicate: str | None = None) -> Self:
        """Insert rows of the source without a match: `updates` are expressions by the names of columns.

        Columns that are not named have their default, are generated, or are NULL.
        """
        return self._add(When.NOT_MATCHED, ClauseKind.INSERT, predicate, updates)

    def when_not_matched_insert_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> Self:
        """Insert rows of the source without a match, with all their columns but `except_cols`."""
        return self._add(When.NOT_MATCHED, ClauseKind.INSERT, predicate, None, except_cols)

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> Self:
        """Update rows of the table without a match; expressions read the table alone."""
        return self._add(When.NOT_MATCHED_BY_SOURCE, ClauseKind.UPDATE, predicate, updates)

    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> Self:
        """Delete rows of the table without a match."""
        return self._add(When.NOT_MATCHED_BY_SOURCE, ClauseKind.DELETE, predicate)

    def _statement(self) -> MergeStatement:
        return MergeStatement(
            self.predicate, self.clauses, self.source_alias, self.target_alias, self.merges_schema
        )

    @property
    def _reads_itself(self) -> bool:
        """Whether the source is the version of the table that is merged into."""
        if not isinstance(self.source, StatementTarget):
            return False
        source, target = self.source.snapshot, self.table.snapshot
        return (source.store.uri, source.version) == (target.store.uri, target.version)

    def _operation(self, statement: MergeStatement) -> "operations.RowOperation":
        return operations.RowOperation.begin(
            self.table.snapshot,
            "MERGE",
            writer_properties=self.writer_properties,
            commit_properties=self.commit_properties,
            hook_properties=self.hook_properties,
            memory_limit=self.memory_limit,
            only_adds=statement.only_inserts,
        )

    def execute(self) -> dict[str, Any]:
        """Run the merge, commit it, and return what it has done by the names of ``deltalake``'s metrics.

        Raises:
            SchemaMismatchError: a column is not there, or does not fit.
            InvalidPredicateError: a predicate is no condition, or has a text in double quotes for a column.
            UnsupportedFeatureError: several rows of the source match one row of the table, an expression is
                not supported, or the table has a feature that is not.
            ConstraintViolationError: a row breaks a rule of the table, or a value cannot be computed.
            CommitFailedError: another writer got in the way.
            CommitStateUnknownError: the store does not tell whether the commit was made.
            ValueError: there is no clause, or one behind another that leaves it no rows.
        """
        statement = self._statement()
        with self._operation(statement) as operation:
            if self._reads_itself:
                operation.transaction.read_files()
            metrics = operations.merge_rows(operation, statement, to_reader(self.source))
        self.table.follow_commit()
        return metrics

    def explain(self) -> "Explanation":
        """Return which files of the table the merge reads, and what leaves out the others.

        The source is read for the values of the columns by which rows match, unless it is a stream, which
        could not be read again; then the condition alone counts.
        """
        statement = self._statement()
        return operations.explain_merge(self._operation(statement), statement, self.source)
