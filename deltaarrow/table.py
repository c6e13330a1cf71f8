"""`DeltaTable`: a table at a version, with the names and meanings of ``deltalake``.

Every method is one call downward; what it does is said there. What ``deltalake`` returns as arro3 is
pyarrow here.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import deltaarrow.engines as engines
import deltaarrow.operations as operations
import deltaarrow.scan as scan
import deltaarrow.verify as verification
from deltaarrow.changing_table import ChangingTable, refuse_arguments
from deltaarrow.conditions import file_predicate, row_condition, table_conditions
from deltaarrow.expressions import Filters
from deltaarrow.lazy import lazy_attributes
from deltaarrow.moments import parse_moment
from deltaarrow.optional import require
from deltaarrow.schema import Schema, from_arrow_schema
from deltaarrow.storage import open_store

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow.compute as pc

    from deltaarrow.alterer import TableAlterer
    from deltaarrow.engines import ChangeDataset, DeltaDataset
    from deltaarrow.operations import CommitProperties, PostCommitHookProperties
    from deltaarrow.transaction import OptimisticTransaction
    from deltaarrow.verify import VerifyReport

__all__ = ["DeltaTable"]

_load = lazy_attributes(__name__, {"TableAlterer": "deltaarrow.alterer"})


class DeltaTable(ChangingTable):
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

    # --- creating ---------------------------------------------------------------------------------

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

    # --- reading ----------------------------------------------------------------------------------

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
        refuse_arguments({"filesystem": filesystem, "parquet_read_options": parquet_read_options})
        refuse_arguments({"schema": schema, "as_large_types": as_large_types or None})
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
        refuse_arguments({"filesystem": filesystem})
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

    # --- changing ---------------------------------------------------------------------------------

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

    @property
    def alter(self) -> "TableAlterer":
        """Changes of properties, features, columns and of what the table says of itself."""
        alterer: TableAlterer = _load("TableAlterer")(self)
        return alterer

    # --- maintaining ------------------------------------------------------------------------------

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
