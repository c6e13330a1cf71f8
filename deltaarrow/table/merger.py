"""`TableMerger`: the result of ``table.merge(...)``, with the names and semantics of ``deltalake``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import deltaarrow.operations as operations
from deltaarrow.operations import CommitProperties, PostCommitHookProperties
from deltaarrow.operations.dml import ClauseKind, MergeClause, MergeStatement, When
from deltaarrow.spark_sql import spark_names, spark_text
from deltaarrow.table.absent_table_names import TellingTableNames
from deltaarrow.table.statement_target import StatementTarget
from deltaarrow.write import WriterProperties, to_reader

if TYPE_CHECKING:
    from deltaarrow.scan import Explanation

__all__ = ["TableMerger"]


@dataclass
class TableMerger(TellingTableNames):
    """A MERGE under construction: its methods add clauses, and `execute` runs it.

    A row takes the first clause of its kind (matched, not matched, not matched by source) whose predicate is
    TRUE. A row without such a clause stays unchanged, or is not inserted. Expressions are SQL over the
    columns of source and table; a name that both have needs an alias, such as ``source.id``.

    Args:
        table: the table, which moves to the committed version.
        source: the data; see `DeltaTable.merge`.
        predicate: the condition by which rows match.
        source_alias: the name of the source in expressions.
        target_alias: the name of the table in expressions.
        merges_schema: whether clauses may add columns of the source that the table lacks.
        writer_properties: Parquet settings of the written files.
        memory_limit: the memory that the join may use before it spills to disk.
        commit_properties: metadata and options of the commit.
        hook_properties: whether the commit writes checkpoints and deletes expired log files.
        clauses: the clauses so far.
        reads_table: whether the source was computed from the rows of the table at this version; so it is if
            the source is the table.
        dialect: the SQL of the expressions; see `DeltaTable`.
        tries: whether a value that does not fit the type of its column is replaced by NULL.
        spill_limit: the maximum number of bytes that the join spills to disk; unlimited if None.
        cuts_times: whether timestamps of the source lose their digits below microseconds.

    >>> import tempfile, pyarrow as pa
    >>> from deltaarrow import DeltaTable, write_deltalake
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "n": [10, 20]}))
    >>> source = pa.table({"id": [1, 2], "n": [0, 5]})
    >>> merger = DeltaTable(folder).merge(source, "target.id = source.id")
    >>> merger = merger.when_matched_delete(predicate="source.n = 0")
    >>> merger = merger.when_matched_update({"n": "target.n + source.n"})
    >>> metrics = merger.execute()
    >>> DeltaTable(folder).to_pyarrow_table().to_pylist()
    [{'id': 2, 'n': 25}]
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
    reads_table: bool = False
    dialect: str = "spark"
    tries: bool = False
    spill_limit: int | None = None
    cuts_times: bool = False

    def _add(
        self,
        when: When,
        kind: ClauseKind,
        predicate: str | None,
        values: Mapping[str, str] | None = None,
        except_columns: Sequence[str] | None = None,
    ) -> Self:
        clause = MergeClause(
            when,
            kind,
            spark_text(predicate, self.dialect),
            spark_names(values, self.dialect),
            tuple(except_columns or ()),
        )
        self.clauses = (*self.clauses, clause)
        return self

    def when_matched_update(self, updates: Mapping[str, str], predicate: str | None = None) -> Self:
        """Update matched rows.

        Args:
            updates: expressions by column name; a field of a struct is named with dots.
            predicate: a further condition for the clause.
        """
        return self._add(When.MATCHED, ClauseKind.UPDATE, predicate, updates)

    def when_matched_update_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> Self:
        """Update all columns of matched rows from the source columns of the same names.

        Args:
            predicate: a further condition for the clause.
            except_cols: columns that keep their values.
        """
        return self._add(When.MATCHED, ClauseKind.UPDATE, predicate, None, except_cols)

    def when_matched_delete(self, predicate: str | None = None) -> Self:
        """Delete matched rows.

        Args:
            predicate: a further condition for the clause.
        """
        return self._add(When.MATCHED, ClauseKind.DELETE, predicate)

    def when_not_matched_insert(self, updates: Mapping[str, str], predicate: str | None = None) -> Self:
        """Insert source rows without a match.

        Args:
            updates: expressions by column name. Other columns get their default or generated value, or NULL.
            predicate: a further condition for the clause, on the source.
        """
        return self._add(When.NOT_MATCHED, ClauseKind.INSERT, predicate, updates)

    def when_not_matched_insert_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> Self:
        """Insert source rows without a match, with all their columns.

        Args:
            predicate: a further condition for the clause, on the source.
            except_cols: columns of the source to leave out.
        """
        return self._add(When.NOT_MATCHED, ClauseKind.INSERT, predicate, None, except_cols)

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> Self:
        """Update table rows without a match.

        Args:
            updates: expressions by column name, over the columns of the table only.
            predicate: a further condition for the clause, on the table.
        """
        return self._add(When.NOT_MATCHED_BY_SOURCE, ClauseKind.UPDATE, predicate, updates)

    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> Self:
        """Delete table rows without a match.

        Args:
            predicate: a further condition for the clause, on the table.
        """
        return self._add(When.NOT_MATCHED_BY_SOURCE, ClauseKind.DELETE, predicate)

    def _statement(self) -> MergeStatement:
        return MergeStatement(
            spark_text(self.predicate, self.dialect),
            self.clauses,
            self.source_alias,
            self.target_alias,
            self.merges_schema,
            self.tries,
        )

    @property
    def _reads_itself(self) -> bool:
        """Whether the source is the target table at the same version."""
        if not isinstance(self.source, StatementTarget):
            return self.reads_table
        source, target = self.source.snapshot, self.table.snapshot
        return (source.store.uri, source.version) == (target.store.uri, target.version)

    def _operation(self, statement: MergeStatement) -> "operations.RowOperation":
        operation = operations.RowOperation.begin(
            self.table.snapshot,
            "MERGE",
            writer_properties=self.writer_properties,
            commit_properties=self.commit_properties,
            hook_properties=self.hook_properties,
            memory_limit=self.memory_limit,
            only_adds=statement.only_inserts,
        )
        return replace(operation, spill_limit=self.spill_limit)

    def execute(self) -> dict[str, Any]:
        """Run the merge and commit it.

        Returns:
            ``num_target_rows_updated`` and other metrics, under the names of ``deltalake``.

        Raises:
            SchemaMismatchError: a column is unknown, or a value does not fit its column.
            InvalidPredicateError: a predicate is not a condition, or writes a column name in double quotes,
                which Spark parses as a string.
            UnsupportedFeatureError: several source rows match one row of the table, or an expression or a
                feature of the table is not supported.
            ConstraintViolationError: a row breaks a constraint, or a value cannot be computed.
            CommitFailedError: the commit conflicts with a concurrent commit.
            CommitStateUnknownError: the store did not report whether the commit succeeded.
            ValueError: the merge has no clause, or a clause is unreachable because an earlier clause of its
                kind has no predicate.
        """
        statement = self._statement()
        operation, source = self._operation(statement), to_reader(self.source, cuts_times=self.cuts_times)
        metrics = operations.merge_rows(operation, statement, source, reads_itself=self._reads_itself)
        self.table.follow_commit()
        return metrics

    def explain(self) -> "Explanation":
        """Return which files of the table the merge reads, and why it skips the others.

        The source is read, because the values of its key columns prune files. A stream can be read only once,
        so a stream stays unread, and only the condition prunes.
        """
        statement = self._statement()
        return operations.explain_merge(
            self._operation(statement), statement, self.source, cuts_times=self.cuts_times
        )
