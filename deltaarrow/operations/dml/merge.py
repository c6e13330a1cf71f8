"""MERGE: joins the rows of a source with the rows of the table and applies the clauses.

The source is read once, into a DuckDB table that spills to disk if it is large. One query joins it with the
files of the table that may be affected and returns the changed rows. No other rows of the table are held in
memory. An executor that runs tasks in other processes gets the join in parts: see
`deltaarrow.operations.dml.merge_tasks`.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import deltaarrow.scan as scan
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.compute import files_cursor, quote_identifier
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Predicate
from deltaarrow.operations.dml.change_task import REPEATED_MATCH, repeated_match
from deltaarrow.operations.dml.changed_rows import (
    NO_CLAUSE,
    ChangeQuery,
    exported_name,
    found_columns,
    has_rows,
)
from deltaarrow.operations.dml.join_query import JoinQuery
from deltaarrow.operations.dml.merge_clauses import bind_clauses, evolved_target, given_columns
from deltaarrow.operations.dml.merge_history import merge_metrics, merge_parameters
from deltaarrow.operations.dml.merge_pruning import matching_batches, ordered_values, read_predicate
from deltaarrow.operations.dml.merge_source import SOURCE, SourceFile, load_source
from deltaarrow.operations.dml.merge_statement import MergeStatement, When, clause_sql
from deltaarrow.operations.dml.merge_tasks import SourceMatches, stage_in_tasks
from deltaarrow.operations.dml.operation import RowOperation, times
from deltaarrow.operations.dml.row_scope import ALWAYS, QueryCondition, RowScope, TopColumn
from deltaarrow.operations.dml.staging import RowStage, StagedRows
from deltaarrow.operations.rows.high_water_marks import plan_numbering, stage_marks
from deltaarrow.runtime.executors import executor_in_use
from deltaarrow.schema import conform, from_arrow_schema, to_arrow_field
from deltaarrow.transaction import RowMatcher
from deltaarrow.write import read_variants, to_reader

if TYPE_CHECKING:
    import duckdb

__all__ = ["Merge", "carry_out_merge", "explain_merge", "merge_rows"]

_PRESENT = "deltaarrow_present"


def merge_rows(
    operation: RowOperation,
    statement: MergeStatement,
    source: pa.RecordBatchReader,
    *,
    reads_itself: bool = False,
) -> dict[str, Any]:
    """Merge a source into the table and commit.

    `reads_itself` says that the source has the rows of the same version of the table. Such a merge is not run
    again on another version.

    Returns the metrics under the names of ``deltalake``.

    Raises `SchemaMismatchError` for unknown columns and values that do not fit, `UnsupportedFeatureError` if
    several source rows match one row of the table, `ConstraintViolationError` for a row that violates a
    constraint, and the exceptions of commits.
    """
    return carry_out_merge(operation, lambda of: Merge(of, statement, source), reads_itself=reads_itself)


def carry_out_merge(
    operation: RowOperation, run_on: "Callable[[RowOperation], Merge]", *, reads_itself: bool
) -> dict[str, Any]:
    """Carry out the runs of a merge until one is committed, as for `merge_rows`; they share the source."""
    if reads_itself:
        operation.transaction.read_files()
        operation = replace(operation, begin_again=None)
    store = operation.snapshot.store
    source_rows: list[int] = []
    with contextlib.ExitStack() as stack:
        cursor = stack.enter_context(
            files_cursor(store, memory_limit=operation.memory_limit, spill_limit=operation.spill_limit)
        )
        file: SourceFile | None = None

        def run(of: RowOperation) -> dict[str, Any]:
            nonlocal file
            merge = run_on(of)
            if not source_rows:  # a stream is read only once
                if merge.has_parts and not of.is_replay and executor_in_use().parts([]) is not None:
                    file = SourceFile(store)
                    stack.callback(file.delete)
                source_rows.append(merge.load(cursor))
            return merge.run(cursor, source_rows[0], file)

        return operation.carry_out(run)


def explain_merge(
    operation: RowOperation, statement: MergeStatement, source: Any, *, cuts_times: bool = False
) -> "scan.Explanation":
    """Return which files of the table a merge reads.

    Args:
        operation: as for `merge_rows`; nothing is committed.
        statement: the merge.
        source: the data, as users give it; a stream is not read.
        cuts_times: whether timestamps of the source lose their digits below microseconds.
    """
    is_stream = isinstance(source, Iterator | pa.RecordBatchReader)
    merge = Merge(operation, statement, to_reader(source, cuts_times=cuts_times))
    with files_cursor(operation.snapshot.store, memory_limit=operation.memory_limit) as cursor:
        if not is_stream:
            merge.load(cursor)
        return merge.explain(None if is_stream else cursor)


class Merge:
    """One run of a MERGE on a version of the table."""

    source_name = SOURCE
    """The relation of the source, once it is loaded."""

    has_parts = True
    """Whether executors may run it in parts, by `JoinQuery`."""

    def __init__(
        self, operation: RowOperation, statement: MergeStatement, source: pa.RecordBatchReader
    ) -> None:
        self.operation = operation
        self.statement = statement
        self.source = read_variants(source, operation.snapshot.schema)
        self.source_schema = from_arrow_schema(self.source.schema)
        self.present = _PRESENT
        while self.present in {name.lower() for name in self.source_schema.names}:
            self.present += "_"
        operation.target = evolved_target(operation.snapshot, statement, self.source_schema)
        tables = {statement.target_alias: operation.schema, statement.source_alias: self.source_schema}
        sides = self.sides = {statement.target_alias: "t", statement.source_alias: "s"}

        def inside(alias: str, name: str) -> str:
            return f"{sides[alias]}.{quote_identifier(name)}"

        def outside(alias: str, name: str) -> str:
            return f"j.{exported_name(sides[alias], name)}"

        now = operation.now_ms
        self.inner = RowScope(tables, inside, statement.target_alias, now)
        fills = statement.merges_schema
        self.outer = RowScope(tables, outside, statement.target_alias, now, fills, tries=statement.tries)
        self.condition = self.inner.condition(statement.predicate)
        self.clauses = bind_clauses(statement, operation.target, self.inner, self.outer, self.source_schema)
        self.writes_changes = operation.has_change_feed and not statement.only_inserts

    def run(
        self, cursor: "duckdb.DuckDBPyConnection", source_rows: int, file: SourceFile | None = None
    ) -> dict[str, Any]:
        """Merge the source, which is loaded and has so many rows; with `file`, which takes them, in tasks."""
        operation, statement = self.operation, self.statement
        exported = self._exported()
        ids = () if operation.tracking is None or statement.only_inserts else scan.ROW_TRACKING_COLUMNS
        plan = operation.plan(self.predicate(cursor), {*self.columns, *ids}, self._matcher(cursor))
        operation.transaction.stage(list(operation.target.changes))
        given = pa.schema([(name, pa.null()) for name in given_columns(self.clauses)])
        numbering = plan_numbering(operation.transaction, operation.target, given)
        inserts = bool(statement.of(When.NOT_MATCHED))

        def query(_: Any, rows: str) -> ChangeQuery:
            return ChangeQuery(
                self._joined(rows, exported, ids),
                operation.schema,
                self.clauses,
                has_row_ids=bool(ids),
                old=self._old(),
            )

        how: dict[str, Any] = {"writes_changes": self.writes_changes, "may_repeat": self.may_repeat}
        try:
            if file is not None and not operation.is_replay:
                changes = operation.changes(plan, numbering, **how)
                # Tasks tell all matched rows, on which a merge that depends on whole files need not rely.
                relies_on_kept = inserts and self._tells_unchanged
                stage = RowStage(operation.transaction, changes, relies_on_kept=relies_on_kept)
                whole = self._join_query(exported, ids)
                matches = self._matches(exported, ids) if inserts else None
                snapshot, scope = operation.snapshot, self.inner
                values = ordered_values(self.condition, scope, snapshot)
                file.write(cursor, self._loaded_schema, source_rows, values)
                known = matching_batches(file, plan.files, self.condition, scope, snapshot)
                staged = stage_in_tasks(operation, stage, SourceMatches(file, known), whole, matches)
            else:
                how |= {"cursor": cursor, "relies_on_kept": inserts}
                staged = operation.stage(plan, query, numbering=numbering, **how)
        except UnsupportedFeatureError as error:
            if error.feature != REPEATED_MATCH or file is not None:  # a task has told the keys
                raise
            raise repeated_match(self._repeated_keys(cursor, plan)) from None
        stage_marks(operation.transaction, operation.target, numbering.marks(staged.taken))
        files, _ = operation.snapshot.totals()
        operation.commit(self.parameters(), staged, lambda: self.metrics(staged, source_rows))
        metrics = merge_metrics(statement, staged, source_rows)
        return {
            "num_source_rows": source_rows,
            "num_target_rows_inserted": metrics["numTargetRowsInserted"],
            "num_target_rows_updated": metrics["numTargetRowsUpdated"],
            "num_target_rows_deleted": metrics["numTargetRowsDeleted"],
            "num_target_rows_copied": staged.copied_rows,
            "num_output_rows": metrics["numOutputRows"],
            "num_target_files_scanned": plan.files.num_rows,
            "num_target_files_skipped_during_scan": files - plan.files.num_rows,
            "num_target_files_added": len(staged.added),
            "num_target_files_removed": staged.losses.removed_files,
            **times(operation, staged),
        }

    def _repeated_keys(self, cursor: "duckdb.DuckDBPyConnection", plan: scan.ScanPlan) -> str:
        """Return the values that the predicate compares in source rows which match one row; for an error."""
        return self._join_query((), ()).repeated_keys(cursor, plan)

    @property
    def may_repeat(self) -> bool:
        """Whether the query may find a row more than once."""
        return self.statement.may_match_repeatedly or self.statement.only_inserts

    def parameters(self) -> dict[str, Any]:
        """The operation parameters of the history entry."""
        return merge_parameters(self.statement)

    def metrics(self, staged: StagedRows, source_rows: int) -> dict[str, int]:
        """The operation metrics of the history entry."""
        return merge_metrics(self.statement, staged, source_rows)

    def predicate(self, cursor: "duckdb.DuckDBPyConnection | None") -> Predicate | None:
        """Return the predicate of the target rows to read; it uses source values if the source is loaded."""
        return read_predicate(
            cursor,
            f"{SOURCE} AS s",
            self.statement,
            self.condition,
            self.clauses,
            self.inner,
            self.operation.snapshot.schema,
        )

    def explain(self, cursor: "duckdb.DuckDBPyConnection | None") -> "scan.Explanation":
        """Return which files of the table the merge reads; `cursor` is as for `predicate`."""
        snapshot = self.operation.snapshot
        columns = [name for name in snapshot.schema.names if name in self.columns]
        return scan.explain_scan(snapshot, self.predicate(cursor), columns)

    @property
    def columns(self) -> set[str]:
        """The columns of the table that the merge reads."""
        alias = self.statement.target_alias
        return {name for each, name in self._exported() if each == alias} | self._tested(alias)

    # --- the source -------------------------------------------------------------------------------

    def load(self, cursor: "duckdb.DuckDBPyConnection") -> int:
        """Load the columns of the source that the merge reads into a table; return the number of rows.

        Raises the exceptions of the source.
        """
        schema, counted = self._loaded_schema, [0]
        load_source(cursor, self._source_batches(schema.names[:-1], schema, counted), schema)
        return counted[0]

    @property
    def _loaded_schema(self) -> pa.Schema:
        """The columns of the source that the merge reads, and the number of each row."""
        alias = self.statement.source_alias
        read = {name for each, name in self._exported() if each == alias} | self._tested(alias)
        wanted = pa.schema([to_arrow_field(each) for each in self.source_schema.fields if each.name in read])
        return wanted.append(pa.field(self.present, pa.int64()))

    def _source_batches(
        self, names: Sequence[str], schema: pa.Schema, counted: list[int]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the source with their numbers, and count them."""
        wanted = schema.remove(len(names))
        for batch in self.source:
            numbers = integers(np.arange(counted[0], counted[0] + batch.num_rows))
            counted[0] += batch.num_rows
            rows = conform(batch.select(list(names)), wanted) if names else batch.select([])
            yield pa.RecordBatch.from_arrays([*rows.columns, numbers], schema=schema)

    def _matcher(self, cursor: "duckdb.DuckDBPyConnection") -> RowMatcher | None:
        """Return a function that tells whether files hold a row that would change the result of the merge.

        Such a row matches: a clause applies to it, or it prevents the insert of a source row.
        """
        names = self._tested(self.statement.target_alias)
        join = "LEFT JOIN" if self.statement.of(When.NOT_MATCHED_BY_SOURCE) else "JOIN"
        is_met = self._clause_sql(str(NO_CLAUSE) if self.statement.of(When.NOT_MATCHED) else "NULL")
        numbers = itertools.count()

        def matches(files: pa.Table) -> bool:
            plan = self.operation.plan_of(files, names)
            name = f"deltaarrow_added_{plan.version}_{next(numbers)}"
            rows = scan.located_rows(cursor, plan, name)
            joined = f"({rows}) AS t {join} {SOURCE} AS s ON {self.condition.sql}"
            return has_rows(cursor, f"FROM {joined} WHERE {is_met} IS NOT NULL")

        return matches

    # --- the query --------------------------------------------------------------------------------

    def _exported(self) -> list[TopColumn]:
        """The columns that values and the change data feed read."""
        read: set[TopColumn] = set()
        for clause in self.clauses:
            for value in clause.values.values():
                read |= value.columns
        if self.writes_changes:
            alias = self.statement.target_alias
            read |= {(alias, name) for name in self.operation.schema.names}
        return sorted(read)

    def _tested(self, alias: str) -> set[str]:
        """The columns of a table that conditions read."""
        conditions: Iterable[QueryCondition] = (self.condition, *(each.condition for each in self.clauses))
        return {name for each in conditions for side, name in each.columns if side == alias}

    def _old(self) -> dict[str, str]:
        if not self.writes_changes:
            return {}
        alias = self.statement.target_alias
        return {name: self.outer.column((alias, name)) for name in self.operation.schema.names}

    def _joined(self, rows: str, exported: Sequence[TopColumn], ids: Sequence[str]) -> str:
        return self._join_query(exported, ids).joined(rows)

    def _join_query(self, exported: Sequence[TopColumn], ids: Sequence[str]) -> JoinQuery:
        alias = self.statement.source_alias
        unchanged = str(NO_CLAUSE) if self._tells_unchanged else "NULL"
        return JoinQuery(
            self.operation.schema,
            self.clauses,
            tuple(ids),
            self._old(),
            [*found_columns(self._clause_sql(unchanged), ids), *self._values(exported)],
            self._join(inserts=bool(self.statement.of(When.NOT_MATCHED))),
            self.condition.sql,
            self._clause_sql("NULL"),
            sorted(name for side, name in self.condition.columns if side == alias),
        )

    def _matches(self, exported: Sequence[TopColumn], ids: Sequence[str]) -> JoinQuery:
        """The query without rows to insert; it tells all source rows that match."""
        found = found_columns(self._clause_sql(str(NO_CLAUSE)), ids)
        return replace(
            self._join_query(exported, ids),
            columns=[*found, f's.{self.present} AS "source"', *self._values(exported)],
            join=self._join(inserts=False),
            tells_source=True,
        )

    def _values(self, exported: Sequence[TopColumn]) -> list[str]:
        return [
            f"{self.inner.column(column)} AS {exported_name(self.sides[column[0]], column[1])}"
            for column in exported
        ]

    def _join(self, *, inserts: bool) -> str:
        leftover = bool(self.statement.of(When.NOT_MATCHED_BY_SOURCE))
        join = {(False, False): "INNER", (True, False): "RIGHT", (False, True): "LEFT", (True, True): "FULL"}
        return join[inserts, leftover]

    @property
    def _tells_unchanged(self) -> bool:
        """Whether the query tells matched rows without an applicable clause.

        A merge that only inserts, in a table without deletion vectors, depends on whole files. It ignores
        such rows, because any change of their files conflicts.
        """
        return not self.statement.only_inserts or self.operation.transaction.marks_deleted_rows

    def _clause_sql(self, unchanged: str) -> str:
        """Return the SQL of the number of the first clause that applies to a row; NULL if none does."""
        conditions = [
            (each.when, None if clause.condition is ALWAYS else clause.condition.sql)
            for each, clause in zip(self.statement.clauses, self.clauses, strict=True)
        ]
        return clause_sql(conditions, f"t.{scan.ROW_COLUMN}", f"s.{self.present}", unchanged)
