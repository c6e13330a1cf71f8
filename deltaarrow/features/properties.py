"""The table properties: one record for each known name in the ``delta.`` namespace.

Chapter "Change Metadata" and those of the features that have a property. A property is text in
`metaData.configuration`; its record says how to parse the text, which values are allowed and which default
applies::

    CHECKPOINT_INTERVAL.parse(metadata.configuration)    # 10, unless the table says otherwise

A ``delta.`` name without a record is ignored if a table has it and refused if a user sets it, as in
delta-spark.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from deltaarrow.features.property import (
    Effect,
    TableProperty,
    is_duration,
    parse_boolean,
    parse_formats,
    parse_integer,
    parse_interval,
    parse_long,
    parse_one_of,
    parse_size,
    parse_word,
)
from deltaarrow.schema.metadata_keys import (
    MAPPING_MODE,
    NUM_INDEXED_COLUMNS,
    STATISTICS_COLUMNS,
    STRING_PREFIX_LENGTH,
)
from deltaarrow.statistics import parse_column_names

__all__ = [
    "APPEND_ONLY",
    "AUTO_OPTIMIZE",
    "AUTO_OPTIMIZE_AUTO_COMPACT",
    "AUTO_OPTIMIZE_OPTIMIZE_WRITE",
    "CAST_ICEBERG_TIME_TYPE",
    "CHECKPOINT_INTERVAL",
    "CHECKPOINT_POLICY",
    "CHECKPOINT_RETENTION",
    "CHECKPOINT_WRITE_STATS_AS_JSON",
    "CHECKPOINT_WRITE_STATS_AS_STRUCT",
    "CODECS",
    "COLUMN_MAPPING_MAX_COLUMN_ID",
    "COLUMN_MAPPING_MODE",
    "COMMIT_COORDINATOR",
    "COMMIT_COORDINATOR_CONF",
    "COMMIT_COORDINATOR_TABLE_CONF",
    "DATA_SKIPPING_NUM_INDEXED_COLS",
    "DATA_SKIPPING_STATS_COLUMNS",
    "DATA_SKIPPING_STRING_PREFIX_LENGTH",
    "DELETED_FILE_RETENTION",
    "DROP_FEATURE_RETENTION",
    "ENABLE_CHANGE_DATA_CAPTURE",
    "ENABLE_CHANGE_DATA_FEED",
    "ENABLE_DELETION_VECTORS",
    "ENABLE_EXPIRED_LOG_CLEANUP",
    "ENABLE_FULL_RETENTION_ROLLBACK",
    "ENABLE_ICEBERG_COMPAT_V1",
    "ENABLE_ICEBERG_COMPAT_V2",
    "ENABLE_ICEBERG_COMPAT_V3",
    "ENABLE_IN_COMMIT_TIMESTAMPS",
    "ENABLE_MATERIALIZE_PARTITION_COLUMNS",
    "ENABLE_ROW_TRACKING",
    "ENABLE_TYPE_WIDENING",
    "ENABLE_VARIANT_SHREDDING",
    "ICEBERG_ATOMIC_CONVERSION_SUPPORTED",
    "IGNORE_ICEBERG_BUCKET_PARTITION",
    "IGNORE_PROTOCOL_DEFAULTS",
    "IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP",
    "IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION",
    "ISOLATION_LEVEL",
    "LOG_RETENTION",
    "MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME",
    "MATERIALIZED_ROW_ID_COLUMN_NAME",
    "MIN_READER_VERSION",
    "MIN_WRITER_VERSION",
    "PARQUET_COMPRESSION_CODEC",
    "PARQUET_FORMAT_VERSION",
    "PROPERTIES",
    "RANDOMIZE_FILE_PREFIXES",
    "RANDOM_PREFIX_LENGTH",
    "REDIRECT_READER_WRITER",
    "REDIRECT_WRITER_ONLY",
    "REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION",
    "ROW_TRACKING_SUSPENDED",
    "SAMPLE_RETENTION",
    "SET_TRANSACTION_RETENTION",
    "SYMLINK_FORMAT_MANIFEST_ENABLED",
    "TARGET_FILE_SIZE",
    "UNIVERSAL_FORMAT_ENABLED_FORMATS",
    "WRITE_PARTITION_COLUMNS_TO_PARQUET",
]

CODECS = ("uncompressed", "none", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd")
"""The compression codecs of data files, as writers and properties name them."""

_BOOLEAN = "a boolean, true or false"
_INTERVAL = "an interval such as '2 weeks', without months and years"


def _switch(
    name: str,
    default: bool,
    sentence: str,
    *,
    alternates: tuple[str, ...] = (),
    effect: Effect = Effect.HONOURED,
) -> TableProperty[bool]:
    return TableProperty(
        name, parse_boolean, default, _BOOLEAN, sentence, alternates=alternates, effect=effect
    )


def _optional_switch(
    name: str, sentence: str, effect: Effect = Effect.HONOURED
) -> TableProperty[bool | None]:
    return TableProperty[bool | None](name, parse_boolean, None, _BOOLEAN, sentence, effect=effect)


def _duration(
    name: str, default: timedelta, sentence: str, effect: Effect = Effect.HONOURED
) -> TableProperty[timedelta]:
    return TableProperty(name, parse_interval, default, _INTERVAL, sentence, is_duration, effect=effect)


def _text(name: str, sentence: str, *, editable: bool = True) -> TableProperty[str | None]:
    return TableProperty[str | None](
        name, str, None, "text", sentence, editable=editable, effect=Effect.FEATURE
    )


# -- the protocol of a new table; never stored ------------------------------------------------------

MIN_READER_VERSION = TableProperty(
    "delta.minReaderVersion",
    parse_integer,
    1,
    "one of 1, 2, 3",
    "The minimum reader version of a new table.",
    lambda version: version in (1, 2, 3),
)
MIN_WRITER_VERSION = TableProperty(
    "delta.minWriterVersion",
    parse_integer,
    2,
    "one of 1, 2, 3, 4, 5, 6, 7",
    "The minimum writer version of a new table.",
    lambda version: version in range(1, 8),
)
IGNORE_PROTOCOL_DEFAULTS = _switch(
    "delta.ignoreProtocolDefaults", False, "A new table has the lowest possible protocol versions."
)

# -- the log ----------------------------------------------------------------------------------------

LOG_RETENTION = _duration(
    "delta.logRetentionDuration", timedelta(days=30), "How long commits are retained for time travel."
)
SAMPLE_RETENTION = _duration(
    "delta.sampleRetentionDuration",
    timedelta(days=7),
    "How long sample files are retained; unused.",
    effect=Effect.NONE,
)
CHECKPOINT_RETENTION = _duration(
    "delta.checkpointRetentionDuration",
    timedelta(days=2),
    "How long superseded checkpoints are retained.",
    effect=Effect.NONE,
)
CHECKPOINT_INTERVAL = TableProperty(
    "delta.checkpointInterval",
    parse_integer,
    10,
    "a positive integer",
    "The number of commits between checkpoints.",
    lambda commits: commits > 0,
)
CHECKPOINT_POLICY = TableProperty(
    "delta.checkpointPolicy",
    parse_word("classic", "v2"),
    "classic",
    "one of classic, v2",
    "The kind of checkpoint to write.",
)
CHECKPOINT_WRITE_STATS_AS_JSON = _switch(
    "delta.checkpoint.writeStatsAsJson", True, "Checkpoints store statistics as JSON."
)
CHECKPOINT_WRITE_STATS_AS_STRUCT = _switch(
    "delta.checkpoint.writeStatsAsStruct",
    True,
    "Checkpoints store statistics and partition values as typed columns.",
)
ENABLE_EXPIRED_LOG_CLEANUP = _switch(
    "delta.enableExpiredLogCleanup", True, "Expired commits are deleted after a checkpoint."
)
ENABLE_FULL_RETENTION_ROLLBACK = _switch(
    "delta.enableFullRetentionRollback",
    True,
    "Every version within the log retention can be restored.",
    effect=Effect.NONE,
)
DROP_FEATURE_RETENTION = _duration(
    "delta.dropFeatureTruncateHistory.retentionDuration",
    timedelta(hours=24),
    "How long history is retained when a feature is dropped with TRUNCATE HISTORY.",
)
DELETED_FILE_RETENTION = _duration(
    "delta.deletedFileRetentionDuration", timedelta(weeks=1), "How long VACUUM retains removed data files."
)
SET_TRANSACTION_RETENTION = TableProperty[timedelta | None](
    "delta.setTransactionRetentionDuration",
    parse_interval,
    None,
    _INTERVAL,
    "How long transaction identifiers are retained; indefinitely if not set.",
    is_duration,
)
ISOLATION_LEVEL = TableProperty(
    "delta.isolationLevel",
    parse_one_of("serializable", "writeserializable", "snapshotisolation"),
    "serializable",
    "Serializable",
    "The isolation level of concurrent transactions.",
    lambda level: level == "serializable",
)
REQUIRE_CHECKPOINT_PROTECTION_BEFORE_VERSION = TableProperty(
    "delta.requireCheckpointProtectionBeforeVersion",
    parse_long,
    0,
    "zero or greater",
    "Older checkpoints may be removed only by an engine that can rebuild them.",
    lambda version: version >= 0,
    effect=Effect.FEATURE,
)

# -- data files and statistics ----------------------------------------------------------------------

RANDOMIZE_FILE_PREFIXES = _switch(
    "delta.randomizeFilePrefixes",
    False,
    "Data files are written to randomly named folders instead of partition folders.",
)
RANDOM_PREFIX_LENGTH = TableProperty(
    "delta.randomPrefixLength",
    parse_integer,
    2,
    "greater than 0",
    "The number of characters of a random folder name.",
    lambda length: length > 0,
)
PARQUET_FORMAT_VERSION = TableProperty(
    "delta.parquet.format.version",
    parse_one_of("1.0.0", "2.12.0"),
    "1.0.0",
    "one of 1.0.0, 2.12.0",
    "The Parquet format version of data files.",
)
PARQUET_COMPRESSION_CODEC = TableProperty[str | None](
    "delta.parquet.compression.codec",
    parse_one_of(*CODECS),
    None,
    f"one of {', '.join(CODECS)}",
    "The compression codec of data files; snappy if not set.",
    is_of_spark=False,
)
TARGET_FILE_SIZE = TableProperty[int | None](
    "delta.targetFileSize",
    parse_size,
    None,
    "a positive number of bytes, as in 134217728 or 128mb",
    "The target size of a data file; 128 MiB if not set.",
    lambda size: size is None or size > 0,
    is_of_spark=False,
)
AUTO_OPTIMIZE = _optional_switch(
    "delta.autoOptimize",
    "Former name of `delta.autoOptimize.autoCompact`; only the value true has an effect.",
)
AUTO_OPTIMIZE_AUTO_COMPACT = _optional_switch(
    "delta.autoOptimize.autoCompact", "Small files are compacted after a write."
)
AUTO_OPTIMIZE_OPTIMIZE_WRITE = _optional_switch(
    "delta.autoOptimize.optimizeWrite",
    "The rows of a partition are collected before a write, so that fewer files are written.",
)
DATA_SKIPPING_NUM_INDEXED_COLS = TableProperty(
    NUM_INDEXED_COLUMNS,
    parse_integer,
    32,
    "-1 (all columns) or greater",
    "The number of leaf columns, from the first, that have statistics.",
    lambda columns: columns >= -1,
)
DATA_SKIPPING_STATS_COLUMNS = TableProperty[tuple[tuple[str, ...], ...] | None](
    STATISTICS_COLUMNS,
    lambda text: tuple(parse_column_names(text)),
    None,
    "column names separated by commas, special characters within backticks",
    "The columns that have statistics, instead of the first columns.",
)
DATA_SKIPPING_STRING_PREFIX_LENGTH = TableProperty[int | None](
    STRING_PREFIX_LENGTH,
    parse_integer,
    None,
    "zero or greater",
    "The number of characters of a string in minimum and maximum statistics; 32 if not set.",
    lambda length: length is None or length >= 0,
)
SYMLINK_FORMAT_MANIFEST_ENABLED = _switch(
    "delta.compatibility.symlinkFormatManifest.enabled",
    False,
    "Symlink manifests, for engines that cannot read the Delta log, are updated after each commit.",
)
UNIVERSAL_FORMAT_ENABLED_FORMATS = TableProperty[tuple[str, ...]](
    "delta.universalFormat.enabledFormats",
    parse_formats,
    (),
    "a list of iceberg, hudi without repetition",
    "The table formats whose metadata is written after each commit; hudi is not supported.",
)
ICEBERG_ATOMIC_CONVERSION_SUPPORTED = _switch(
    "delta.universalFormat.iceberg.atomicConversion.supported",
    False,
    "Iceberg metadata is written in the same commit.",
    effect=Effect.NONE,
)
CAST_ICEBERG_TIME_TYPE = _switch(
    "delta.castIcebergTimeType",
    False,
    "TIME columns of a converted Iceberg table get the type LONG.",
    effect=Effect.NONE,
)
IGNORE_ICEBERG_BUCKET_PARTITION = _switch(
    "delta.ignoreIcebergBucketPartition",
    False,
    "A converted Iceberg table loses its bucket partitions.",
    effect=Effect.NONE,
)

# -- switches of table features ---------------------------------------------------------------------

APPEND_ONLY = _switch("delta.appendOnly", False, "Rows may be added, but not changed or deleted.")
ENABLE_CHANGE_DATA_FEED = _switch(
    "delta.enableChangeDataFeed",
    False,
    "Commits record the changed rows with their old and new values.",
    alternates=("delta.enableChangeDataCapture",),
    effect=Effect.FEATURE,
)
ENABLE_CHANGE_DATA_CAPTURE = _switch(
    "delta.enableChangeDataCapture",
    False,
    "Former name of `delta.enableChangeDataFeed`.",
    effect=Effect.FEATURE,
)
ENABLE_DELETION_VECTORS = _switch(
    "delta.enableDeletionVectors",
    False,
    "Rows may be deleted by a deletion vector instead of rewriting their file.",
    effect=Effect.FEATURE,
)
COLUMN_MAPPING_MODE = TableProperty(
    MAPPING_MODE,
    parse_one_of("none", "name", "id"),
    "none",
    "one of none, name, id",
    "How columns are mapped to columns of data files: none, name or id.",
    effect=Effect.FEATURE,
)
COLUMN_MAPPING_MAX_COLUMN_ID = TableProperty(
    "delta.columnMapping.maxColumnId",
    parse_long,
    0,
    "a long",
    "The highest column id assigned so far.",
    editable=False,
    effect=Effect.FEATURE,
)
ENABLE_ROW_TRACKING = _switch(
    "delta.enableRowTracking",
    False,
    "Rows have stable ids and commit versions, which rewrites preserve.",
    effect=Effect.FEATURE,
)
ROW_TRACKING_SUSPENDED = _switch(
    "delta.rowTrackingSuspended", False, "The assignment of row ids is suspended.", effect=Effect.FEATURE
)
MATERIALIZED_ROW_ID_COLUMN_NAME = _text(
    "delta.rowTracking.materializedRowIdColumnName",
    "The name of the hidden column of row ids in data files.",
    editable=False,
)
MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME = _text(
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "The name of the hidden column of row commit versions in data files.",
    editable=False,
)
ENABLE_ICEBERG_COMPAT_V1 = _optional_switch(
    "delta.enableIcebergCompatV1",
    "Data files can be read by Iceberg (compatibility rules, version 1).",
    effect=Effect.FEATURE,
)
ENABLE_ICEBERG_COMPAT_V2 = _optional_switch(
    "delta.enableIcebergCompatV2",
    "Data files can be read by Iceberg (compatibility rules, version 2).",
    effect=Effect.FEATURE,
)
ENABLE_ICEBERG_COMPAT_V3 = _optional_switch(
    "delta.enableIcebergCompatV3",
    "Data files can be read by Iceberg (compatibility rules, version 3).",
    effect=Effect.FEATURE,
)
ENABLE_TYPE_WIDENING = _switch(
    "delta.enableTypeWidening",
    False,
    "Column types may be widened without rewriting files.",
    effect=Effect.FEATURE,
)
ENABLE_VARIANT_SHREDDING = _switch(
    "delta.enableVariantShredding",
    False,
    "Writers may split variants into typed columns.",
    effect=Effect.FEATURE,
)
ENABLE_IN_COMMIT_TIMESTAMPS = _switch(
    "delta.enableInCommitTimestamps",
    False,
    "The timestamp of a version is stored in its commit.",
    effect=Effect.FEATURE,
)
IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION = TableProperty[int | None](
    "delta.inCommitTimestampEnablementVersion",
    parse_long,
    None,
    "a long",
    "The first version whose timestamp is stored in its commit.",
    effect=Effect.FEATURE,
)
IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP = TableProperty[int | None](
    "delta.inCommitTimestampEnablementTimestamp",
    parse_long,
    None,
    "a long",
    "The timestamp of that version, in milliseconds.",
    effect=Effect.FEATURE,
)
ENABLE_MATERIALIZE_PARTITION_COLUMNS = _optional_switch(
    "delta.enableMaterializePartitionColumnsFeature",
    "Data files also contain the partition columns.",
    effect=Effect.FEATURE,
)
WRITE_PARTITION_COLUMNS_TO_PARQUET = _optional_switch(
    "delta.writePartitionColumnsToParquet",
    "Data files also contain the partition columns; a writer's preference, not a table feature.",
    effect=Effect.NONE,
)
REDIRECT_READER_WRITER = _text(
    "delta.redirectReaderWriter-preview", "The table that readers and writers are redirected to, as JSON."
)
REDIRECT_WRITER_ONLY = _text(
    "delta.redirectWriterOnly-preview", "The table that writers are redirected to, as JSON."
)
COMMIT_COORDINATOR = _text(
    "delta.coordinatedCommits.commitCoordinator-preview", "The name of the commit coordinator."
)
COMMIT_COORDINATOR_CONF = _text(
    "delta.coordinatedCommits.commitCoordinatorConf-preview",
    "The configuration of the commit coordinator, as JSON.",
)
COMMIT_COORDINATOR_TABLE_CONF = _text(
    "delta.coordinatedCommits.tableConf-preview", "The coordinator's configuration of the table, as JSON."
)

PROPERTIES: Mapping[str, TableProperty[Any]] = {
    record.name.lower(): record for record in list(globals().values()) if isinstance(record, TableProperty)
}
"""All records of this module by their names in lower case; users may set them in any case."""
