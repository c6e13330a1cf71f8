"""`write_deltalake`: Arrow data into a Delta table, with the name and arguments of ``deltalake``."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from deltaarrow.errors import (
    InvalidTablePropertyError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.features import new_table_configuration
from deltaarrow.operations import CommitProperties, PostCommitHookProperties, write_table
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.table import DeltaTable
from deltaarrow.write import WriterProperties, to_reader

__all__ = ["write_deltalake"]

_MODES = ("error", "append", "overwrite", "ignore")


def write_deltalake(
    table_or_uri: str | os.PathLike[str] | DeltaTable,
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
) -> None:
    """Write data to a Delta table and commit it; the table is made if there is none.

    A stream of any length is written in bounded memory; a lazy frame or a relation is run while it is
    written and never collected.

    Args:
        table_or_uri: the table, or its folder. A `DeltaTable` is moved to the version that was made.
        data: a pyarrow Table, RecordBatch, RecordBatchReader or Dataset, anything with
            ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a Polars DataFrame, a DuckDB relation), a
            Polars LazyFrame, a pandas DataFrame.
        partition_by: the partition columns of a new table; for one that exists they must be its own.
        mode: ``error`` refuses a table that exists, ``ignore`` leaves it alone, ``append`` adds rows and
            ``overwrite`` replaces all rows.
        name: a name for people, of a new table.
        description: a description for people, of a new table.
        configuration: table properties of a new table; one that exists must have them already.
        schema_mode: changing the schema while writing is not supported yet and refused.
        storage_options: as for `DeltaTable`.
        predicate: overwriting a part of a table is not supported yet and refused.
        target_file_size: bytes after which a file is closed and another begun; 128 MiB if None.
        writer_properties: how Parquet is written.
        commit_properties: what else goes into the commit.
        post_commithook_properties: whether checkpoints are written.

    Raises:
        SchemaMismatchError: columns or types do not fit the table.
        ConstraintViolationError: a NULL for a column that is NOT NULL.
        UnsupportedFeatureError: the table needs a feature that this release does not write.
        InvalidTablePropertyError: a property is unknown, or differs from that of the table.
        CommitFailedError: the table exists and `mode` is ``error``, or another writer got in the way.

    >>> import tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> write_deltalake(folder, pa.table({"id": [1, 2]}))
    >>> write_deltalake(folder, pa.table({"id": [3]}), mode="append")
    >>> DeltaTable(folder).to_pyarrow_table().column("id").to_pylist()
    [1, 2, 3]
    """
    if mode not in _MODES:
        raise ValueError(f"mode is one of {', '.join(_MODES)}, not {mode!r}")
    _refuse_unsupported(schema_mode, predicate)
    if isinstance(table_or_uri, DeltaTable):
        table: DeltaTable | None = table_or_uri
        store = table_or_uri.snapshot.store
        snapshot: Snapshot | None = table_or_uri.snapshot
    else:
        table = None
        store = open_store(table_or_uri, storage_options)
        try:
            snapshot = Snapshot.load(store)
        except TableNotFoundError:
            snapshot = None
    if snapshot is not None and mode == "ignore":
        return
    if snapshot is not None and mode == "error":
        raise VersionExistsError(
            f"{store.uri} is a Delta table already; choose mode append, overwrite or ignore"
        )
    wanted = {key: value for key, value in (configuration or {}).items() if value is not None}
    if snapshot is not None:
        _ensure_same_properties(wanted, snapshot.configuration)
    write_table(
        store,
        snapshot,
        to_reader(data),
        mode=mode,
        partition_by=(partition_by,) if isinstance(partition_by, str) else partition_by,
        name=name,
        description=description,
        configuration=wanted,
        target_file_size=target_file_size,
        writer_properties=writer_properties,
        commit_properties=commit_properties,
        hook_properties=post_commithook_properties,
    )
    if table is not None:
        table.update_incremental()


def _ensure_same_properties(wanted: Mapping[str, str], present: Mapping[str, str]) -> None:
    """Let a script give the properties each time it writes; refuse to leave another value unwritten."""
    wanted = new_table_configuration(wanted)
    if other := sorted(name for name, value in wanted.items() if present.get(name) != value):
        raise InvalidTablePropertyError(
            f"the table exists, and its properties {', '.join(other)} differ from the ones given;"
            " properties are set when a table is made"
        )


def _refuse_unsupported(schema_mode: str | None, predicate: str | None) -> None:
    for argument, value in (("schema_mode", schema_mode), ("predicate", predicate)):
        if value is not None:
            raise UnsupportedFeatureError(f"{argument} is not supported yet", feature=argument)
