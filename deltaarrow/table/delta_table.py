"""`DeltaTable`: a table at a version, with the names and meanings of ``deltalake``.

Every method is one call downward; what it does is said there. What ``deltalake`` returns as arro3 is
pyarrow here.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import pyarrow as pa

import deltaarrow.engines as engines
import deltaarrow.operations as operations
import deltaarrow.scan as scan
import deltaarrow.verify as verification
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Filters
from deltaarrow.log import Catalog, CatalogStore, read_commit_infos
from deltaarrow.log.moments import parse_moment
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require
from deltaarrow.schema import Schema, from_arrow_schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, open_store
from deltaarrow.table.conditions import file_predicate, row_condition, table_conditions
from deltaarrow.table.describe import (
    Metadata,
    ProtocolVersions,
    add_actions,
    describe_detail,
    describe_metadata,
    describe_protocol,
    list_partitions,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow.compute as pc

    from deltaarrow.engines import ChangeDataset, DeltaDataset
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.table.alterer import TableAlterer
    from deltaarrow.table.merger import TableMerger
    from deltaarrow.transaction import OptimisticTransaction
    from deltaarrow.verify import VerifyReport
    from deltaarrow.write import WriterProperties

__all__ = ["DeltaTable"]

_load = lazy_attributes(
    __name__, {"TableAlterer": "deltaarrow.table.alterer", "TableMerger": "deltaarrow.table.merger"}
)


class DeltaTable:
    """A Delta table at one version.

    Args:
        table_uri: the folder of the table: a path, or a URI that fsspec knows.
        version: the version to open; the newest if None. A point in time is understood as
            `load_as_version` understands it.
        storage_options: what fsspec, or for S3 ``deltalake``, takes as credentials and end points. A pickled
            table holds them, secrets included.
        without_files: without effect, as in ``deltalake``; files are listed on demand anyway.
        log_buffer_size: without effect, as in ``deltalake``.
        skip_stats: without effect, as in ``deltalake``.
        catalog: what holds the commits of a table that a catalog manages; `RatifiedCommits` is one.

    Raises:
        TableNotFoundError: there is no Delta log.
        VersionNotFoundError: the log does not reach the version.
        UnsupportedFeatureError: the table has a feature that this release does not read.
        CorruptLogError: the log has a gap, or is broken.

    >>> import tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> table = DeltaTable.create(folder, pa.schema([("id", pa.int64())]))
    >>> table.version(), table.count()
    (0, 0)
    """

    _opened: Snapshot | None = None
    _is_behind: bool = False

    def __init__(
        self,
        table_uri: str | os.PathLike[str],
        version: SupportsIndex | str | date | None = None,
        storage_options: Mapping[str, str] | None = None,
        without_files: bool = False,
        log_buffer_size: int | None = None,
        skip_stats: bool = False,
        *,
        catalog: Catalog | None = None,
    ) -> None:
        store = open_store(table_uri, storage_options)
        self._store = store if catalog is None else CatalogStore(store, catalog)
        if version is None:
            self._snapshot = Snapshot.load(self._store)
        else:
            self.load_as_version(version)

    @classmethod
    def _of(cls, snapshot: Snapshot) -> Self:
        table = cls.__new__(cls)
        table._store = snapshot.store
        table._snapshot = snapshot
        return table

    @classmethod
    def _made_in(cls, store: Store) -> Self:
        """The table whose first version has just been made in a store."""
        table = cls.__new__(cls)
        table._store = store
        table.follow_commit()
        return table

    @property
    def _snapshot(self) -> Snapshot:
        if self._opened is None:
            self._snapshot = Snapshot.load(self._store)
        elif self._is_behind:
            self._snapshot = self._opened.update()
        assert self._opened is not None
        return self._opened

    @_snapshot.setter
    def _snapshot(self, snapshot: Snapshot) -> None:
        self._opened, self._is_behind = snapshot, False

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the store and the version."""
        return type(self)._of, (self._snapshot,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.table_uri)!r}, version={self.version()})"

    def _repr_html_(self) -> str:
        return self._snapshot._repr_html_()

    # --- creating and opening -------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        table_uri: str | os.PathLike[str],
        schema: Schema | pa.Schema,
        mode: str = "error",
        partition_by: Sequence[str] | str | None = None,
        name: str | None = None,
        description: str | None = None,
        configuration: Mapping[str, str | None] | None = None,
        storage_options: Mapping[str, str] | None = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        cluster_by: Sequence[str] | str | None = None,
    ) -> "DeltaTable":
        """Create an empty table and return it.

        Args:
            table_uri: the folder; it may exist, a Delta log in it may not unless `mode` says so.
            schema: the columns, as a `Schema`, a `pyarrow.Schema` or any Arrow schema object.
            mode: ``error`` refuses a table that exists, ``ignore`` and ``append`` return it as it is;
                ``overwrite`` is not supported yet.
            partition_by: the partition columns.
            name: a name for people.
            description: a description for people.
            configuration: table properties.
            storage_options: as for `DeltaTable`.
            commit_properties: what else goes into the commit.
            cluster_by: up to four columns by which OPTIMIZE lays the rows out; members of structs with a
                dot between. Not together with `partition_by`.

        Raises:
            VersionExistsError: there is a table already.
        """
        new = operations.NewTable(
            schema=schema if isinstance(schema, Schema) else from_arrow_schema(pa.schema(schema)),
            partition_by=(partition_by,) if isinstance(partition_by, str) else tuple(partition_by or ()),
            cluster_by=(cluster_by,) if isinstance(cluster_by, str) else tuple(cluster_by or ()),
            name=name,
            description=description,
            configuration={key: value for key, value in (configuration or {}).items() if value is not None},
        )
        store = open_store(table_uri, storage_options)
        if operations.create_table(store, new, mode=mode, commit_properties=commit_properties):
            return cls._made_in(store)
        return cls(table_uri, storage_options=storage_options)

    @staticmethod
    def is_deltatable(
        table_uri: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
    ) -> bool:
        """Tell whether there is a Delta log at a location, be it whole or broken."""
        return operations.is_table(open_store(table_uri, storage_options))

    def load_as_version(self, version: SupportsIndex | str | date) -> None:
        """Move to another version, or to the newest one at a point in time.

        A text is an ISO 8601 time; a time without zone is UTC, a date its midnight. A time after the
        newest commit gives the newest version.

        Raises:
            VersionNotFoundError: the log does not reach back so far, or has no such version; it names
                what there is.
            TypeError: it is neither an integer nor a text, a `datetime` or a `date`.
            ValueError: the text is no time.
        """
        self._snapshot = Snapshot.load_as_version(self._store, version)

    def update_incremental(self) -> None:
        """Move to the newest version, reading the commits alone that were made since the open one."""
        self._snapshot = self._snapshot.update()

    def follow_commit(self) -> None:
        """Move to the newest version after a statement on this table that has succeeded.

        Its commit, if it made one, is made, so nothing here may fail it: where the newest version cannot be
        read now, a warning is logged, and the table moves when it is used next.
        """
        self._is_behind = True
        try:
            _ = self._snapshot
        except Exception:
            import logging  # loaded by tables that are written to anyway, and by no other

            logging.getLogger(__name__).warning(
                "a statement on %s has succeeded, and the newest version could not be opened yet",
                self._store.uri,
                exc_info=True,
            )

    # --- describing -----------------------------------------------------------------------------------

    @property
    def table_uri(self) -> str:
        """Where the table is."""
        return self._store.uri

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot beneath: the log's own view of the version."""
        return self._snapshot

    def version(self) -> int:
        """Return the version that is open."""
        return self._snapshot.version

    def schema(self) -> Schema:
        """Return the schema; `Schema.to_arrow` gives the Arrow one."""
        return self._snapshot.schema

    def metadata(self) -> Metadata:
        """Return name, description, partitioning and properties."""
        return describe_metadata(self._snapshot)

    def protocol(self) -> ProtocolVersions:
        """Return the versions and features that readers and writers have to know."""
        return describe_protocol(self._snapshot)

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what the commits say of themselves, newest first: `commitInfo` with `version`.

        Args:
            limit: how many commits; all that the log still holds if None.

        Raises:
            ValueError: the limit is negative.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is a number of commits, not {limit}")
        times = self._snapshot.commit_times()
        return read_commit_infos(self._store, self.version(), limit, times.in_commit_since)

    def detail(self) -> dict[str, Any]:
        """Return what Spark's ``DESCRIBE DETAIL`` shows; times are milliseconds since the epoch."""
        return describe_detail(self._snapshot)

    def count(self) -> int:
        """Return the number of rows, from the log where it tells and from Parquet footers otherwise."""
        return scan.count_rows(self._snapshot)

    def partitions(
        self,
        partition_filters: Filters | None = None,
        *,
        file_pruning_predicate: str | Filters | None = None,
    ) -> list[dict[str, str | None]]:
        """Return the distinct partition values, as the log spells them.

        Args:
            partition_filters: ``(column, operator, value)`` tuples that the partitions must match.
            file_pruning_predicate: SQL text or tuples on any columns that a file may match.
        """
        return list_partitions(
            self._snapshot, file_predicate(self._snapshot, partition_filters, file_pruning_predicate)
        )

    def file_uris(
        self,
        partition_filters: Filters | None = None,
        *,
        file_pruning_predicate: str | Filters | None = None,
    ) -> list[str]:
        """Return where the data files are that may hold matching rows.

        Args:
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            file_pruning_predicate: SQL text or tuples on any columns.
        """
        predicate = file_predicate(self._snapshot, partition_filters, file_pruning_predicate)
        paths = self._snapshot.files(predicate, ["path"]).column("path").to_pylist()
        return [self._store.location(path) for path in paths]

    def get_add_actions(self, flatten: bool = False) -> pa.Table:
        """Return the live files with statistics and partition values.

        Args:
            flatten: whether structs become columns such as ``min.id``.
        """
        return add_actions(self._snapshot, flatten=flatten)

    def transaction_version(self, app_id: str) -> int | None:
        """Return the newest version that an application has recorded with its writes."""
        transaction = self._snapshot.transactions.get(app_id)
        return None if transaction is None else transaction.version

    # --- reading --------------------------------------------------------------------------------------

    def to_pyarrow_dataset(
        self,
        partitions: Filters | None = None,
        filesystem: None = None,
        parquet_read_options: None = None,
        schema: None = None,
        as_large_types: bool = False,
        file_pruning_predicate: str | Filters | None = None,
    ) -> "DeltaDataset":
        """Return the table as a `pyarrow.dataset.Dataset`, pinned to the open version.

        Args:
            partitions: ``(column, operator, value)`` tuples on partition columns that rows must match.
            filesystem: refused; `storage_options` say how files are reached.
            parquet_read_options: refused; INT96 timestamps are read to microseconds without them.
            schema: refused; cast what is read.
            as_large_types: refused; Polars takes the types as they are.
            file_pruning_predicate: SQL text or tuples; files that cannot hold a matching row are left out.
                The SQL may have ``variant_get`` of a path as a type.
        """
        _refuse_arguments({"filesystem": filesystem, "parquet_read_options": parquet_read_options})
        _refuse_arguments({"schema": schema, "as_large_types": as_large_types or None})
        conditions = table_conditions(self._snapshot, partitions, None)
        pruning = file_predicate(self._snapshot, None, file_pruning_predicate)
        return engines.DeltaDataset(self._snapshot, conditions, pruning)

    def to_pyarrow_table(
        self,
        partitions: Filters | None = None,
        columns: list[str] | None = None,
        filesystem: None = None,
        filters: "str | Filters | pc.Expression | None" = None,
    ) -> pa.Table:
        """Return rows as a `pyarrow.Table`.

        Args:
            partitions: tuples on partition columns that rows must match.
            columns: the columns, in the wanted order; all if None.
            filesystem: refused; `storage_options` say how files are reached.
            filters: what rows must match: SQL text, which means what it means in Spark; tuples or lists of
                tuples (an OR of ANDs), as in ``deltalake``; or a pyarrow expression, which means what it
                means in pyarrow. They differ where values are NaN.

        Raises:
            InvalidPredicateError: a condition is not understood, names what the table does not have, or
                cannot be computed for a row.
            TypeError: `filters` or `columns` are something else.
        """
        _refuse_arguments({"filesystem": filesystem})
        if not isinstance(columns, list | tuple | None):
            raise TypeError(f"columns is a list of names, not {type(columns).__qualname__}")
        conditions = table_conditions(self._snapshot, partitions, filters)
        return engines.DeltaDataset(self._snapshot, conditions).to_table(columns=columns)

    def to_pandas(
        self,
        partitions: Filters | None = None,
        columns: list[str] | None = None,
        filesystem: None = None,
        filters: "str | Filters | pc.Expression | None" = None,
        types_mapper: Any = None,
    ) -> "pd.DataFrame":
        """Return rows as a pandas DataFrame; the arguments are those of `to_pyarrow_table`."""
        require("pandas")
        table = self.to_pyarrow_table(partitions, columns, filesystem, filters)
        return table.to_pandas(types_mapper=types_mapper)

    def to_polars(self) -> "pl.LazyFrame":
        """Return the table as a `polars.LazyFrame`, pinned to the open version."""
        return engines.scan_delta(self._snapshot)

    def explain(
        self,
        filters: "str | Filters | pc.Expression | None" = None,
        columns: list[str] | None = None,
        *,
        partitions: Filters | None = None,
    ) -> "scan.Explanation":
        """Return which files `to_pyarrow_table` reads for these arguments, and what leaves out the others.

        No data file is opened. `deltaarrow.explain` does this for queries of DuckDB and Polars.

        >>> import tempfile
        >>> schema = pa.schema([("id", pa.int64())])
        >>> print(DeltaTable.create(tempfile.mkdtemp(), schema).explain("id > 1").left_files)
        0
        """
        conditions = table_conditions(self._snapshot, partitions, filters)
        return engines.DeltaDataset(self._snapshot, conditions).explain(columns)

    def load_cdf(
        self,
        starting_version: int | None = 0,
        ending_version: int | None = None,
        starting_timestamp: str | datetime | None = None,
        ending_timestamp: str | datetime | None = None,
        columns: list[str] | None = None,
        predicate: str | Filters | None = None,
        allow_out_of_range: bool = False,
    ) -> pa.RecordBatchReader:
        """Return what changed in a range of versions as a stream of rows: the change data feed.

        The columns are those of the table at the end of the range, and ``_change_type`` (``insert``,
        ``delete``, ``update_preimage`` or ``update_postimage``), ``_commit_version`` and
        ``_commit_timestamp``. Rows come in no particular order.

        Args:
            starting_version: the first version.
            ending_version: the last version; the newest of the table, whichever is open, if None or
                if there is no such version yet.
            starting_timestamp: versions that were committed before are left out. Times are as for
                `load_as_version`.
            ending_timestamp: versions that were committed later are left out.
            columns: the columns, in the wanted order; all if None.
            predicate: what rows must match, as SQL text or tuples (see `to_pyarrow_table`); the three
                columns may be in it.
            allow_out_of_range: whether a range that begins after the newest version, or ends before it
                begins, is empty instead of refused.

        Raises:
            VersionNotFoundError: the log does not reach the range.
            ChangeDataNotRecordedError: ``delta.enableChangeDataFeed`` was not set in all of it.
            SchemaMismatchError: columns were dropped, renamed, retyped or repartitioned meanwhile.
            InvalidPredicateError: as for `to_pyarrow_table`.
            ValueError: the range has no beginning, or ends before it begins.
        """
        feed = self.change_data_feed(
            starting_version, ending_version, starting_timestamp, ending_timestamp, allow_out_of_range
        )
        condition = None if predicate is None else row_condition(predicate, feed.logical_schema)
        reader: pa.RecordBatchReader = feed.scanner(columns, condition).to_reader()
        return reader

    def change_data_feed(
        self,
        starting_version: int | None = 0,
        ending_version: int | None = None,
        starting_timestamp: str | datetime | None = None,
        ending_timestamp: str | datetime | None = None,
        allow_out_of_range: bool = False,
    ) -> "ChangeDataset":
        """Return what changed in a range of versions as a `pyarrow.dataset.Dataset`.

        DuckDB takes it by ``deltaarrow.register(connection, name, feed)``; ``feed.to_polars()`` is a lazy
        frame. Arguments and errors are those of `load_cdf`.
        """
        newest = self._snapshot.update()
        versions = scan.resolve_versions(
            newest,
            starting_version,
            ending_version,
            None if starting_timestamp is None else parse_moment(starting_timestamp, later=True),
            None if ending_timestamp is None else parse_moment(ending_timestamp),
            allow_out_of_range=allow_out_of_range,
        )
        return engines.ChangeDataset(scan.plan_changes(newest, versions))

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow schema by the PyCapsule interface."""
        return self._snapshot.schema.to_arrow().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows as a stream by the PyCapsule interface."""
        scanner = engines.DeltaDataset(self._snapshot).scanner()
        return scanner.__arrow_c_stream__(requested_schema)

    # --- changing rows --------------------------------------------------------------------------------

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
        _refuse_arguments({"error_on_type_mismatch": None if error_on_type_mismatch else False})
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
        _refuse_arguments({"error_on_type_mismatch": None if error_on_type_mismatch else False})
        _refuse_arguments({"max_temp_directory_size": max_temp_directory_size})
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

    def transaction(
        self,
        operation: str = "Manual Update",
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
    ) -> "OptimisticTransaction":
        """Begin a transaction on the open version. Leaving its ``with`` block commits, and moves to it.

        Args:
            operation: what history shows.
            commit_properties: what else goes into the commit.
            post_commithook_properties: whether checkpoints are written.

        >>> import tempfile
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> with table.transaction("LOAD") as transaction:
        ...     is_new = transaction.set_application("etl", 7)
        >>> table.version(), table.transaction_version("etl")
        (1, 7)
        """
        return operations.begin_transaction(
            self._snapshot, operation, commit_properties, post_commithook_properties, self.follow_commit
        )

    # --- changing the table ---------------------------------------------------------------------------

    @property
    def alter(self) -> "TableAlterer":
        """Changes of properties, features, columns and of what the table says of itself."""
        alterer: TableAlterer = _load("TableAlterer")(self)
        return alterer

    # --- maintaining ----------------------------------------------------------------------------------

    def verify(self, *, deep: bool = False) -> "VerifyReport":
        """Look for what is wrong with the open version, and report it; nothing is changed.

        The log is held against itself (hint, checkpoints, version checksum, what commits say of themselves),
        against storage (files, footers, deletion vectors, row counts), and its statistics against the data.
        `deltaarrow.verify.Check` says what each check means; ``table.verify().ok`` whether there is no error.

        Args:
            deep: read every checkpoint and every row too, not only the footer of every file.
        """
        return verification.verify_snapshot(self._snapshot, deep=deep)

    def create_checkpoint(self) -> None:
        """Write a checkpoint of the open version, of the kind that the table's properties ask for."""
        operations.create_checkpoint(self._store, self.version(), known=self._snapshot)

    def compact_logs(self, starting_version: int, ending_version: int) -> None:
        """Write one file that stands for the commits of two versions and of those between them."""
        operations.compact_logs(self._store, starting_version, ending_version)

    def cleanup_metadata(self) -> None:
        """Delete log files older than ``delta.logRetentionDuration`` that no newer version needs."""
        operations.cleanup_metadata(self._store)


def _refuse_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of ``deltalake`` that would be left without effect here."""
    for name, value in arguments.items():
        if value is not None:
            raise UnsupportedFeatureError(f"the argument {name} is not supported", feature=name)
