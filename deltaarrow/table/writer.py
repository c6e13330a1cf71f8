"""`write_deltalake`: writes Arrow data to a Delta table, with the name and arguments of ``deltalake``."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from deltaarrow.catalogs import names_given
from deltaarrow.errors import InvalidTablePropertyError, VersionExistsError
from deltaarrow.features import new_table_configuration
from deltaarrow.operations import (
    CommitProperties,
    PostCommitHookProperties,
    WriteOptions,
    WriteResult,
    find_table,
    given_properties,
    parse_spark_options,
    stage_write,
    write_table,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import spark_text
from deltaarrow.storage import Store, open_store
from deltaarrow.table.default_dialect import default_dialect
from deltaarrow.table.delta_table import DeltaTable
from deltaarrow.table.deltalake_arguments import tells_old_arguments
from deltaarrow.table.named_tables import open_place
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WriterProperties, to_reader

if TYPE_CHECKING:
    from deltaarrow.catalogs import NamespaceCatalog, TableLocation

__all__ = ["write_deltalake"]


@tells_old_arguments
def write_deltalake(
    table_or_uri: str | os.PathLike[str] | DeltaTable | OptimisticTransaction,
    data: Any,
    *,
    partition_by: Sequence[str] | str | None = None,
    mode: str = "error",
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str | None] | None = None,
    schema_mode: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    predicate: str | None = None,
    target_file_size: int | None = None,
    writer_properties: WriterProperties | None = None,
    commit_properties: CommitProperties | None = None,
    post_commithook_properties: PostCommitHookProperties | None = None,
    partition_overwrite_mode: str = "static",
    options: Mapping[str, Any] | None = None,
    cluster_by: Sequence[str] | str | None = None,
    dialect: str | None = None,
    allow_truncation: bool = False,
    cast: bool = False,
    catalog: "str | os.PathLike[str] | NamespaceCatalog | None" = None,
) -> WriteResult:
    """Write data to a Delta table and commit; create the table if it does not exist.

    A stream of any length is written in bounded memory. A lazy frame or a relation is executed as a stream
    and never collected.

    Args:
        table_or_uri: the table, its folder, its name in `catalog` or a transaction. A `DeltaTable` moves to
            the committed version; a transaction stages the write and commits it later.
        data: a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, any object with
            ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a Polars DataFrame, a DuckDB relation), a
            Polars LazyFrame, a pandas DataFrame (with each index that has a name) or a list of dictionaries.
        partition_by: the partition columns of a new table. For an existing table, they must equal its
            partition columns, unless `schema_mode` is ``overwrite``.
        mode: what happens if the table exists: ``error`` raises, ``ignore`` writes nothing, ``append`` adds
            rows and ``overwrite`` replaces rows.
        name: the name of a new table, for display.
        description: the description of a new table, for display.
        configuration: table properties of a new table by name. An existing table must have the same values.
            A column name with a space or one of ``,;{}()=`` makes a new table with column mapping by name,
            which Spark needs for it, unless ``delta.columnMapping.mode`` says otherwise. A column of the data
            with ``delta.generationExpression`` in its Arrow metadata is generated in a new table, if the data
            has the columns of the expression.
        schema_mode: ``merge`` adds columns that the table lacks; ``overwrite`` replaces the schema and needs
            mode ``overwrite``; None refuses data with other columns. With `predicate`, ``overwrite`` takes
            only data with the schema of the table.
        storage_options: see `DeltaTable`.
        predicate: the rows that mode ``overwrite`` replaces, as a condition in SQL; all rows if None.
            Every row of the data must satisfy it.
        target_file_size: the size in bytes at which a data file is closed and the next one begins; 128 MiB if
            None.
        writer_properties: Parquet settings of the written files.
        commit_properties: metadata and options of the commit. With `app_transactions`, a write that the table
            already contains is skipped, and the result has `is_replay` set.
        post_commithook_properties: whether the commit writes checkpoints and deletes expired log files, and
            whether small files are compacted after it.
        partition_overwrite_mode: ``dynamic`` makes mode ``overwrite`` replace only the partitions of the
            data; ``static`` replaces all rows, or the rows of `predicate`.
        options: the options of Spark's writer, instead of these arguments: `replaceWhere`,
            `partitionOverwriteMode`, `mergeSchema`, `overwriteSchema`, `txnAppId`, `txnVersion`,
            `userMetadata` and `optimizeWrite`, which writes as few files a partition as possible; and the
            settings of Spark's sessions `spark.databricks.delta.autoCompact.enabled`, `.minNumFiles`,
            `.maxFileSize` and `.minFileSize`, and
            `spark.databricks.delta.replaceWhere.constraintCheck.enabled`: whether each row of the data must
            fulfil the predicate of an overwrite.
        cluster_by: up to four clustering columns of a new table, by which `optimize` lays rows out. For
            an existing table, they must equal its clustering columns. As in Spark, an overwrite of all rows
            without `cluster_by` turns clustering off. Excludes `partition_by`.
        dialect: the SQL of `predicate`, as for `DeltaTable`; if None, that of the `DeltaTable` given, or else
            that of `set_default_dialect`.
        allow_truncation: whether digits of timestamps below microseconds are cut off, as Spark cuts them; if
            not, they are an error. Delta has no finer timestamps.
        cast: whether values are cast to the types of the table's columns where these are of another kind:
            2.0 to a long, a string to a date. A value that has no equal in the type is an error, such as 2.5
            for a long; a double becomes the nearest float. Columns inside structs, lists and maps stay.
        catalog: a catalog of names, in which the table is looked up, or which allocates the location of a
            new table; or a string, as for `DeltaTable`.

    Returns:
        The committed version and the numbers of written and replaced files and rows. ``deltalake`` returns
        None.

    Raises:
        SchemaMismatchError: the columns or types of the data do not fit the table.
        ConstraintViolationError: a NOT NULL column has a NULL, or a row violates a constraint or does not
            satisfy `predicate`.
        InvalidPredicateError: `predicate` cannot be parsed, or cannot be computed for a row.
        UnsupportedFeatureError: the table has a feature that this release does not write.
        InvalidTablePropertyError: a property is unknown, or differs from the property of the table.
        CommitFailedError: the table exists and `mode` is ``error``, or the commit conflicts with a concurrent
            commit.
        CommitStateUnknownError: the store did not report whether the commit succeeded.
        InvalidOptionError: two arguments exclude each other.
        ValueError: an argument has an unknown value.

    >>> import tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> write_deltalake(folder, pa.table({"id": [1, 2]})).version
    0
    >>> write_deltalake(folder, pa.table({"id": [3]}), mode="append").version
    1
    >>> write_deltalake(folder, pa.table({"id": [5]}), mode="overwrite", predicate="id > 1").version
    2
    >>> sorted(DeltaTable(folder).to_pyarrow_table().column("id").to_pylist())
    [1, 5]
    """
    spark = parse_spark_options(options or {})
    commit_properties = _with_spark(given_properties(commit_properties), spark)
    if (compaction := spark.get("auto_compact")) is not None:
        hooks = post_commithook_properties or PostCommitHookProperties()
        post_commithook_properties = replace(hooks, auto_compact=compaction)
    if dialect is None:
        dialect = table_or_uri.dialect if isinstance(table_or_uri, DeltaTable) else default_dialect()
    write_options = WriteOptions(
        mode=mode,
        partition_by=(partition_by,) if isinstance(partition_by, str) else partition_by,
        cluster_by=(cluster_by,) if isinstance(cluster_by, str) else cluster_by,
        schema_mode=spark.get("schema_mode", schema_mode),
        predicate=spark.get("predicate", spark_text(predicate, dialect)),
        checks_predicate=spark.get("checks_predicate", True),
        partition_overwrite_mode=spark.get("partition_overwrite_mode", partition_overwrite_mode),
        target_file_size=target_file_size,
        writer_properties=writer_properties,
        optimize_write=spark.get("optimize_write"),
        applications=tuple(commit_properties.app_transactions or ()),
        name=name,
        description=description,
        configuration={key: value for key, value in (configuration or {}).items() if value is not None},
        as_deltalake=True,
        cast=cast,
    )
    if catalog is not None:
        return _write_named(
            table_or_uri,
            catalog,
            storage_options,
            write_options,
            partial(
                write_table,
                data=to_reader(data, cuts_times=allow_truncation),
                options=write_options,
                commit_properties=commit_properties,
                hook_properties=post_commithook_properties,
            ),
        )
    if isinstance(table_or_uri, OptimisticTransaction):
        return _write_in(table_or_uri, data, write_options, allow_truncation)
    if isinstance(table_or_uri, DeltaTable):
        snapshot: Snapshot | None = table_or_uri.snapshot
        store = table_or_uri.snapshot.store
    else:
        store = open_store(table_or_uri, storage_options)
        snapshot = find_table(store)
    if snapshot is not None and not _is_wanted(snapshot, write_options):
        return WriteResult(None)
    result = write_table(
        store,
        snapshot,
        to_reader(data, cuts_times=allow_truncation),
        write_options,
        commit_properties=commit_properties,
        hook_properties=post_commithook_properties,
    )
    if isinstance(table_or_uri, DeltaTable):
        table_or_uri.follow_commit()
    return result


def _write_named(
    name: Any,
    catalog: "str | os.PathLike[str] | NamespaceCatalog",
    storage_options: Mapping[str, str] | None,
    options: WriteOptions,
    write: Callable[[Store, Snapshot | None], WriteResult],
) -> WriteResult:
    """Write to the table of a name in a catalog, which is created if there is none."""
    if not isinstance(name, str | os.PathLike):
        raise TypeError("an open table knows its catalog: leave catalog out, or give the name of a table")
    names = names_given(catalog, storage_options)

    def build(store: Store, _: "TableLocation") -> WriteResult:
        snapshot = find_table(store)
        if snapshot is not None and not _is_wanted(snapshot, options):
            return WriteResult(None)
        return write(store, snapshot)

    found = open_place(name, names).make(
        build, may_replace=options.mode != "error", if_not_exists=options.mode == "ignore"
    )
    return WriteResult(None) if found is None else found


def _write_in(
    transaction: OptimisticTransaction, data: Any, options: WriteOptions, allow_truncation: bool
) -> WriteResult:
    if transaction.snapshot is not None and not _is_wanted(transaction.snapshot, options):
        return WriteResult(None)
    return stage_write(transaction, to_reader(data, cuts_times=allow_truncation), options)


def _is_wanted(snapshot: Snapshot, options: WriteOptions) -> bool:
    """Whether to write to an existing table; raises if the mode is ``error``."""
    if options.mode == "ignore":
        return False
    if options.mode == "error":
        raise VersionExistsError(
            f"{snapshot.store.uri} is a Delta table already; use mode 'append', 'overwrite' or 'ignore'"
        )
    _ensure_same_properties(options.configuration, snapshot.configuration)
    return True


def _with_spark(properties: CommitProperties, spark: Mapping[str, Any]) -> CommitProperties:
    if (user := spark.get("user_metadata")) is not None:
        metadata = {**(properties.custom_metadata or {}), "userMetadata": user}
        properties = replace(properties, custom_metadata=metadata)
    if (application := spark.get("application")) is not None:
        applications = [*(properties.app_transactions or ()), application]
        properties = replace(properties, app_transactions=applications)
    return properties


def _ensure_same_properties(wanted: Mapping[str, str], present: Mapping[str, str]) -> None:
    """Raise if a wanted property differs from the table; a script may repeat the present properties."""
    wanted = new_table_configuration(wanted)
    if other := sorted(name for name, value in wanted.items() if present.get(name) != value):
        raise InvalidTablePropertyError(
            f"the existing table has other values for the properties {', '.join(other)}; configuration"
            " applies to new tables, so change the properties with table.alter.set_table_properties"
        )
