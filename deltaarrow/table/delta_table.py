"""`DeltaTable`: a Delta table at one version, with the method names and semantics of ``deltalake``.

Every method is one call into a lower package. Where ``deltalake`` returns arro3 objects, this class returns
pyarrow objects.
"""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, overload

import pyarrow as pa

import deltaarrow.engines as engines
import deltaarrow.operations as operations
import deltaarrow.scan as scan
import deltaarrow.spark_sql as spark_sql
import deltaarrow.verify as verification
from deltaarrow.catalogs import open_table_store
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import TableNotFoundError
from deltaarrow.log import Catalog, read_commit_infos
from deltaarrow.log.version_arguments import parse_moment
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import require
from deltaarrow.runtime.sizes import ensure_sizes
from deltaarrow.schema import Schema, from_arrow_schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import IoStats, Store, open_store, with_data_filesystem
from deltaarrow.table.absent_table_names import TellingTableNames
from deltaarrow.table.default_dialect import default_dialect
from deltaarrow.table.deltalake_arguments import tells_old_arguments
from deltaarrow.table.describe import (
    DeltaTableConfig,
    Metadata,
    ProtocolVersions,
    add_actions,
    describe_commits,
    describe_detail,
    describe_metadata,
    describe_protocol,
    list_partitions,
)
from deltaarrow.table.filters import (
    ensure_read_options,
    file_predicate,
    partition_predicate,
    row_condition,
    table_conditions,
    warn_of_filters,
)
from deltaarrow.table.named_tables import make_named
from deltaarrow.table.positional_arguments import takes_positionally

if TYPE_CHECKING:
    import fsspec
    import pandas as pd
    import polars as pl
    import pyarrow.compute as pc
    import pyarrow.dataset as pads
    import pyarrow.fs

    from deltaarrow.catalogs import NamespaceCatalog, TableLocation
    from deltaarrow.engines import ChangeDataset, DeltaDataset
    from deltaarrow.expressions import Filters
    from deltaarrow.operations import (
        AnalysisPlan,
        ClonePlan,
        CommitProperties,
        PostCommitHookProperties,
        RestorePlan,
    )
    from deltaarrow.scan import Explanation
    from deltaarrow.table.alterer import TableAlterer
    from deltaarrow.table.inspector import TableInspector
    from deltaarrow.table.merger import TableMerger
    from deltaarrow.table.optimizer import TableOptimizer
    from deltaarrow.transaction import AddAction, OptimisticTransaction, RemoveAction
    from deltaarrow.verify import VerifyReport
    from deltaarrow.write import WriterProperties

__all__ = ["DeltaTable"]

_load = lazy_attributes(
    __name__,
    {
        "TableAlterer": "deltaarrow.table.alterer",
        "TableInspector": "deltaarrow.table.inspector",
        "TableMerger": "deltaarrow.table.merger",
        "TableOptimizer": "deltaarrow.table.optimizer",
        "deletion_vector_masks": "deltaarrow.table.selection_vectors",
        "gather_facts": "deltaarrow.table.report.facts",
        "render_report": "deltaarrow.table.report.page",
    },
)


class DeltaTable(TellingTableNames):
    """A Delta table at one version.

    Args:
        table_uri: the folder of the table: a local path or a URI with a scheme of fsspec; or its
            `TableLocation`; or its name, as ``shop.orders``, with a catalog of names.
        version: the version to open, or a timestamp (see `load_as_version`); the newest version if None.
        storage_options: credentials and endpoints of the store, under fsspec's names; S3 also accepts the
            names of ``deltalake``. A pickled table contains them, secrets included.
        without_files: accepted for ``deltalake`` and ignored with a `DeprecationWarning`, as there; files are
            always listed on demand.
        log_buffer_size: the same.
        skip_stats: the same.
        catalog: the catalog of a catalog-managed table, which holds its unpublished commits, for example
            `RatifiedCommits`; or a catalog of names, such as `UnityCatalog`, `DeltaSharingCatalog`
            and `FileCatalog`, in which the table is looked up; a string is opened by `open_catalog` with
            `storage_options`.
        dialect: the SQL of conditions and expressions that the methods of the table take: ``spark``, or
            ``deltalake``, in which ``"x"`` is a column, for scripts written for that package; that of
            `set_default_dialect` if None.

    Raises:
        TableNotFoundError: the folder has no Delta log.
        VersionNotFoundError: the log does not contain the version.
        UnsupportedFeatureError: the table has a feature that this release does not read.
        CorruptLogError: the log has a gap or a malformed file.

    >>> import tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> table = DeltaTable.create(folder, pa.schema([("id", pa.int64())]))
    >>> table.version(), table.count()
    (0, 0)
    """

    _opened: Snapshot | None = None
    _is_behind: bool = False
    _dialect: str = "spark"

    def __init__(
        self,
        table_uri: "str | os.PathLike[str] | TableLocation",
        version: SupportsIndex | str | date | None = None,
        storage_options: Mapping[str, str] | None = None,
        without_files: bool = False,
        log_buffer_size: int | None = None,
        skip_stats: bool = False,
        *,
        catalog: "str | os.PathLike[str] | Catalog | NamespaceCatalog | None" = None,
        dialect: str | None = None,
    ) -> None:
        chosen = default_dialect() if dialect is None else dialect
        self._dialect = chosen if chosen == "spark" else spark_sql.ensure_dialect(chosen)
        ignored = {
            "without_files": without_files,
            "log_buffer_size": log_buffer_size is not None,
            "skip_stats": skip_stats,
        }
        for name in [each for each, is_given in ignored.items() if is_given]:
            warnings.warn(f"the argument {name} is ignored; leave it out", DeprecationWarning, stacklevel=2)
        self._store = open_table_store(table_uri, storage_options, catalog)
        if version is None:
            self._snapshot = Snapshot.load(self._store)
        else:
            self.load_as_version(version)

    @classmethod
    def _of(cls, snapshot: Snapshot, dialect: str = "spark") -> Self:
        table = cls.__new__(cls)
        table._dialect = dialect
        table._store = snapshot.store
        table._snapshot = snapshot
        return table

    @classmethod
    def _made_in(cls, store: Store) -> Self:
        """Open the table that has just been created in a store."""
        table = cls.__new__(cls)
        table._store, table._dialect = store, default_dialect()
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
        """Pickle as the store, the version and the dialect."""
        return type(self)._of, (self._snapshot, self._dialect)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.table_uri)!r}, version={self.version()})"

    def _repr_html_(self) -> str:
        return self._snapshot._repr_html_()

    # --- creating and opening -------------------------------------------------------------------------

    @classmethod
    @takes_positionally("commit_properties", "post_commithook_properties", "raise_if_key_not_exists")
    @tells_old_arguments
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
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        raise_if_key_not_exists: bool = True,
        cluster_by: Sequence[str] | str | None = None,
        catalog: "str | os.PathLike[str] | NamespaceCatalog | None" = None,
    ) -> "DeltaTable":
        """Create an empty table and return it.

        Args:
            table_uri: the folder of the new table, which may exist; or its name in `catalog`.
            schema: the columns, as a `Schema`, a `pyarrow.Schema` or any object that exports an Arrow schema.
            mode: what happens if the table exists: ``error`` and ``append`` raise, ``ignore`` returns the
                table unchanged, ``overwrite`` replaces it: its history and its protocol stay, its rows,
                columns and properties do not.
            partition_by: the partition columns.
            name: the name of the table, for display.
            description: the description of the table, for display.
            configuration: table properties by name; a property whose value is None is left out. Odd names of
                columns turn on column mapping, as for `write_deltalake`.
            storage_options: see `DeltaTable`.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: hooks that run after the commit.
            raise_if_key_not_exists: accepted for ``deltalake``: properties outside of ``delta.`` are always
                accepted, unknown properties in it never.
            cluster_by: up to four clustering columns, by which `optimize` lays rows out. Write a field of
                a struct with dots, such as ``address.city``. Excludes `partition_by`.
            catalog: a catalog of names, which allocates the table's location and registers its name; or a
                string, as for `DeltaTable`.

        Raises:
            VersionExistsError: the table exists and `mode` is ``error`` or ``append``.
            SchemaMismatchError: the schema, the partition columns or the clustering columns are invalid.
            InvalidTablePropertyError: a property is unknown, or its value is invalid.
            UnsupportedFeatureError: the table would need a feature that this release does not write.
            ValueError: `mode` is unknown.

        >>> import tempfile, pyarrow as pa
        >>> schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
        >>> table = DeltaTable.create(tempfile.mkdtemp(), schema, partition_by="day")
        >>> table.metadata().partition_columns
        ['day']
        """
        new = operations.NewTable(
            schema=_schema_of(schema),
            partition_by=(partition_by,) if isinstance(partition_by, str) else tuple(partition_by or ()),
            cluster_by=(cluster_by,) if isinstance(cluster_by, str) else tuple(cluster_by or ()),
            name=name,
            description=description,
            configuration={key: value for key, value in (configuration or {}).items() if value is not None},
            maps_odd_names=True,
        )
        made = partial(
            operations.make_table,
            table=new,
            mode=mode,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        if catalog is not None:
            return cls(table_uri, catalog=make_named(table_uri, catalog, storage_options, made, mode=mode))
        store = open_store(table_uri, storage_options)
        return cls._made_in(store) if made(store) else cls(table_uri, storage_options=storage_options)

    @staticmethod
    def is_deltatable(
        table_uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        *,
        catalog: "str | os.PathLike[str] | Catalog | NamespaceCatalog | None" = None,
    ) -> bool:
        """Return whether a location has a Delta log, valid or not.

        Args:
            table_uri: the folder, or the name in `catalog`, as for `DeltaTable`.
            storage_options: see `DeltaTable`.
            catalog: see `DeltaTable`. A name that the catalog does not have is no table.
        """
        try:
            store = open_table_store(table_uri, storage_options, catalog)
        except TableNotFoundError:
            return False
        return operations.is_table(store)

    def load_as_version(self, version: SupportsIndex | str | date) -> None:
        """Move to another version, or to the version that was the newest at a timestamp.

        Args:
            version: a version number, or a timestamp: an ISO 8601 string, a `datetime` or a `date`. A
                timestamp without a time zone is in UTC; a date means its midnight.

        Raises:
            VersionNotFoundError: the log does not contain the version, or does not reach back to the
                timestamp, or the timestamp is after the newest commit; the message names the versions
                that exist.
            TypeError: `version` is not an integer, string, `datetime` or `date`.
            ValueError: the string is not an ISO 8601 timestamp.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1]}))
        >>> _ = write_deltalake(folder, pa.table({"id": [2]}), mode="append")
        >>> table = DeltaTable(folder)
        >>> table.load_as_version(0)
        >>> table.version(), table.count()
        (0, 1)
        """
        self._snapshot = Snapshot.load_as_version(self._store, version)

    def update_incremental(self) -> None:
        """Move to the newest version. Only the commits after the open version are read."""
        self._snapshot = self._snapshot.update()

    def follow_commit(self) -> None:
        """Move to the newest version after a successful statement on this table.

        The statement has already committed, so this method does not raise. If the newest version cannot be
        read now, a warning is logged, and the next use of the table moves it. On a remote store the next use
        always does: it may never come, and costs two requests.
        """
        self._is_behind = True
        if not self._store.is_local:
            return
        try:
            _ = self._snapshot
        except Exception:
            import logging  # lazy: reads do not need it

            logging.getLogger(__name__).warning(
                "a statement on %s succeeded, but the newest version could not be opened;"
                " the next use of the table tries again",
                self._store.uri,
                exc_info=True,
            )

    # --- describing -----------------------------------------------------------------------------------

    @property
    def table_uri(self) -> str:
        """The location of the table: a path or a URI."""
        return self._store.uri

    def io_stats(self) -> IoStats:
        """Return the requests of this process to the object store of the table, and the bytes received.

        They count from the first time on that this process opened a table at this location, and for all of
        its tables there. Reads by which Polars itself reaches S3 are not counted. A local table has none.

        >>> import pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> _ = write_deltalake("memory://shop/counted", pa.table({"id": [1, 2]}))
        >>> table = DeltaTable("memory://shop/counted")
        >>> before = table.io_stats()
        >>> _ = table.to_pyarrow_table()
        >>> (table.io_stats() - before).puts
        0
        """
        return self._store.io_stats()

    @property
    def table_config(self) -> DeltaTableConfig:
        """The options of ``deltalake`` that are ignored, with their defaults; asking for them warns."""
        warnings.warn("table_config tells nothing of use", DeprecationWarning, stacklevel=2)
        return DeltaTableConfig()

    @property
    def snapshot(self) -> Snapshot:
        """The `Snapshot` of the open version."""
        return self._snapshot

    @property
    def dialect(self) -> str:
        """The SQL of conditions and expressions: ``spark`` or ``deltalake``."""
        return self._dialect

    def version(self) -> int:
        """Return the number of the open version."""
        return self._snapshot.version

    def schema(self) -> Schema:
        """Return the Delta schema; its method `Schema.to_arrow` returns the Arrow schema."""
        return self._snapshot.schema

    def metadata(self) -> Metadata:
        """Return the id, name, description, partition columns, creation time and table properties."""
        return describe_metadata(self._snapshot)

    def protocol(self) -> ProtocolVersions:
        """Return the reader and writer versions and the table features of the protocol."""
        return describe_protocol(self._snapshot)

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the `commitInfo` of each commit with its `version`, newest first.

        `timestamp` is the time of the version, in milliseconds since the epoch: the table at this time is
        this version. It is the in-commit timestamp or else the time of the commit file, as in Spark. The
        values of `operationParameters` are strings, as in Spark's ``DESCRIBE HISTORY``.

        Args:
            limit: the largest number of commits to return; None returns every commit in the log.

        Raises:
            ValueError: `limit` is negative.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1]}))
        >>> _ = DeltaTable(folder).delete("id = 1")
        >>> [(commit["version"], commit["operation"]) for commit in DeltaTable(folder).history()]
        [(1, 'DELETE'), (0, 'WRITE')]
        """
        given: object = limit
        if not isinstance(given, int | None):
            raise TypeError(f"limit must be a number of commits, not {given!r}")
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}; give 0 or a larger number of commits, or None for all")
        return describe_commits(read_commit_infos(self._snapshot.commit_times(), self.version(), limit))

    def detail(self) -> dict[str, Any]:
        """Return the columns of Spark's ``DESCRIBE DETAIL``; times are in milliseconds since the epoch.

        The location leaves out the password of a URI; `table_uri` has it.
        """
        return describe_detail(self._snapshot)

    def count(self) -> int:
        """Return the number of rows, from statistics in the log or, for files without them, from footers."""
        return scan.count_rows(self._snapshot)

    def partitions(
        self,
        partition_filters: "Filters | None" = None,
        *,
        file_pruning_predicate: "str | Filters | None" = None,
    ) -> list[dict[str, str | None]]:
        """Return the distinct partition values, spelled as in the log.

        Args:
            partition_filters: deprecated, as in ``deltalake``: tuples, as `file_pruning_predicate`.
            file_pruning_predicate: SQL text or ``(column, operator, value)`` tuples on any columns; only
                partitions with a file that may contain matching rows are returned.

        Raises:
            InvalidPredicateError: a condition cannot be parsed or names an unknown column.
            ValueError: both arguments are given.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "day": [7, 8]}), partition_by="day")
        >>> DeltaTable(folder).partitions(file_pruning_predicate=[("day", ">", 7)])
        [{'day': '8'}]
        """
        warn_of_filters("partition_filters", partition_filters, file_pruning_predicate)
        predicate = file_predicate(self._snapshot, partition_filters, file_pruning_predicate, self._dialect)
        return list_partitions(self._snapshot, predicate)

    def file_uris(
        self,
        partition_filters: "Filters | None" = None,
        *,
        file_pruning_predicate: "str | Filters | None" = None,
    ) -> list[str]:
        """Return the locations of the data files that may hold matching rows.

        Warns with `deltaarrow.errors.DeltaWarning` if the files alone are not the rows: where a file has a
        deletion vector, or the table maps columns. To read a table file by file, use the fragments of
        `to_pyarrow_dataset`.

        Args:
            partition_filters: deprecated, as in ``deltalake``: tuples, as `file_pruning_predicate`.
            file_pruning_predicate: SQL text or ``(column, operator, value)`` tuples on any columns.

        Raises:
            InvalidPredicateError: as for `partitions`.
        """
        warn_of_filters("partition_filters", partition_filters, file_pruning_predicate)
        predicate = file_predicate(self._snapshot, partition_filters, file_pruning_predicate, self._dialect)
        return scan.list_file_uris(self._snapshot, predicate)

    def get_add_actions(self, flatten: bool = False) -> pa.Table:
        """Return the live files with their statistics and partition values.

        The columns are ``path``, ``size_bytes``, ``modification_time`` (milliseconds since the epoch) and
        ``num_records``, then the structs ``null_count``, ``min``, ``max`` and ``partition``. Values of
        partitions have the types of their columns.

        Args:
            flatten: whether each field of a struct becomes a column such as ``min.id``.
        """
        return add_actions(self._snapshot, flatten=flatten)

    def transaction_version(self, app_id: str) -> int | None:
        """Return the newest version that an application recorded with its writes, or None.

        Args:
            app_id: the `app_id` of the application's transactions (chapter *Transaction Identifiers*).
        """
        transaction = self._snapshot.transactions.get(app_id)
        return None if transaction is None else transaction.version

    def deletion_vectors(self) -> pa.RecordBatchReader:
        """Return the files that have a deletion vector, each with a mask of its rows.

        The columns are ``filepath``, a URI, and ``selection_vector``, a list with True for each row that is
        there and False for each that is deleted.

        Raises:
            CorruptDeletionVectorError: a deletion vector fails one of its checks.
            CorruptLogError: the log does not contain the number of rows of a file with a deletion vector.
        """
        return _load("deletion_vector_masks")(self._snapshot).to_reader()

    # --- reading --------------------------------------------------------------------------------------

    def to_pyarrow_dataset(
        self,
        partitions: "Filters | None" = None,
        filesystem: "pyarrow.fs.FileSystem | fsspec.AbstractFileSystem | None" = None,
        parquet_read_options: "pads.ParquetReadOptions | None" = None,
        schema: pa.Schema | None = None,
        as_large_types: bool = False,
        file_pruning_predicate: "str | Filters | None" = None,
    ) -> "DeltaDataset":
        """Return the table as a `pyarrow.dataset.Dataset`, pinned to the open version.

        Args:
            partitions: deprecated, as in ``deltalake``: tuples on partition columns that rows must match.
            filesystem: reads the data files and deletion vectors, instead of the store of the table. Its
                root is the folder of the table.
            parquet_read_options: accepted for ``deltalake``, with ``coerce_int96_timestamp_unit``: timestamps
                are always read as microseconds. Columns in ``dictionary_columns`` must be string or
                binary; results contain them as dictionaries.
            schema: the columns of results with their Arrow types, which must correspond to the Delta types
                of the columns, as ``large_string`` and dictionaries of strings do to ``string``.
            as_large_types: whether string, binary and list columns have types with 64-bit offsets; ignored if
                `schema` is set.
            file_pruning_predicate: SQL text or tuples. Files that cannot contain a matching row are skipped;
                rows of the other files are not filtered. The SQL may contain ``variant_get`` with a path and
                a type.

        Raises:
            InvalidPredicateError: as for `partitions`.
            SchemaMismatchError: a column of `schema` is not in the table or has another Delta type.
            TypeError: `filesystem` is no file system.
            UnsupportedFeatureError: `parquet_read_options` has another unit of timestamps, or dictionaries of
                columns that are neither string nor binary.
            ValueError: both `partitions` and `file_pruning_predicate` are given.

        >>> import tempfile, pyarrow as pa
        >>> import pyarrow.compute as pc
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
        >>> DeltaTable(folder).to_pyarrow_dataset().count_rows(filter=pc.field("id") > 1)
        2
        """
        warn_of_filters("partitions", partitions, file_pruning_predicate)
        ensure_read_options(parquet_read_options)
        snapshot = self._read_by(filesystem)
        conditions = table_conditions(snapshot, partitions, None)
        pruning = file_predicate(snapshot, None, file_pruning_predicate, self._dialect)
        encoded = parquet_read_options.dictionary_columns if parquet_read_options is not None else ()
        if schema is None and not as_large_types and not encoded:
            return engines.DeltaDataset(snapshot, conditions, pruning)
        shown = engines.chosen_types(snapshot, schema, as_large_types, encoded)
        return engines.TypedDataset(snapshot, conditions, pruning, shown)

    def to_pyarrow_table(
        self,
        partitions: "Filters | None" = None,
        columns: list[str] | None = None,
        filesystem: "pyarrow.fs.FileSystem | fsspec.AbstractFileSystem | None" = None,
        filters: "str | Filters | pc.Expression | None" = None,
        *,
        dialect: str | None = None,
    ) -> pa.Table:
        """Return rows as a `pyarrow.Table`.

        Args:
            partitions: deprecated, as in ``deltalake``: tuples on partition columns that rows must match;
                use `filters`.
            columns: the names of the columns, in any case and in the order of the result; all if None.
            filesystem: reads the data files and deletion vectors, instead of the store of the table. Its
                root is the folder of the table.
            filters: the condition that rows must match, in one of three notations: SQL text with Spark's
                semantics; tuples or lists of tuples (an OR of ANDs) as in ``deltalake``; or a pyarrow
                expression with pyarrow's semantics. The semantics differ for NaN.
            dialect: the SQL of `filters`, as for `DeltaTable`; that of the table if None.

        Raises:
            InvalidPredicateError: a condition cannot be parsed, names an unknown column, or cannot be
                computed for a row.
            StorageError: `filesystem` does not reach a file, which is outside the folder of the table.
            TypeError: `filters`, `columns` or `filesystem` has another type.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "name": ["a", "b"]}))
        >>> DeltaTable(folder).to_pyarrow_table(columns=["name"], filters="id > 1").to_pydict()
        {'name': ['b']}
        """
        warn_of_filters("partitions", partitions, instead="filters")
        return self._read(partitions, columns, filesystem, filters, dialect)

    def _read(
        self,
        partitions: "Filters | None",
        columns: list[str] | None,
        filesystem: "pyarrow.fs.FileSystem | fsspec.AbstractFileSystem | None",
        filters: "str | Filters | pc.Expression | None",
        dialect: str | None,
    ) -> pa.Table:
        given: object = columns
        if not isinstance(given, list | tuple | None):
            shown = f": write columns=[{given!r}]" if isinstance(given, str) else ""
            raise TypeError(f"columns is a list of names, not {type(given).__qualname__}{shown}")
        conditions = table_conditions(self._snapshot, partitions, filters, dialect or self._dialect)
        asked = engines.asked_columns(self._snapshot.schema, columns)
        return engines.scan_rows(self._read_by(filesystem), conditions, asked).to_table()

    def _read_by(self, filesystem: "pyarrow.fs.FileSystem | fsspec.AbstractFileSystem | None") -> Snapshot:
        if filesystem is None:
            return self._snapshot
        return self._snapshot.in_store(with_data_filesystem(self._snapshot.store, filesystem))

    def scan(
        self, columns: list[str] | None = None, predicate: "str | Filters | None" = None
    ) -> pa.RecordBatchReader:
        """Return the matching rows as a stream that holds one batch in memory at a time.

        Args:
            columns: the names of the columns, in any case and in the order of the result; all if None.
            predicate: SQL text in the dialect of the table, or tuples, as for `to_pyarrow_table`.

        Raises:
            InvalidPredicateError: the predicate cannot be parsed, or names an unknown column.
            SchemaMismatchError: there is no column of a name.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "name": ["a", "b"]}))
        >>> DeltaTable(folder).scan(["name"], "id > 1").read_all().to_pylist()
        [{'name': 'b'}]
        """
        conditions = table_conditions(self._snapshot, None, predicate, self._dialect)
        asked = engines.asked_columns(self._snapshot.schema, columns)
        return engines.DeltaDataset(self._snapshot, conditions).scanner(asked).to_reader()

    def to_pandas(
        self,
        partitions: "Filters | None" = None,
        columns: list[str] | None = None,
        filesystem: "pyarrow.fs.FileSystem | fsspec.AbstractFileSystem | None" = None,
        filters: "str | Filters | pc.Expression | None" = None,
        types_mapper: Any = None,
        *,
        dialect: str | None = None,
    ) -> "pd.DataFrame":
        """Return rows as a pandas DataFrame.

        Args:
            partitions: as for `to_pyarrow_table`.
            columns: as for `to_pyarrow_table`.
            filesystem: as for `to_pyarrow_dataset`.
            filters: as for `to_pyarrow_table`.
            types_mapper: passed to `pyarrow.Table.to_pandas`: a function from an Arrow type to a pandas type.
            dialect: as for `to_pyarrow_table`.

        Raises:
            MissingDependencyError: pandas is not installed.
            InvalidPredicateError, TypeError, UnsupportedFeatureError: as for `to_pyarrow_table`.
        """
        warn_of_filters("partitions", partitions, instead="filters")
        require("pandas")
        table = self._read(partitions, columns, filesystem, filters, dialect)
        return table.to_pandas(types_mapper=types_mapper)

    def to_polars(self) -> "pl.LazyFrame":
        """Return the table as a `polars.LazyFrame`, pinned to the open version.

        Raises:
            MissingDependencyError: Polars is not installed.
        """
        return engines.scan_delta(self._snapshot)

    def explain(
        self,
        filters: "str | Filters | pc.Expression | None" = None,
        columns: list[str] | None = None,
        *,
        partitions: "Filters | None" = None,
    ) -> "Explanation":
        """Return which files `to_pyarrow_table` reads for these arguments, and why it skips the others.

        No data file is opened. `deltaarrow.explain` explains queries of DuckDB and Polars.

        Args:
            filters: as for `to_pyarrow_table`.
            columns: as for `to_pyarrow_table`.
            partitions: as for `to_pyarrow_table`.

        >>> import tempfile
        >>> schema = pa.schema([("id", pa.int64())])
        >>> print(DeltaTable.create(tempfile.mkdtemp(), schema).explain("id > 1").left_files)
        0
        """
        conditions = table_conditions(self._snapshot, partitions, filters, self._dialect)
        asked = engines.asked_columns(self._snapshot.schema, columns)
        return engines.DeltaDataset(self._snapshot, conditions).explain(asked)

    def load_cdf(
        self,
        starting_version: int | None = 0,
        ending_version: int | None = None,
        starting_timestamp: str | datetime | None = None,
        ending_timestamp: str | datetime | None = None,
        columns: list[str] | None = None,
        predicate: "str | Filters | None" = None,
        allow_out_of_range: bool = False,
    ) -> pa.RecordBatchReader:
        """Return the change data feed of a range of versions: the changed rows, as a stream.

        The columns are the columns of the table at the end of the range and three more: ``_change_type``
        (``insert``, ``delete``, ``update_preimage`` or ``update_postimage``), ``_commit_version`` and
        ``_commit_timestamp``. The order of the rows is unspecified.

        Args:
            starting_version: the first version; None if `starting_timestamp` gives the start.
            ending_version: the last version. If it is None or does not exist yet, the range ends at the
                newest version of the table, even if an older one is open.
            starting_timestamp: versions committed earlier are excluded. Times are written as for
                `load_as_version`.
            ending_timestamp: versions committed later are excluded. It must not be after the newest version,
                since the next one may still have that time.
            columns: the names of the columns, in any case and in the order of the result; all if None.
            predicate: the condition that rows must match, as SQL text or tuples (see `to_pyarrow_table`). It
                may use the three additional columns.
            allow_out_of_range: whether a range that starts after the newest version, or ends before its
                start, gives no rows instead of an error; `ending_timestamp` may be after the newest version.

        Raises:
            VersionNotFoundError: the log does not contain the range, or it ends after the newest version.
            ChangeDataNotRecordedError: ``delta.enableChangeDataFeed`` was off in a part of the range.
            SchemaMismatchError: within the range, columns were dropped, renamed, retyped or repartitioned.
            InvalidPredicateError: as for `to_pyarrow_table`.
            ValueError: the range has no start, or ends before its start.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> feed = {"delta.enableChangeDataFeed": "true"}
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2]}), configuration=feed)
        >>> _ = DeltaTable(folder).delete("id = 1")
        >>> changes = DeltaTable(folder).load_cdf(1, columns=["id", "_change_type"])
        >>> changes.read_all().to_pylist()
        [{'id': 1, '_change_type': 'delete'}]
        """
        feed = self.change_data_feed(
            starting_version, ending_version, starting_timestamp, ending_timestamp, allow_out_of_range
        )
        schema = feed.logical_schema
        condition = None if predicate is None else row_condition(predicate, schema, dialect=self._dialect)
        asked = engines.asked_columns(schema, columns)
        reader: pa.RecordBatchReader = feed.scanner(asked, condition).to_reader()
        return reader

    def change_data_feed(
        self,
        starting_version: int | None = 0,
        ending_version: int | None = None,
        starting_timestamp: str | datetime | None = None,
        ending_timestamp: str | datetime | None = None,
        allow_out_of_range: bool = False,
    ) -> "ChangeDataset":
        """Return the change data feed of a range of versions as a `pyarrow.dataset.Dataset`.

        ``deltaarrow.register(connection, name, feed)`` makes it a view in DuckDB; ``feed.to_polars()``
        returns a `polars.LazyFrame`. It has the arguments and errors of `load_cdf`.
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
        """Export the Arrow schema through the PyCapsule interface."""
        return self._snapshot.schema.to_arrow().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows as a stream through the PyCapsule interface."""
        scanner = engines.scan_rows(self._snapshot)
        return scanner.__arrow_c_stream__(requested_schema)

    # --- changing rows --------------------------------------------------------------------------------

    @tells_old_arguments
    def delete(
        self,
        predicate: str | None = None,
        writer_properties: "WriterProperties | None" = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        memory_limit: str | None = None,
        target_alias: str = "target",
        dialect: str | None = None,
    ) -> dict[str, Any]:
        """Delete rows and commit.

        If ``delta.enableDeletionVectors`` is set, a deletion vector marks the rows of a file that loses few
        rows; other files with deleted rows are rewritten. Whole partitions are removed without reading a
        file.

        Args:
            predicate: the rows to delete, as a condition in SQL; all rows if None.
            writer_properties: Parquet settings of the written files.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.
            memory_limit: the memory that the search may use before it spills to disk, such as ``"1GB"``; the
                limit of `deltaarrow.compute.set_memory_limit` if None.
            target_alias: the name of the table in `predicate`.
            dialect: the SQL of `predicate`, as for `DeltaTable`; that of the table if None.

        Returns:
            ``num_deleted_rows`` and other counts, under the names of ``deltalake``.

        Raises:
            SchemaMismatchError: the condition names an unknown column.
            InvalidPredicateError: `predicate` is not a condition, or writes a column name in double quotes,
                which Spark parses as a string.
            UnsupportedFeatureError: the condition or a feature of the table is not supported, or
                ``delta.appendOnly`` forbids deletes.
            ConstraintViolationError: the condition cannot be computed for a row.
            CommitFailedError: the commit conflicts with a concurrent commit.
            CommitStateUnknownError: the store did not report whether the commit succeeded.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
        >>> DeltaTable(folder).delete("id % 2 = 1")["num_deleted_rows"]
        2
        """
        condition = spark_sql.spark_text(predicate, dialect or self._dialect)
        operation = operations.RowOperation.begin(
            self._snapshot,
            "DELETE",
            writer_properties=writer_properties,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            memory_limit=memory_limit,
        )
        metrics = operation.carry_out(lambda each: operations.delete_rows(each, condition, target_alias))
        self.follow_commit()
        return metrics

    @tells_old_arguments
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
        target_alias: str = "target",
        dialect: str | None = None,
    ) -> dict[str, Any]:
        """Update rows and commit.

        Rows keep their row ids if the table tracks them. Generated columns are recomputed, and constraints
        are checked.

        Args:
            updates: expressions in Spark SQL by column name; a field of a struct is named with dots, such as
                ``address.city``. Expressions read the row as it was before the update.
            new_values: Python values by column name, instead of `updates`.
            predicate: the rows to update, as a condition in Spark SQL; all rows if None.
            writer_properties: Parquet settings of the written files.
            error_on_type_mismatch: whether a value that the type of its column cannot hold is an error;
                if not, it becomes NULL.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.
            memory_limit: as for `delete`.
            target_alias: the name of the table in expressions.
            dialect: the SQL of the expressions, as for `DeltaTable`; that of the table if None.

        Returns:
            ``num_updated_rows`` and other counts, under the names of ``deltalake``.

        Raises:
            SchemaMismatchError: a column is unknown, or a value does not fit its column.
            ConstraintViolationError: an updated row breaks a constraint, or a value cannot be computed.
            InvalidPredicateError, UnsupportedFeatureError: as for `delete`.
            CommitFailedError: the commit conflicts with a concurrent commit.
            CommitStateUnknownError: the store did not report whether the commit succeeded.

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
        condition = spark_sql.spark_text(predicate, dialect or self._dialect)
        expressions = spark_sql.spark_names(updates, dialect or self._dialect)
        operation = operations.RowOperation.begin(
            self._snapshot,
            "UPDATE",
            writer_properties=writer_properties,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            memory_limit=memory_limit,
        )
        metrics = operation.carry_out(
            lambda each: operations.update_rows(
                each, expressions, new_values, condition, target_alias, tries=not error_on_type_mismatch
            )
        )
        self.follow_commit()
        return metrics

    @tells_old_arguments
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
        dialect: str | None = None,
        allow_truncation: bool = False,
    ) -> "TableMerger":
        """Begin a merge of a source into the table. The `TableMerger` takes the clauses and executes it.

        Args:
            source: the data, in any form that `write_deltalake` accepts. It is read once and may be larger
                than memory.
            predicate: the condition by which source rows match table rows, in SQL over both.
            source_alias: the name of the source in expressions; ``source`` if None.
            target_alias: the name of the table in expressions; ``target`` if None.
            merge_schema: whether clauses may add columns of the source that the table lacks.
            error_on_type_mismatch: whether a value that the type of its column cannot hold is an error;
                if not, it becomes NULL.
            writer_properties: Parquet settings of the written files.
            streamed_exec: accepted for ``deltalake`` and ignored; sources are always streamed.
            max_spill_size: `memory_limit` in bytes, under the name of ``deltalake``.
            max_temp_directory_size: the maximum size of the join's temporary files, in bytes; unlimited if
                None.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.
            memory_limit: the memory that the join may use before it spills to disk, as for `delete`.
            dialect: the SQL of the condition and of all clauses, as for `DeltaTable`; that of the table if
                None.
            allow_truncation: whether digits of the source's timestamps below microseconds are cut off, as for
                `write_deltalake`; if not, they are an error.

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
        ensure_sizes(max_spill_size=max_spill_size, max_temp_directory_size=max_temp_directory_size)
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
            dialect=dialect or self._dialect,
            tries=not error_on_type_mismatch,
            spill_limit=max_temp_directory_size,
            cuts_times=allow_truncation,
        )
        return merger

    def truncate(
        self,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
    ) -> int:
        """Delete all rows and commit, without reading a file. `delete` records each deleted row instead.

        Args:
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.

        Returns:
            The number of removed files.

        Raises:
            UnsupportedFeatureError: ``delta.appendOnly`` is set, or the table cannot be written.
            CommitFailedError: the commit conflicts with a concurrent commit.
            CommitStateUnknownError: the store did not report whether the commit succeeded.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
        >>> table = DeltaTable(folder)
        >>> table.truncate(), table.count()
        (1, 0)
        """
        removed = operations.truncate_table(
            self._snapshot, commit_properties=commit_properties, hook_properties=post_commithook_properties
        )
        self.follow_commit()
        return removed

    def transaction(
        self,
        operation: str = "Manual Update",
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
    ) -> "OptimisticTransaction":
        """Begin a transaction on the open version.

        Leaving its ``with`` block commits, and moves the table to the committed version.

        Args:
            operation: the name of the operation in `history`.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.

        >>> import tempfile
        >>> table = DeltaTable.create(tempfile.mkdtemp(), pa.schema([("id", pa.int64())]))
        >>> with table.transaction("LOAD") as transaction:
        ...     is_new = transaction.set_application("etl", 7)
        >>> table.version(), table.transaction_version("etl")
        (1, 7)
        """
        hooks = post_commithook_properties
        transaction = operations.begin_transaction(self._snapshot, operation, commit_properties, hooks)
        transaction.hooks = [
            *transaction.hooks,
            operations.auto_compaction_hook(hooks),
            lambda done: self.follow_commit(),
        ]
        return transaction

    @tells_old_arguments
    def create_write_transaction(
        self,
        actions: "Sequence[AddAction | RemoveAction]",
        mode: str,
        schema: Schema | pa.Schema,
        partition_by: Sequence[str] | str | None = None,
        partition_filters: "Filters | None" = None,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
    ) -> None:
        """Commit data files that are in the folder of the table already, and removals of others.

        The files are not read: their rows are not checked against constraints, and they must have the columns
        of the table.

        Args:
            actions: `deltaarrow.transaction.AddAction` and, with mode ``append``, `RemoveAction`.
            mode: ``append``, or ``overwrite``, which removes the files that are there.
            schema: the schema of the files, as a `Schema` or a `pyarrow.Schema`: that of the table.
            partition_by: the partition columns of the table.
            partition_filters: the partitions that ``overwrite`` replaces, as ``(column, operator, value)``
                tuples; all if None.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes checkpoints and deletes expired log files.

        Raises:
            MissingFilesError: an added file does not exist, or a removed file is not part of the table.
            SchemaMismatchError: the schema or the partition columns differ from those of the table.
            AppendOnlyError: ``delta.appendOnly`` forbids to remove rows.
            UnsupportedFeatureError: the table has column mapping, or cannot be written.
            CommitFailedError: the commit conflicts with a concurrent commit.
            TypeError, ValueError: an action or a mode is none, or a size or statistics are wrong.

        >>> import os, tempfile, pyarrow.parquet as pq
        >>> from deltaarrow.transaction import AddAction
        >>> folder, rows = tempfile.mkdtemp(), pa.table({"id": [1, 2]})
        >>> table = DeltaTable.create(folder, rows.schema)
        >>> pq.write_table(rows, f"{folder}/rows.parquet")
        >>> size = os.path.getsize(f"{folder}/rows.parquet")
        >>> action = AddAction("rows.parquet", size, {}, 0, True, '{"numRecords": 2}')
        >>> table.create_write_transaction([action], "append", rows.schema)
        >>> table.count()
        2
        """
        chosen = partition_filters
        replaced = None if chosen is None else partition_predicate(self._snapshot, chosen)
        operations.commit_files(
            self._snapshot,
            actions,
            mode,
            schema if isinstance(schema, Schema) else from_arrow_schema(pa.schema(schema)),
            (partition_by,) if isinstance(partition_by, str) else partition_by,
            replaced,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.follow_commit()

    @property
    def inspect(self) -> "TableInspector":
        """Files, partitions, history, columns and more of the open version, as Arrow tables."""
        inspector: TableInspector = _load("TableInspector")(self._snapshot)
        return inspector

    def report(self) -> str:
        """Return a page about the open version: plots, how well columns skip, and advice in words.

        The page is one HTML document that loads nothing from the network and runs no script. It shows sizes
        of files, deleted rows, commits over time, bytes per version, the share of files that a query for one
        value of each column opens, and what OPTIMIZE and VACUUM would do, from the log alone. Very many files
        are sampled for the columns. Strings of the table are escaped, and secrets in its URI are omitted.

        Raises:
            CorruptLogError: the log has a malformed file.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2]}))
        >>> DeltaTable(folder).report()[:15]
        '<!doctype html>'
        """
        page: str = _load("render_report")(_load("gather_facts")(self._snapshot))
        return page

    # --- changing the table ---------------------------------------------------------------------------

    @property
    def alter(self) -> "TableAlterer":
        """Changes to table properties, features, columns, constraints, name and description."""
        alterer: TableAlterer = _load("TableAlterer")(self)
        return alterer

    @property
    def optimize(self) -> "TableOptimizer":
        """Rewriting of files without a change of rows: compaction, purging, z-order and clustering."""
        optimizer: TableOptimizer = _load("TableOptimizer")(self)
        return optimizer

    # --- maintaining ----------------------------------------------------------------------------------

    def verify(self, *, deep: bool = False) -> "VerifyReport":
        """Check the open version for errors and report them; nothing is changed.

        The checks compare the log with itself (``_last_checkpoint``, checkpoints, version checksum,
        `commitInfo`), with storage (data files, footers, deletion vectors, row counts), and statistics with
        the data. `deltaarrow.verify.Check` describes each check. ``table.verify().ok`` is True if no error
        was found.

        Args:
            deep: whether to read every checkpoint and every row too, and to check statistics. Without it,
                only the footer of each data file is read.
        """
        return verification.verify_snapshot(self._snapshot, deep=deep)

    @overload
    def analyze(
        self,
        columns: Sequence[str] | None = ...,
        partition_filters: "Filters | None" = ...,
        *,
        predicate: str | None = ...,
        full: bool = ...,
        max_concurrent_tasks: int | None = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Callable[[int, int], None] | None = ...,
        dry_run: Literal[True],
    ) -> "AnalysisPlan": ...

    @overload
    def analyze(
        self,
        columns: Sequence[str] | None = ...,
        partition_filters: "Filters | None" = ...,
        *,
        predicate: str | None = ...,
        full: bool = ...,
        max_concurrent_tasks: int | None = ...,
        commit_properties: "CommitProperties | None" = ...,
        post_commithook_properties: "PostCommitHookProperties | None" = ...,
        progress: Callable[[int, int], None] | None = ...,
        dry_run: Literal[False] = ...,
    ) -> dict[str, int]: ...

    def analyze(
        self,
        columns: Sequence[str] | None = None,
        partition_filters: "Filters | None" = None,
        *,
        predicate: str | None = None,
        full: bool = False,
        max_concurrent_tasks: int | None = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        progress: Callable[[int, int], None] | None = None,
        dry_run: bool = False,
    ) -> "AnalysisPlan | dict[str, int]":
        """Compute statistics that are missing or loose, without rewriting data files.

        Statistics are loose after rows were deleted by deletion vectors, and missing in files of writers that
        collect none, or none of a column that ``delta.dataSkippingStatsColumns`` or
        ``delta.dataSkippingNumIndexedCols`` has chosen since. Statistics of columns that these properties no
        longer choose are removed. The log determines which files to examine. Footers are read first, then the
        live rows of columns for which a footer is not exact: floating point, long strings, arrays, and all
        columns of a file with deleted rows.

        One commit ``COMPUTE STATS`` adds the files whose statistics change again; their rows, deletion
        vectors, tags and row ids stay. Nothing is committed where nothing changes. Files that other writers
        change meanwhile are left out. Chapter *Per-file Statistics* of the protocol.

        Args:
            columns: names in Spark's notation, such as ``"a.b"``; a struct stands for all that is in it.
                Statistics of other columns stay as they are, and so does the mark that the bounds of a file
                are loose. None: every column that is to have statistics.
            partition_filters: ``(column, operator, value)`` tuples on partition columns.
            predicate: SQL text on partition columns.
            full: whether to examine also files whose statistics look complete, as delta-spark does.
            max_concurrent_tasks: how many files are read at once; if None, the number of processors, or 16
                where the table is not on a disk.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether checkpoints are written.
            progress: called with the number of bytes examined so far and the total.
            dry_run: whether to return which files would be examined, without doing it.

        Returns:
            ``numFilesConsidered``, ``numFilesExamined``, ``numFilesRead`` (beyond the footer) and
            ``numFilesUpdated``; with `dry_run` an `AnalysisPlan`.

        Raises:
            SchemaMismatchError: the table keeps no statistics of a column in `columns`.
            InvalidPredicateError: a condition is not on partition columns.
            CorruptDataFileError: a file is missing, cannot be read or contradicts the log.
            MetadataChangedException: another writer has changed the metadata meanwhile.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(
        ...     folder, pa.table({"id": range(9)}), configuration={"delta.dataSkippingNumIndexedCols": "0"}
        ... )
        >>> table = DeltaTable(folder)
        >>> table.alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "32"})
        >>> table.analyze(dry_run=True)
        AnalysisPlan(files=1, bytes=..., columns=['id'])
        >>> table.analyze()["numFilesUpdated"], table.get_add_actions()["max"].to_pylist()
        (1, [{'id': 8}])
        """
        conditions = table_conditions(self._snapshot, partition_filters, predicate, self._dialect)
        plan = operations.plan_analysis(self._snapshot, columns, conditions, predicate, full=full)
        if dry_run:
            return plan
        found = operations.analyze_files(
            self._snapshot,
            plan,
            max_concurrent_tasks=max_concurrent_tasks,
            progress=progress,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.follow_commit()
        return found

    def generate(self, mode: str = "symlink_format_manifest") -> None:
        """Write manifests of the newest version: lists of files, for engines that do not read the Delta log.

        ``_symlink_format_manifest`` gets a file ``manifest`` with the absolute name of a data file in each
        line, one for every partition. Manifests of partitions that are gone are deleted. They do not follow
        later commits, unless the property ``delta.compatibility.symlinkFormatManifest.enabled`` is true.

        Args:
            mode: ``symlink_format_manifest``; there is no other.

        Raises:
            UnsupportedFeatureError: the table has column mapping, or deletion vectors.
            ValueError: another mode.

        >>> import os, tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> written = write_deltalake(folder, pa.table({"id": [1]}))
        >>> DeltaTable(folder).generate()
        >>> os.listdir(f"{folder}/_symlink_format_manifest")
        ['manifest']
        """
        if mode != "symlink_format_manifest":
            raise ValueError(
                f"mode is symlink_format_manifest, not {mode!r} (Spark: DELTA_MODE_NOT_SUPPORTED)"
            )
        operations.generate_manifests(Snapshot.load(self._store, known=self._snapshot))

    @tells_old_arguments
    def repair(
        self,
        dry_run: bool = False,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
    ) -> dict[str, Any]:
        """Remove files from the newest version that are lost, or only say which.

        Lost is a data file that is gone or truncated, and a data file whose deletion vector is: which of its
        rows are deleted, nobody knows. Their rows are lost with them, so look at a dry run first: a file that
        is brought back needs no repair. A file that cannot be reached for another reason is never removed.
        Nothing is deleted from storage.

        Args:
            dry_run: whether nothing is committed.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether the commit writes a checkpoint.

        Returns:
            ``dry_run``, ``files_removed`` with the paths of these files, and ``reasons`` with what is wrong
            of each. ``deltalake`` returns the first two.

        Raises:
            StorageError: a file cannot be reached, or is on a disk that may not be mounted.
            CommitFailedError: the commit conflicts with another one.

        >>> import os, tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> for mode in ("error", "append"):
        ...     written = write_deltalake(folder, pa.table({"id": [1]}), mode=mode)
        >>> table = DeltaTable(folder)
        >>> os.remove(table.file_uris()[0])
        >>> list(table.repair()["reasons"].values())
        ['gone']
        >>> table.count()
        1
        """
        found = operations.repair_table(
            Snapshot.load(self._store, known=self._snapshot),
            dry_run=dry_run,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
        )
        self.follow_commit()
        return found

    def delete_table(
        self, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, Any]:
        """Delete the table: its log and all files in its folder. Nothing brings it back.

        First a commit makes the table unreadable for every engine; then the files are deleted, the log last.
        If it is killed, the table cannot be read, and the next call, or ``deltaarrow drop``,
        continues. Links are deleted and not followed; files in other locations stay.

        Args:
            dry_run: whether nothing is deleted.
            progress: called with the number of files deleted so far and the total.

        Returns:
            ``dry_run``, ``num_files`` that were deleted, and ``kept``: links to folders, which stay.

        Raises:
            UnsupportedFeatureError: a folder below is another table, or this release does not write the
                table.
            StorageError: a file cannot be deleted.

        >>> import os, tempfile, pyarrow as pa
        >>> from deltaarrow import write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> written = write_deltalake(folder, pa.table({"id": [1]}))
        >>> DeltaTable(folder).delete_table()["kept"]
        []
        >>> os.path.exists(folder)
        False
        """
        if dry_run:
            plan = operations.plan_drop(self._store)
        else:
            plan = operations.drop_table(self._store, progress=progress)
        return {"dry_run": dry_run, "num_files": plan.num_files, "kept": list(plan.kept)}

    def create_checkpoint(self) -> None:
        """Write a checkpoint of the open version, of the kind that the table properties select."""
        operations.create_checkpoint(self._store, self.version(), known=self._snapshot)

    def compact_logs(self, starting_version: int, ending_version: int) -> None:
        """Write a log compaction file, which combines the commits of a range of versions.

        Args:
            starting_version: the first version of the range.
            ending_version: the last version of the range, included.
        """
        operations.compact_logs(self._store, starting_version, ending_version)

    def cleanup_metadata(self) -> None:
        """Delete log files older than ``delta.logRetentionDuration`` that no newer version needs."""
        operations.cleanup_metadata(self._store)

    @tells_old_arguments
    def restore(
        self,
        target: SupportsIndex | str | date,
        *,
        ignore_missing_files: bool = False,
        protocol_downgrade_allowed: bool = False,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        dry_run: bool = False,
    ) -> "dict[str, Any] | RestorePlan":
        """Make an older version the newest one again, by a commit that can itself be restored.

        The newest version is replaced, whichever is open. The new version has the rows (with their row ids),
        the schema and the properties of the older version; it reuses its files and writes none. The protocol
        keeps all its features, identity columns continue from their highest number, and domains of users do
        not change.
        Nothing is committed if the target is the newest version.

        Args:
            target: a version number, or a timestamp as for `load_as_version`; a timestamp after the newest
                commit raises an error.
            ignore_missing_files: whether a version is restored although some of its files are gone. Reading
                the table then fails until they are back or removed.
            protocol_downgrade_allowed: whether the protocol becomes that of the older version as well.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether a checkpoint is written.
            dry_run: whether only the plan is returned.

        Returns:
            The counts ``numRestoredFile`` and ``numRemovedFile`` of ``deltalake``, and Spark's metrics:
            ``numRestoredFiles``, ``restoredFilesSize``, ``numRemovedFiles``, ``removedFilesSize``,
            ``numOfFilesAfterRestore`` and ``tableSizeAfterRestore``. With `dry_run` a plan with the files
            that would come back (``restored``) and go (``removed``), the ``metadata`` and the ``protocol``.

        Raises:
            VersionNotFoundError: the log does not have the version or time.
            MissingFilesError: files of the version are gone; nothing was committed.
            UnsupportedFeatureError: the table has a feature that is not supported, or a catalog manages it.
            CommitFailedError: another writer has changed the table meanwhile.

        See the chapters *Action Reconciliation* and *Protocol Evolution* of the protocol.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2]}))
        >>> _ = write_deltalake(folder, pa.table({"id": [3]}), mode="overwrite")
        >>> table = DeltaTable(folder)
        >>> metrics = table.restore(0)
        >>> metrics["numRestoredFile"], metrics["numRemovedFile"], table.version(), table.count()
        (1, 1, 2, 2)
        """
        options: dict[str, Any] = {
            "ignore_missing_files": ignore_missing_files,
            "protocol_downgrade_allowed": protocol_downgrade_allowed,
        }
        if dry_run:
            return operations.plan_restore(self._snapshot.update(), target, **options)
        options |= {"commit_properties": commit_properties, "hook_properties": post_commithook_properties}
        plan = operations.restore_table(self._snapshot, target, **options)
        self.follow_commit()
        counts = {"numRestoredFile": len(plan.restored), "numRemovedFile": len(plan.removed)}
        return counts | plan.metrics

    def clone(
        self,
        target: str | os.PathLike[str],
        *,
        version: SupportsIndex | str | date | None = None,
        shallow: bool = True,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        parallelism: int = 8,
        progress: Callable[[int, int], None] | None = None,
        dry_run: bool = False,
    ) -> "dict[str, int] | ClonePlan":
        """Make another table of the rows of this one.

        A *shallow* clone refers to the data files and deletion vectors of this table by absolute paths, and
        takes seconds however large the table is. What is written to the clone later stays beside it. VACUUM
        of this table does not know of its clones: it may delete files that they need. A clone of a clone
        refers to the files of the first table.

        A *deep* clone has copies of these files, and may be in another store. Repeated, it copies only what
        is new and removes what has left this table; after a failure it goes on where it was. Change data
        files are not copied.

        A clone has the schema, the properties and the clustering columns of the version, and its protocol,
        except that no catalog manages it. It begins a history and row ids of its own, and has no description.

        Args:
            target: the folder of the clone, a path or a URI.
            version: a version number, or a timestamp as for `load_as_version`; the open version if None.
            shallow: whether the clone refers to files of this table.
            replace: whether an existing table becomes the clone: one without rows, which keeps its history,
                or an earlier deep clone of this table, whatever was written to it since.
            properties: table properties of the clone, in addition to those of this table.
            storage_options: the options of the target; the options of this table if None.
            commit_properties: metadata and options of the commit.
            post_commithook_properties: whether a checkpoint is written.
            parallelism: in how many threads files are copied.
            progress: called with the number of bytes copied so far and the total.
            dry_run: whether only the plan is returned.

        Returns:
            Spark's metrics: ``sourceTableSize``, ``sourceNumOfFiles``, ``numRemovedFiles``,
            ``removedFilesSize``, ``numCopiedFiles`` and ``copiedFilesSize``. With `dry_run` a plan with the
            ``metadata`` and the ``protocol`` of the clone, ``num_files`` and ``num_bytes``.

        Raises:
            VersionExistsError: there is a table that may not become the clone.
            VersionNotFoundError: the log does not have the version or time.
            MissingFilesError: files are gone that a deep clone would copy; nothing was copied.
            StorageError: the target is the folder of this table, a shallow clone would be on another file
                system, or a deep one would be in a folder with other files of the same names.
            InvalidTablePropertyError: a property cannot be set, or not in a clone.

        See the chapters *Add File and Remove File* and *Deletion Vectors* of the protocol.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(f"{folder}/orders", pa.table({"id": [1, 2]}))
        >>> metrics = DeltaTable(f"{folder}/orders").clone(f"{folder}/trial")
        >>> trial = DeltaTable(f"{folder}/trial")
        >>> _ = trial.delete("id = 1")
        >>> trial.count(), DeltaTable(f"{folder}/orders").count()
        (1, 2)
        """
        options = operations.CloneOptions(
            shallow=shallow, replace=replace, properties=properties or {}, parallelism=parallelism
        )
        store = open_store(target, storage_options or self._store.storage_options or None)
        source = self._snapshot if version is None else Snapshot.load_as_version(self._store, version)
        if dry_run:
            return operations.plan_clone(source, store, options)
        return operations.clone_table(
            source,
            store,
            options,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            progress=progress,
        )

    @takes_positionally("post_commithook_properties", "commit_properties", "full", "keep_versions")
    @tells_old_arguments
    def vacuum(
        self,
        retention_hours: float | None = None,
        dry_run: bool = True,
        enforce_retention_duration: bool = True,
        *,
        commit_properties: "CommitProperties | None" = None,
        post_commithook_properties: "PostCommitHookProperties | None" = None,
        full: bool = False,
        keep_versions: Sequence[int] | None = None,
        lite: bool = False,
        inventory: Any = None,
        parallelism: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[str]:
        """Delete files that no version within the retention needs, or only say which.

        The newest version counts, whichever is open. A file stays if it is live there, if a tombstone within
        the retention names it, or a version of `keep_versions` has it; so do the files of deletion vectors
        beside such files. The log, hidden names, files of other tables in the folder, files outside of it
        and what is behind a link always stay. The log is read once more just before files are deleted.

        How files are found:

        - by default the log is asked, as far as it reaches: files that it says were removed before the
          retention. Nothing is listed.
        - `lite` does the same, and raises an error if log cleanup has deleted a commit that it needs.
        - `full` lists the storage, and finds every file older than the retention that nobody needs. It
          deletes empty folders too, unless they were made within the last hour.
        - `inventory` does that with a list of yours.

        Args:
            retention_hours: how long removed files stay; ``delta.deletedFileRetentionDuration`` if None.
            dry_run: whether files are only listed.
            enforce_retention_duration: whether a retention that is shorter than the property is refused.
            commit_properties: what else goes into the commits.
            post_commithook_properties: whether checkpoints are written.
            full: list the storage.
            keep_versions: versions whose files stay.
            lite: use only the log; raise an error if the log does not list all removed files.
            inventory: an Arrow table with the columns ``path`` (absolute), ``length``, ``isDir`` and
                ``modificationTime`` (milliseconds since the epoch).
            parallelism: in how many threads files are deleted; 8 if None.
            progress: called with the number of files deleted so far and the total.

        Returns:
            The files, by their names in the folder of the table; those that could not be deleted are not
            among them, and are logged as warnings.

        Raises:
            VacuumError: the retention is too short, or the log is not complete enough for `lite`.
            SchemaMismatchError: the inventory lacks a column.
            VersionNotFoundError: a version to keep is not there.
            UnsupportedFeatureError: the table has a feature that is not supported, or a catalog manages it.
            ValueError: a number means nothing, or two ways to find files are given.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> for number in range(3):
        ...     _ = write_deltalake(folder, pa.table({"id": [number]}), mode="overwrite")
        >>> table = DeltaTable(folder)
        >>> table.vacuum()
        []
        >>> len(table.vacuum(0, dry_run=False, enforce_retention_duration=False))
        2
        >>> [commit["operation"] for commit in table.history(2)]
        ['VACUUM END', 'VACUUM START']
        """
        options = operations.VacuumOptions(
            retention_hours=retention_hours,
            dry_run=dry_run,
            enforce_retention_duration=enforce_retention_duration,
            full=full,
            keep_versions=keep_versions,
            lite=lite,
            inventory=inventory,
            parallelism=parallelism,
        )
        outcome = operations.vacuum_files(
            self._snapshot,
            options,
            commit_properties=commit_properties,
            hook_properties=post_commithook_properties,
            progress=progress,
        )
        if not dry_run:
            self.follow_commit()
        return outcome.paths

    def vacuum_report(
        self,
        retention_hours: float | None = None,
        dry_run: bool = True,
        enforce_retention_duration: bool = True,
        *,
        full: bool = False,
        keep_versions: Sequence[int] | None = None,
        lite: bool = False,
        inventory: Any = None,
    ) -> pa.Table:
        """Do what `vacuum` does, and return for each file why it goes or stays.

        With `full` the files are all those in storage, the log and hidden ones included; otherwise those that
        were removed from the table. Empty folders that go have a slash at the end.

        Args:
            retention_hours: as for `vacuum`, and so are all others.
            dry_run: whether nothing is deleted.
            enforce_retention_duration: whether a retention that is shorter than the property is refused.
            full: list the storage.
            keep_versions: versions whose files stay.
            lite: use only the log; raise an error if the log does not list all removed files.
            inventory: an Arrow table of paths.

        Returns:
            The columns ``path``, ``size``, ``modification_time``, ``is_deleted`` (whether it goes),
            ``reason`` and ``error`` (why it could not be deleted), sorted by path.

        >>> import tempfile, pyarrow as pa
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> for number in range(2):
        ...     _ = write_deltalake(folder, pa.table({"id": [number]}), mode="overwrite")
        >>> report = DeltaTable(folder).vacuum_report(full=True)
        >>> sorted(set(report.column("reason").to_pylist()))
        ['live', 'log', 'tombstone within retention']
        """
        options = operations.VacuumOptions(
            retention_hours=retention_hours,
            dry_run=dry_run,
            enforce_retention_duration=enforce_retention_duration,
            full=full,
            keep_versions=keep_versions,
            lite=lite,
            inventory=inventory,
        )
        outcome = operations.vacuum_files(self._snapshot, options, with_kept=True)
        if not dry_run:
            self.follow_commit()
        return outcome.report()


def _schema_of(given: Any) -> Schema:
    if isinstance(given, Schema):
        return given
    try:
        return from_arrow_schema(pa.schema(given))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"not understood as a schema: {type(given).__name__} ({error}); give a Schema, or"
            " pyarrow.schema([('id', pyarrow.int64())])"
        ) from error
