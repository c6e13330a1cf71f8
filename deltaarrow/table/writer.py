"""`write_deltalake`: Arrow data into a Delta table, with the name and arguments of ``deltalake``."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaarrow.errors import InvalidTablePropertyError, VersionExistsError
from deltaarrow.features import new_table_configuration
from deltaarrow.operations import (
    CommitProperties,
    PostCommitHookProperties,
    WriteOptions,
    WriteResult,
    find_table,
    parse_spark_options,
    stage_write,
    write_table,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.table.delta_table import DeltaTable
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import WriterProperties, to_reader

__all__ = ["write_deltalake"]


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
) -> WriteResult:
    """Write data to a Delta table and commit it; the table is made if there is none.

    A stream of any length is written in bounded memory; a lazy frame or a relation is run while it is
    written and never collected.

    Args:
        table_or_uri: the table, or its folder. A `DeltaTable` is moved to the version that was made; to
            a transaction the write is added, and the transaction commits it.
        data: a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, anything with
            ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a Polars DataFrame, a DuckDB relation), a
            Polars LazyFrame, a pandas DataFrame.
        partition_by: the partition columns of a new table; for one that exists they must be its own,
            unless its schema is overwritten.
        mode: ``error`` refuses a table that exists, ``ignore`` leaves it alone, ``append`` adds rows and
            ``overwrite`` replaces rows.
        name: a name for people, of a new table.
        description: a description for people, of a new table.
        configuration: table properties of a new table; one that exists must have them already.
        schema_mode: ``merge`` adds the columns that the table lacks; ``overwrite`` gives the table the
            schema of the data, together with mode ``overwrite``; None refuses data with other columns.
        storage_options: as for `DeltaTable`.
        predicate: the rows that mode ``overwrite`` replaces, as a condition in Spark SQL; all of them if
            None. Every row of the data must fulfil it.
        target_file_size: bytes after which a file is closed and another begun; 128 MiB if None.
        writer_properties: how Parquet is written.
        commit_properties: what else goes into the commit. With `app_transactions`, a write that the
            table has already is not repeated, and the result says so.
        post_commithook_properties: whether checkpoints are written.
        partition_overwrite_mode: ``dynamic`` lets mode ``overwrite`` replace the partitions that the data
            is in and no others; ``static`` replaces all rows, or those of `predicate`.
        options: the same by the names that Spark's writer has for it: `replaceWhere`,
            `partitionOverwriteMode`, `mergeSchema`, `overwriteSchema`, `txnAppId` and `txnVersion`,
            `userMetadata`.
        cluster_by: up to four columns by which OPTIMIZE lays out the rows of a new table; for one that
            exists they must be its own. As in Spark, a table whose rows are all overwritten has none
            from then on, unless they are given. Not together with `partition_by`.

    Returns:
        the version that was made and what was written; ``deltalake`` returns nothing.

    Raises:
        SchemaMismatchError: columns or types do not fit the table.
        ConstraintViolationError: a NULL for a column that is NOT NULL, or a row that does not fulfil
            `predicate`.
        InvalidPredicateError: `predicate` is not understood, or cannot be computed for a row.
        UnsupportedFeatureError: the table needs a feature that this release does not write.
        InvalidTablePropertyError: a property is unknown, or differs from that of the table.
        CommitFailedError: the table exists and `mode` is ``error``, or another writer got in the way.
        CommitStateUnknownError: the store does not tell whether the commit was made.

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
    commit_properties = _with_spark(commit_properties or CommitProperties(), spark)
    write_options = WriteOptions(
        mode=mode,
        partition_by=(partition_by,) if isinstance(partition_by, str) else partition_by,
        cluster_by=(cluster_by,) if isinstance(cluster_by, str) else cluster_by,
        schema_mode=spark.get("schema_mode", schema_mode),
        predicate=spark.get("predicate", predicate),
        partition_overwrite_mode=spark.get("partition_overwrite_mode", partition_overwrite_mode),
        target_file_size=target_file_size,
        writer_properties=writer_properties,
        applications=tuple(commit_properties.app_transactions or ()),
        name=name,
        description=description,
        configuration={key: value for key, value in (configuration or {}).items() if value is not None},
    )
    if isinstance(table_or_uri, OptimisticTransaction):
        return _write_in(table_or_uri, data, write_options)
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
        to_reader(data),
        write_options,
        commit_properties=commit_properties,
        hook_properties=post_commithook_properties,
    )
    if isinstance(table_or_uri, DeltaTable):
        table_or_uri.follow_commit()
    return result


def _write_in(transaction: OptimisticTransaction, data: Any, options: WriteOptions) -> WriteResult:
    if transaction.snapshot is not None and not _is_wanted(transaction.snapshot, options):
        return WriteResult(None)
    return stage_write(transaction, to_reader(data), options)


def _is_wanted(snapshot: Snapshot, options: WriteOptions) -> bool:
    """Whether a table that exists is to be written to; raise where it was not to exist."""
    if options.mode == "ignore":
        return False
    if options.mode == "error":
        raise VersionExistsError(
            f"{snapshot.store.uri} is a Delta table already; choose mode append, overwrite or ignore"
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
    """Let a script give the properties each time it writes; refuse to leave another value unwritten."""
    wanted = new_table_configuration(wanted)
    if other := sorted(name for name, value in wanted.items() if present.get(name) != value):
        raise InvalidTablePropertyError(
            f"the table exists, and its properties {', '.join(other)} differ from the ones given;"
            " properties are set when a table is made"
        )
