"""`ChangingTable`: a table whose rows are deleted, updated and merged into.

The part of `deltaarrow.table.DeltaTable` that changes rows, with the names and meanings of ``deltalake``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import deltaarrow.operations as operations
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.lazy import lazy_attributes
from deltaarrow.opened_table import OpenedTable

if TYPE_CHECKING:
    from deltaarrow.merger import TableMerger
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.write import WriterProperties

__all__ = ["ChangingTable", "refuse_arguments"]

_load = lazy_attributes(__name__, {"TableMerger": "deltaarrow.merger"})


def refuse_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of ``deltalake`` that would be left without effect here."""
    for name, value in arguments.items():
        if value is not None:
            raise UnsupportedFeatureError(f"the argument {name} is not supported", feature=name)


class ChangingTable(OpenedTable):
    """A table at one version, which each change of its rows moves on."""

    def delete(
        self,
        predicate: str | None = None,
        writer_properties: "WriterProperties | None" = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        memory_limit: str | None = None,
    ) -> dict[str, Any]:
        """Delete rows and commit.

        Where ``delta.enableDeletionVectors`` is set, rows are marked and no file is written anew for a few of
        them; elsewhere the files that hold such rows are. Whole partitions go without a file being read.

        Args:
            predicate: the rows, as a condition in Spark SQL; all rows if None.
            writer_properties: how Parquet is written.
            commit_properties: what else goes into the commit.
            post_commithook_properties: whether checkpoints are written.
            memory_limit: what the search may take before it spills, such as ``"1GB"``; what
                `deltaarrow.compute.set_memory_limit` says if None.

        Returns:
            ``num_deleted_rows`` and other counts, by the names of ``deltalake``.

        Raises:
            SchemaMismatchError: the condition names a column that is not there.
            InvalidPredicateError: it is no condition, or has a text in double quotes for a column.
            UnsupportedFeatureError: the condition is not understood, or the table has a feature that is not
                supported; one is ``delta.appendOnly``.
            ConstraintViolationError: the condition cannot be computed for a row.
            CommitFailedError: another writer got in the way.
            CommitStateUnknownError: the store does not tell whether the commit was made.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
        >>> DeltaTable(folder).delete("id % 2 = 1")["num_deleted_rows"]
        2
        """
        with operations.RowOperation.begin(
            self._snapshot,
            "DELETE",
            writer_properties=writer_properties,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            memory_limit=memory_limit,
        ) as operation:
            metrics = operations.delete_rows(operation, predicate)
        self.follow_commit()
        return metrics

    def update(
        self,
        updates: Mapping[str, str] | None = None,
        new_values: Mapping[str, Any] | None = None,
        predicate: str | None = None,
        writer_properties: "WriterProperties | None" = None,
        error_on_type_mismatch: bool = True,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        memory_limit: str | None = None,
    ) -> dict[str, Any]:
        """Update rows and commit.

        Rows keep their ids where the table tracks them; generated columns are computed anew, and constraints
        are checked.

        Args:
            updates: expressions in Spark SQL by the names of columns, or of members of structs with dots
                between; they see the row as it was.
            new_values: Python values by the same, instead.
            predicate: the rows, as a condition in Spark SQL; all rows if None.
            writer_properties: how Parquet is written.
            error_on_type_mismatch: whether a value that does not fit is an error; False is refused.
            commit_properties: what else goes into the commit.
            post_commithook_properties: whether checkpoints are written.
            memory_limit: as for `delete`.

        Returns:
            ``num_updated_rows`` and other counts, by the names of ``deltalake``.

        Raises:
            SchemaMismatchError: a column is not there, or a value does not fit.
            ConstraintViolationError: a row breaks a rule of the table, or a value cannot be computed.
            InvalidPredicateError, UnsupportedFeatureError: as for `delete`.
            CommitFailedError: another writer got in the way.
            CommitStateUnknownError: the store does not tell whether the commit was made.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
        >>> table = DeltaTable(folder)
        >>> table.update({"name": "upper(name)"}, predicate="id > 1")["num_updated_rows"]
        2
        >>> sorted(table.to_pyarrow_table().column("name").to_pylist())
        ['B', 'C', 'a']
        """
        refuse_arguments({"error_on_type_mismatch": None if error_on_type_mismatch else False})
        with operations.RowOperation.begin(
            self._snapshot,
            "UPDATE",
            writer_properties=writer_properties,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            memory_limit=memory_limit,
        ) as operation:
            metrics = operations.update_rows(operation, updates, new_values, predicate)
        self.follow_commit()
        return metrics

    def merge(
        self,
        source: Any,
        predicate: str,
        source_alias: str | None = None,
        target_alias: str | None = None,
        merge_schema: bool = False,
        error_on_type_mismatch: bool = True,
        writer_properties: "WriterProperties | None" = None,
        streamed_exec: bool = True,
        max_spill_size: int | None = None,
        max_temp_directory_size: int | None = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        memory_limit: str | None = None,
    ) -> "TableMerger":
        """Begin to merge a source into the table; `TableMerger` adds clauses to it and executes it.

        Args:
            source: what `write_deltalake` takes as data. It is read once and may be larger than memory.
            predicate: by which rows match, as a condition in Spark SQL over both.
            source_alias: what expressions call the source; ``source`` if None.
            target_alias: what they call the table; ``target`` if None.
            merge_schema: whether the table gains the columns of the source that it lacks, where clauses give
                them.
            error_on_type_mismatch: whether a value that does not fit is an error; False is refused.
            writer_properties: how Parquet is written.
            streamed_exec: without effect; sources are always streamed.
            max_spill_size: `memory_limit` in bytes, under the name that ``deltalake`` has for it.
            max_temp_directory_size: refused.
            commit_properties: what else goes into the commit.
            post_commithook_properties: whether checkpoints are written.
            memory_limit: what the join may take before it spills, as for `delete`.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "name": ["a", "b"]}))
        >>> table = DeltaTable(folder)
        >>> news = pa.table({"id": [2, 3], "name": ["B", "C"]})
        >>> merger = table.merge(news, "target.id = source.id").when_matched_update_all()
        >>> metrics = merger.when_not_matched_insert_all().execute()
        >>> metrics["num_target_rows_updated"], metrics["num_target_rows_inserted"]
        (1, 1)
        >>> sorted(table.to_pyarrow_table().column("name").to_pylist())
        ['B', 'C', 'a']
        """
        refuse_arguments({"error_on_type_mismatch": None if error_on_type_mismatch else False})
        refuse_arguments({"max_temp_directory_size": max_temp_directory_size})
        if memory_limit is None and max_spill_size is not None:
            memory_limit = f"{max_spill_size}B"
        merger: TableMerger = _load("TableMerger")(
            self,
            source,
            predicate,
            source_alias or "source",
            target_alias or "target",
            merge_schema,
            writer_properties,
            memory_limit,
            commit_properties,
            post_commithook_properties,
        )
        return merger
