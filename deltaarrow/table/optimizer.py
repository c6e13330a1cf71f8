"""`TableOptimizer`: what `DeltaTable.optimize` gives, with the names and arguments of ``deltalake``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

import deltaarrow.operations.optimize as optimize
from deltaarrow.expressions import Filters
from deltaarrow.operations.optimize import OptimizePlan, Progress
from deltaarrow.table.conditions import table_conditions
from deltaarrow.table.target import StatementTarget

if TYPE_CHECKING:
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.write import WriterProperties

__all__ = ["TableOptimizer"]


@dataclass(frozen=True)
class TableOptimizer:
    """Rewrites files of a table without changing a row.

    Args:
        table: the table, which moves to the version that is made.
    """

    table: StatementTarget

    @overload
    def compact(
        self,
        partition_filters: Filters | None = ...,
        target_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        *,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        predicate: str | None = ...,
        min_file_size: int | None = ...,
        max_deleted_rows_ratio: float = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def compact(
        self,
        partition_filters: Filters | None = ...,
        target_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        *,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        predicate: str | None = ...,
        min_file_size: int | None = ...,
        max_deleted_rows_ratio: float = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    def compact(
        self,
        partition_filters: Filters | None = None,
        target_size: int | None = None,
        max_concurrent_tasks: int | None = None,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        min_commit_interval: int | timedelta | None = None,
        writer_properties: "WriterProperties | None" = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        predicate: str | None = None,
        min_file_size: int | None = None,
        max_deleted_rows_ratio: float = 0.05,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Rewrite small files, and files with many deleted rows, as fewer and larger ones.

        The files of a partition are put together by Spark's rules up to the target size. Rows stay in the
        order of their files and keep their ids; deletion vectors are folded in. Nothing is committed if there
        is nothing to do, so a second call does nothing. Rows that other writers delete meanwhile by deletion
        vectors are deleted in the new files too.

        Args:
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            target_size: bytes of old files that become one new file at most. The property
                ``delta.targetFileSize`` if None, or else 1 GiB, as in Spark.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            max_spill_size: without effect: rows are streamed, and nothing spills.
            max_temp_directory_size: without effect, likewise.
            min_commit_interval: seconds, or a `timedelta`, after which finished files are committed while
                others are still written. One commit at the end if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            predicate: SQL text on partition columns, as in ``OPTIMIZE table WHERE ...``.
            min_file_size: smaller files are rewritten; `target_size` if None.
            max_deleted_rows_ratio: files are rewritten of whose rows a larger part is deleted, be they as
                large as they may. Unlike Spark, such a file is rewritten also if it is the only one.
            progress: is told how many bytes of old files are rewritten, and how many there are.
            dry_run: whether to return what would be rewritten, and do nothing.

        Returns:
            the metrics of ``deltalake``; with `dry_run` an `OptimizePlan`.

        Raises:
            InvalidPredicateError: a filter or the predicate names another column than partition columns.
            UnsupportedFeatureError: the table has a feature that this release does not write.
            ConcurrentDeleteReadException: another writer has removed or rewritten one of the files.
            ValueError: a size, a number or the ratio is out of its range.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> for day in range(3):
        ...     _ = write_deltalake(folder, pa.table({"day": [day]}), mode="append")
        >>> table = DeltaTable(folder)
        >>> table.optimize.compact(dry_run=True).num_files
        3
        >>> metrics = table.optimize.compact()
        >>> metrics["numFilesAdded"], metrics["numFilesRemoved"], table.version()
        (1, 3, 3)
        """
        interval = min_commit_interval
        snapshot = self.table.snapshot
        options = optimize.CompactionOptions(
            conditions=table_conditions(snapshot, partition_filters, predicate),
            predicate=predicate,
            target_size=target_size,
            min_file_size=min_file_size,
            max_deleted_rows_ratio=max_deleted_rows_ratio,
            max_concurrent_tasks=max_concurrent_tasks,
            min_commit_interval=interval.total_seconds() if isinstance(interval, timedelta) else interval,
            writer_properties=writer_properties,
        )
        compaction = optimize.Compaction(snapshot, options, commit_properties, post_commithook_properties)
        if dry_run:
            return compaction.plan
        metrics = compaction.run(progress or (lambda done, total: None))
        self.table.follow_commit()
        return metrics
