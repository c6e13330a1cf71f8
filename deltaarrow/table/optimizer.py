"""`TableOptimizer`: the methods of `DeltaTable.optimize`, with deltalake's names and arguments."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

import deltaarrow.operations as operations
import deltaarrow.operations.optimize as optimize
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import Filters
from deltaarrow.operations.optimize import OptimizePlan, Progress
from deltaarrow.table.deltalake_arguments import tells_old_arguments
from deltaarrow.table.reorganizer import TableReorganizer
from deltaarrow.table.rewriter import rewriting_options, sort_limits

if TYPE_CHECKING:
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.write import WriterProperties

__all__ = ["TableOptimizer"]


class TableOptimizer(TableReorganizer):
    """Rewrites files of a table without a change of rows.

    Args:
        table: the table, which moves to the version that is made.
    """

    @overload
    def __call__(
        self,
        *,
        predicate: str | None = ...,
        target_size: int | None = ...,
        min_cube_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        memory_limit: str | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def __call__(
        self,
        *,
        predicate: str | None = ...,
        target_size: int | None = ...,
        min_cube_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        memory_limit: str | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    def __call__(
        self,
        *,
        predicate: str | None = None,
        target_size: int | None = None,
        min_cube_size: int | None = None,
        max_concurrent_tasks: int | None = None,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        memory_limit: str | None = None,
        min_commit_interval: int | timedelta | None = None,
        writer_properties: "WriterProperties | None" = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Do what Spark's ``OPTIMIZE`` does: cluster the table if it has clustering columns, else compact it.

        Rows of a clustered table are laid out along the Hilbert curve through its clustering columns, so that
        each new file has a small range of each column. New files are clustered together with the
        older files that they overlap, if these have at most twenty times their bytes. Spark rewrites all
        older files. As in Spark, files clustered by other columns are left alone.

        Args:
            predicate: SQL text on partition columns, which clustered tables do not have.
            target_size: the approximate number of bytes of old files that are rewritten to one new file. If
                None, the property ``delta.targetFileSize``, else 1 GiB, as in Spark.
            min_cube_size: files that were clustered together and have at least this many bytes are not
                rewritten; 100 GiB if None, as in Spark.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            max_spill_size: bytes of rows that are held in memory; more are sorted through temporary files.
            max_temp_directory_size: the maximum size of temporary files, in bytes.
            memory_limit: the maximum memory for reading, sorting and writing, such as ``"1GB"`` or ``"20%"``.
            min_commit_interval: seconds, or a `timedelta`, after which finished files are committed while
                others are still written. One commit at the end if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            progress: called with the number of bytes of old files rewritten so far and the total.
            dry_run: whether to return what would be rewritten, without rewriting it.

        Returns:
            the metrics of ``deltalake``; with `dry_run` an `OptimizePlan`.

        Raises:
            InvalidPredicateError: there is a predicate and the table is clustered, or the predicate names
                another column than partition columns.
            ConcurrentDeleteReadException: another writer has removed one of the files, or, in a clustered
                table, rows of it.
            ValueError: a size or a number is out of its range.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> rows = pa.table({"id": range(100), "shop": [id % 7 for id in range(100)]})
        >>> _ = write_deltalake(folder, rows, cluster_by=["id", "shop"])
        >>> table = DeltaTable(folder)
        >>> table.optimize()["numFilesRemoved"], table.optimize()["numFilesRemoved"]
        (1, 0)
        """
        if not operations.clustering_columns(self.table.snapshot):
            if dry_run:
                return self.compact(target_size=target_size, predicate=predicate, dry_run=True)
            return self.compact(
                target_size=target_size,
                max_concurrent_tasks=max_concurrent_tasks,
                min_commit_interval=min_commit_interval,
                writer_properties=writer_properties,
                commit_properties=commit_properties,
                post_commithook_properties=post_commithook_properties,
                predicate=predicate,
                progress=progress,
            )
        if predicate is not None:
            raise InvalidPredicateError(
                f"the table is clustered and has no partitions to choose by {predicate!r}; leave it out"
            )
        clustering = optimize.Clustering.of(
            self.table.snapshot, target_size=target_size, min_cube_size=min_cube_size
        )
        options = rewriting_options(
            max_concurrent_tasks,
            min_commit_interval,
            writer_properties,
            commit_properties,
            post_commithook_properties,
        )
        limits = sort_limits(max_spill_size, max_temp_directory_size, memory_limit)
        return self._cluster(clustering, options, limits, progress, dry_run=dry_run)

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

    @tells_old_arguments
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
            progress: called with the number of bytes of old files rewritten so far and the total.
            dry_run: whether to return what would be rewritten, without rewriting it.

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
        selection = self._selection(partition_filters, predicate)
        options = rewriting_options(
            max_concurrent_tasks,
            min_commit_interval,
            writer_properties,
            commit_properties,
            post_commithook_properties,
        )
        rules = optimize.CompactionRules(
            target_size=target_size,
            min_file_size=min_file_size,
            max_deleted_rows_ratio=max_deleted_rows_ratio,
        )
        plan = optimize.plan_compaction(self.table.snapshot, selection, rules)
        if dry_run:
            return plan
        return self._rewrite(plan, "OPTIMIZE", optimize.compaction_parameters(selection), options, progress)

    @overload
    def full(
        self,
        *,
        target_size: int | None = ...,
        min_cube_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        memory_limit: str | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def full(
        self,
        *,
        target_size: int | None = ...,
        min_cube_size: int | None = ...,
        max_concurrent_tasks: int | None = ...,
        max_spill_size: int | None = ...,
        max_temp_directory_size: int | None = ...,
        memory_limit: str | None = ...,
        min_commit_interval: int | timedelta | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    def full(
        self,
        *,
        target_size: int | None = None,
        min_cube_size: int | None = None,
        max_concurrent_tasks: int | None = None,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        memory_limit: str | None = None,
        min_commit_interval: int | timedelta | None = None,
        writer_properties: "WriterProperties | None" = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Do what Spark's ``OPTIMIZE ... FULL`` does: cluster also what other columns have clustered before.

        Call it once after `TableAlterer.cluster_by`. Cubes of today's columns are treated as when the object
        is called.

        Args:
            target_size: the approximate number of bytes of old files that are rewritten to one new file.
            min_cube_size: files that were clustered together by the current columns and have at least this
                many bytes are not rewritten; 100 GiB if None.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            max_spill_size: bytes of rows that are held in memory; more are sorted through temporary files.
            max_temp_directory_size: the maximum size of temporary files, in bytes.
            memory_limit: the maximum memory for reading, sorting and writing, such as ``"1GB"`` or ``"20%"``.
            min_commit_interval: seconds, or a `timedelta`, after which finished files are committed while
                others are still written. One commit at the end if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            progress: called with the number of bytes of old files rewritten so far and the total.
            dry_run: whether to return what would be rewritten, without rewriting it.

        Returns:
            the metrics of ``deltalake``; with `dry_run` an `OptimizePlan`.

        Raises:
            SchemaMismatchError: the table has no clustering columns.
            ConcurrentDeleteReadException: another writer has removed one of the files, or rows of it.
            ValueError: a size or a number is out of its range.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> rows = pa.table({"id": range(100), "shop": [id % 7 for id in range(100)]})
        >>> _ = write_deltalake(folder, rows, cluster_by=["id"])
        >>> table = DeltaTable(folder)
        >>> _ = table.optimize()
        >>> _ = table.alter.cluster_by(["shop"])
        >>> table.optimize()["numFilesRemoved"], table.optimize.full()["numFilesRemoved"]
        (0, 1)
        """
        clustering = optimize.Clustering.of(
            self.table.snapshot, is_full=True, target_size=target_size, min_cube_size=min_cube_size
        )
        options = rewriting_options(
            max_concurrent_tasks,
            min_commit_interval,
            writer_properties,
            commit_properties,
            post_commithook_properties,
        )
        limits = sort_limits(max_spill_size, max_temp_directory_size, memory_limit)
        return self._cluster(clustering, options, limits, progress, dry_run=dry_run)

    @overload
    def z_order(
        self,
        columns: Sequence[str],
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
        memory_limit: str | None = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def z_order(
        self,
        columns: Sequence[str],
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
        memory_limit: str | None = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    @tells_old_arguments
    def z_order(
        self,
        columns: Sequence[str],
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
        memory_limit: str | None = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Lay the rows of each partition out along the Z-order curve through columns.

        Afterwards each file has a small range of values of each column, so that queries with conditions on
        any of them open few files. Rows keep their ids; deletion vectors are folded in. A partition that was
        laid out by the same columns and for the same size before, and has not changed since, is left alone.

        Args:
            columns: names of columns in Spark's notation, fields of structs too (``"a.b"``).
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            target_size: the approximate number of bytes of old files that are rewritten to one new file. If
                None, the property ``delta.targetFileSize``, else 1 GiB, as in Spark.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            max_spill_size: bytes of rows that are held in memory; more are sorted through temporary files.
                512 MiB if None.
            max_temp_directory_size: the maximum size of temporary files, in bytes; unlimited if None.
            min_commit_interval: seconds, or a `timedelta`, after which finished partitions are committed
                while others are still written. One commit at the end if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            predicate: SQL text on partition columns, as in ``OPTIMIZE table WHERE ... ZORDER BY ...``.
            memory_limit: the maximum memory for reading, sorting and writing, such as ``"1GB"`` or ``"20%"``.
            progress: called with the number of bytes of old files rewritten so far and the total.
            dry_run: whether to return what would be rewritten, without rewriting it.

        Returns:
            the metrics of ``deltalake``; with `dry_run` an `OptimizePlan`.

        Raises:
            SchemaMismatchError: a column does not exist, is a partition column, has a type without order or
                no statistics; or the table has clustering columns.
            ConcurrentDeleteReadException: another writer has removed one of the files, or rows of it.
            MemoryLimitError: the rows need more temporary files than may be.
            InvalidPredicateError: as for `compact`, and so are the other errors.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder, ids = tempfile.mkdtemp(), range(1000)
        >>> rows = pa.table({"id": ids, "shop": [id * 7 % 100 for id in ids]})
        >>> _ = write_deltalake(folder, rows)
        >>> DeltaTable(folder).optimize.z_order(["id", "shop"])["numFilesAdded"]
        1
        """
        selection = self._selection(partition_filters, predicate)
        options = rewriting_options(
            max_concurrent_tasks,
            min_commit_interval,
            writer_properties,
            commit_properties,
            post_commithook_properties,
        )
        limits = sort_limits(max_spill_size, max_temp_directory_size, memory_limit)
        order = optimize.ZOrder.by(self.table.snapshot, columns, target_size)
        plan = order.plan(selection)
        if dry_run:
            return plan
        parameters = optimize.z_order_parameters(selection, order)
        return self._rewrite(plan, "OPTIMIZE", parameters, options, progress, order.sorting(limits))
