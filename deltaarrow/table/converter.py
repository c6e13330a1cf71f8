"""`convert_to_deltalake`: makes a table of Parquet files, with the name and arguments of ``deltalake``.

Iceberg tables too.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import deltaarrow.operations.convert as conversions
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import VersionExistsError
from deltaarrow.operations import CommitProperties, PostCommitHookProperties, is_table
from deltaarrow.operations.convert import (
    ConversionPlan,
    NewTableOptions,
    commit_conversion,
    is_iceberg,
    plan_conversion,
)
from deltaarrow.operations.convert.partitions import STRATEGIES
from deltaarrow.runtime.optional import require
from deltaarrow.schema import Field, StructType, from_arrow_schema
from deltaarrow.storage import open_store
from deltaarrow.table.deltalake_arguments import tells_old_arguments

__all__ = ["convert_to_deltalake"]

_FORMATS = (None, "parquet", "iceberg")


@tells_old_arguments
def convert_to_deltalake(
    uri: str | os.PathLike[str],
    mode: str = "error",
    partition_by: StructType | pa.Schema | Sequence[Field] | Mapping[str, str] | None = None,
    partition_strategy: str = "hive",
    name: str | None = None,
    description: str | None = None,
    configuration: Mapping[str, str | None] | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    source_format: str | None = None,
    iceberg_metadata: str | None = None,
    collect_stats: bool = True,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
    commit_properties: CommitProperties | None = None,
    post_commithook_properties: PostCommitHookProperties | None = None,
) -> ConversionPlan | None:
    """Make a table of the Parquet files below a folder, or of an Iceberg table, where they are.

    Only the footers of the files are read. Files and folders are left out whose name begins with ``.``, or
    with ``_`` and has no ``=``; if ``_spark_metadata`` of a stream exists, only the files it lists are
    included. A file without rows is not part of the table. The table has the columns of all files. Files that
    are added later are not part of the table, and the files must not be changed after the conversion.

    An Iceberg table keeps its columns with their field ids, its partitions and its properties. The table has
    the files of its current snapshot. Iceberg's metadata stays as it is, and later commits to the Iceberg
    table are not seen. It needs ``pip install 'deltaarrow[iceberg]'``.

    Args:
        uri: the folder.
        mode: what happens if the folder is a table: ``error`` raises, ``ignore`` does nothing.
        partition_by: the partition columns with their types: a `Schema`, a ``pyarrow.Schema`` or any object
            that exports an Arrow schema, a list of `Field`, or types by name. If None, inferred from folders
            ``name=value``: the type is ``integer`` or ``long`` if all values are whole numbers without
            leading zeros, ``date`` if all are dates such as ``2026-01-31``, else ``string``.
        partition_strategy: ``hive`` for folders such as ``year=2026/month=1``; ``directory`` for ``2026/1``,
            with the columns of `partition_by` in order.
        name: the name of the table, for display.
        description: the description of the table, for display.
        configuration: table properties by name. ``delta.columnMapping.mode`` may be ``name``, which allows
            blanks in names, or ``id`` if the files have a field id for every column.
        storage_options: see `DeltaTable`.
        source_format: ``parquet`` or ``iceberg``; if None, a folder with ``metadata/*.metadata.json`` is an
            Iceberg table.
        iceberg_metadata: the newest metadata file of the Iceberg table, according to its catalog. If None,
            the file that ``metadata/version-hint.text`` names, else the file with the highest number. A
            failed commit may have left that file, so pass the file if you know it.
        collect_stats: whether files get statistics, from their footers.
        dry_run: whether nothing is committed.
        progress: called with the number of footers read so far and the total.
        commit_properties: metadata and options of the commit.
        post_commithook_properties: whether the commit writes a checkpoint.

    Returns:
        What was committed, or would be; None if the folder is a table already. ``deltalake`` returns None.

    Raises:
        VersionExistsError: the folder is a table and `mode` is ``error``.
        SchemaMismatchError: there is no file, the types of a column differ, or a folder does not fit the
            partition columns.
        CorruptDataFileError: a file is not Parquet.
        UnsupportedFeatureError: a column has a type that Delta has not, or a folder is a table.
            Of an Iceberg table also: it has delete files, partitions by a transform that Delta
            does not have, files that are not Parquet or have no field ids, or a column whose type differs
            from its type in the files.
        CorruptLogError: the metadata of an Iceberg table is damaged, ambiguous, or leads out of the folder.
        MissingFilesError: a file of an Iceberg table is gone.
        MissingDependencyError: ``pyiceberg`` is not installed.
        ValueError: `mode`, `partition_strategy` or `source_format` is unknown, or partitions of an Iceberg
            table are given.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from deltaarrow import DeltaTable
    >>> folder = tempfile.mkdtemp()
    >>> for day in ("2026-01-01", "2026-01-02"):
    ...     os.mkdir(f"{folder}/day={day}")
    ...     pq.write_table(pa.table({"id": [1, 2]}), f"{folder}/day={day}/a.parquet")
    >>> plan = convert_to_deltalake(folder)
    >>> plan.num_files, plan.num_rows, plan.schema.field("day")
    (2, 4, Field(day, PrimitiveType("date"), nullable=True))
    >>> DeltaTable(folder).count()
    4
    """
    if mode not in ("error", "ignore"):
        raise ValueError(f"mode is error or ignore, not {mode!r}")
    if partition_strategy not in STRATEGIES:
        raise ValueError(f"partition_strategy is hive or directory, not {partition_strategy!r}")
    if source_format not in _FORMATS or (source_format == "parquet" and iceberg_metadata is not None):
        raise ValueError(
            f"source_format is parquet or iceberg, not {source_format!r}, and only Iceberg has metadata"
        )
    store = open_store(uri, storage_options)
    if is_table(store):
        if mode == "error":
            raise VersionExistsError(
                f"{store.uri} is a Delta table already; mode='ignore' leaves it unchanged"
            )
        return None
    options = NewTableOptions(
        partition_by=None if partition_by is None else _fields(partition_by),
        strategy=partition_strategy,
        name=name,
        description=description,
        configuration={key: value for key, value in (configuration or {}).items() if value is not None},
        collect_stats=collect_stats,
    )
    if (
        iceberg_metadata is not None
        or source_format == "iceberg"
        or (source_format is None and is_iceberg(store))
    ):
        if partition_by is not None or partition_strategy != "hive":
            raise ValueError(f"{redacted(store.uri)} is an Iceberg table, which tells its partitions itself")
        # Its modules are imported now, and need pyiceberg.
        require("pyiceberg")
        plan = conversions.plan_iceberg_conversion(
            store, options, metadata_file=iceberg_metadata, progress=progress
        )
    else:
        plan = plan_conversion(store, options, progress=progress)
    if not dry_run:
        commit_conversion(
            store, plan, commit_properties=commit_properties, hook_properties=post_commithook_properties
        )
    return plan


def _fields(given: Any) -> list[Field]:
    """Return the columns that a caller gives in one of several forms."""
    if isinstance(given, StructType):
        return list(given.fields)
    if isinstance(given, Mapping):
        return [Field(name, text) for name, text in given.items()]
    if isinstance(given, list | tuple) and all(isinstance(each, Field) for each in given):
        return list(given)
    return list(from_arrow_schema(pa.schema(given)).fields)
