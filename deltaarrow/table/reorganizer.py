"""`TableReorganizer`: the methods of `deltaarrow.table.optimizer.TableOptimizer` for ``REORG TABLE``."""

from typing import TYPE_CHECKING, Any, Literal, overload

import deltaarrow.operations.optimize as optimize
from deltaarrow.expressions import Filters
from deltaarrow.operations.optimize import OptimizePlan, Progress
from deltaarrow.table.rewriter import TableRewriter, rewriting_options

if TYPE_CHECKING:
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.write import WriterProperties

__all__ = ["TableReorganizer"]


class TableReorganizer(TableRewriter):
    """Rewrites the files of a table that do not have the form they should have."""

    @overload
    def purge(
        self,
        partition_filters: Filters | None = ...,
        *,
        predicate: str | None = ...,
        max_concurrent_tasks: int | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def purge(
        self,
        partition_filters: Filters | None = ...,
        *,
        predicate: str | None = ...,
        max_concurrent_tasks: int | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    def purge(
        self,
        partition_filters: Filters | None = None,
        *,
        predicate: str | None = None,
        max_concurrent_tasks: int | None = None,
        writer_properties: "WriterProperties | None" = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Rewrite the files that hold deleted rows, or columns that were dropped from the table.

        Spark's ``REORG TABLE ... APPLY (PURGE)``. Afterwards no file of the open version holds what was
        deleted. Older versions still need the old files, which `DeltaTable.vacuum` deletes once they are out
        of the retention.

        Args:
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            predicate: SQL text on partition columns.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commit.
            post_commithook_properties: whether checkpoints are written.
            progress: as for `compact`.
            dry_run: whether to return what would be rewritten, without rewriting it.

        Returns:
            the metrics of `compact`; with `dry_run` an `OptimizePlan`.

        Raises:
            CorruptDataFileError: the footer of a file cannot be read.
            InvalidPredicateError: as for `compact`, and so are the other errors.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder, vectors = tempfile.mkdtemp(), {"delta.enableDeletionVectors": "true"}
        >>> _ = write_deltalake(folder, pa.table({"id": range(100)}), configuration=vectors)
        >>> table = DeltaTable(folder)
        >>> _ = table.delete("id = 7")
        >>> table.optimize.purge()["numDeletionVectorsRemoved"]
        1
        """
        selection = self._selection(partition_filters, predicate)
        options = rewriting_options(
            max_concurrent_tasks, None, writer_properties, commit_properties, post_commithook_properties
        )
        plan = optimize.plan_purge(self.table.snapshot, selection)
        if dry_run:
            return plan
        return self._rewrite(plan, "REORG", optimize.purge_parameters(selection), options, progress)

    @overload
    def upgrade_uniform(
        self,
        iceberg_compat_version: int = ...,
        *,
        max_concurrent_tasks: int | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[True],
    ) -> OptimizePlan: ...

    @overload
    def upgrade_uniform(
        self,
        iceberg_compat_version: int = ...,
        *,
        max_concurrent_tasks: int | None = ...,
        writer_properties: "WriterProperties | None" = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Progress | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, Any]: ...

    def upgrade_uniform(
        self,
        iceberg_compat_version: int = 2,
        *,
        max_concurrent_tasks: int | None = None,
        writer_properties: "WriterProperties | None" = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> OptimizePlan | dict[str, Any]:
        """Bring the table and all of its files under the rules of Iceberg compatibility.

        Spark's ``REORG TABLE ... APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))``. One commit sets
        ``delta.enableIcebergCompatV2``, column mapping by name and ``delta.enableDeletionVectors=false``. A
        second one rewrites the files that are not tagged as written under these rules, or have a deletion
        vector. Rows keep their ids, and the change feed stays as it is; files of a clustered table are laid
        out again by the next ``table.optimize()``. Chapter *Iceberg Compatibility V2* of the protocol.

        A third commit sets ``delta.universalFormat.enabledFormats``. From then on, Iceberg metadata is
        written after each commit, and the table can be read as an Iceberg table at the same location.

        Nothing is committed where all of it is done. A call after one that was stopped, or that lost
        against another writer, goes on where that one was.

        Args:
            iceberg_compat_version: the version of the rules: 2.
            max_concurrent_tasks: how many new files are written at once; the number of processors if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            progress: called with the number of bytes of old files rewritten so far and the total.
            dry_run: whether to return what would be rewritten, without rewriting it.

        Returns:
            the metrics of `compact`; with `dry_run` an `OptimizePlan`.

        Raises:
            UnsupportedFeatureError: another version, or a feature that this release does not write.
            SchemaMismatchError: a column or a partition column has a type that the rules do not allow.
            InvalidTablePropertyError: column mapping is by id, or the table is under version 3.
            MissingDependencyError: ``pyiceberg`` is not installed.
            ConcurrentDeleteReadException: another writer has removed or rewritten one of the files.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": range(100)}))
        >>> table = DeltaTable(folder)
        >>> table.optimize.upgrade_uniform()["numFilesRemoved"], table.version()
        (1, 3)
        >>> from pyiceberg.table import StaticTable
        >>> StaticTable.from_metadata(folder).scan().count()
        100
        """
        options = rewriting_options(
            max_concurrent_tasks, None, writer_properties, commit_properties, post_commithook_properties
        )
        plan = optimize.plan_upgrade(self.table.snapshot, iceberg_compat_version)
        if dry_run:
            return plan
        before = self.table.snapshot.version
        if optimize.enable_iceberg_rules(self.table.snapshot, options):
            self.table.follow_commit()
            plan, options = optimize.plan_iceberg_files(self.table.snapshot), options.after_a_commit()
        parameters = optimize.purge_parameters(optimize.Selection())
        metrics = self._rewrite(plan, "REORG", parameters, options, progress)
        if self.table.snapshot.version > before:
            options = options.after_a_commit()
        if optimize.enable_iceberg_metadata(self.table.snapshot, options):
            self.table.follow_commit()
        return metrics
