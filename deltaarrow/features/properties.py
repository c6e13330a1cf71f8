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
    "The reader version that a new table starts from.",
    lambda version: version in (1, 2, 3),
)
MIN_WRITER_VERSION = TableProperty(
    "delta.minWriterVersion",
    parse_integer,
    2,
    "one of 1, 2, 3, 4, 5, 6, 7",
    "The writer version that a new table starts from.",
    lambda version: version in range(1, 8),
)
IGNORE_PROTOCOL_DEFAULTS = _switch(
    "delta.ignoreProtocolDefaults", False, "A new table starts from the lowest protocol."
)

# -- the log ----------------------------------------------------------------------------------------

LOG_RETENTION = _duration(
    "delta.logRetentionDuration", timedelta(days=30), "How long commits are kept for time travel."
)
SAMPLE_RETENTION = _duration(
    "delta.sampleRetentionDuration",
    timedelta(days=7),
    "How long sample files are kept; unused.",
    effect=Effect.NONE,
)
CHECKPOINT_RETENTION = _duration(
    "delta.checkpointRetentionDuration",
    timedelta(days=2),
    "How long superseded checkpoints are kept.",
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
    "delta.checkpoint.writeStatsAsJson", True, "Checkpoints hold statistics as JSON text."
)
CHECKPOINT_WRITE_STATS_AS_STRUCT = _switch(
    "delta.checkpoint.writeStatsAsStruct",
    True,
    "Checkpoints hold statistics and partition values as typed columns.",
)
ENABLE_EXPIRED_LOG_CLEANUP = _switch(
    "delta.enableExpiredLogCleanup", True, "Commits past their retention are deleted after a checkpoint."
)
ENABLE_FULL_RETENTION_ROLLBACK = _switch(
    "delta.enableFullRetentionRollback",
    True,
    "Every version within the log's retention can be restored.",
    effect=Effect.NONE,
)
DROP_FEATURE_RETENTION = _duration(
    "delta.dropFeatureTruncateHistory.retentionDuration",
    timedelta(hours=24),
    "How long history is kept when a feature is dropped with TRUNCATE HISTORY.",
)
DELETED_FILE_RETENTION = _duration(
    "delta.deletedFileRetentionDuration", timedelta(weeks=1), "How long VACUUM keeps removed data files."
)
SET_TRANSACTION_RETENTION = TableProperty[timedelta | None](
    "delta.setTransactionRetentionDuration",
    parse_interval,
    None,
    _INTERVAL,
    "How long transaction identifiers are kept; for ever if not set.",
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
    "delta.randomizeFilePrefixes", False, "Data files are in randomly named folders, not partition folders."
)
RANDOM_PREFIX_LENGTH = TableProperty(
    "delta.randomPrefixLength",
    parse_integer,
    2,
    "greater than 0",
    "How many characters the random folder names have.",
    lambda length: length > 0,
)
PARQUET_FORMAT_VERSION = TableProperty(
    "delta.parquet.format.version",
    parse_one_of("1.0.0", "2.12.0"),
    "1.0.0",
    "one of 1.0.0, 2.12.0",
    "The version of Parquet that data files are written in.",
)
PARQUET_COMPRESSION_CODEC = TableProperty[str | None](
    "delta.parquet.compression.codec",
    parse_one_of(*CODECS),
    None,
    f"one of {', '.join(CODECS)}",
    "The compression of data files; snappy if not set.",
    is_of_spark=False,
)
TARGET_FILE_SIZE = TableProperty[int | None](
    "delta.targetFileSize",
    parse_size,
    None,
    "a positive number of bytes, as in 134217728 or 128mb",
    "The size at which a data file is closed and a new one begun; 128 MiB if not set.",
    lambda size: size is None or size > 0,
    is_of_spark=False,
)
AUTO_OPTIMIZE = _optional_switch("delta.autoOptimize", "An older name of the next one; true counts.")
AUTO_OPTIMIZE_AUTO_COMPACT = _optional_switch(
    "delta.autoOptimize.autoCompact", "Small files are compacted after a write."
)
AUTO_OPTIMIZE_OPTIMIZE_WRITE = _optional_switch(
    "delta.autoOptimize.optimizeWrite",
    "The rows of a partition are gathered before a write, for fewer files.",
)
DATA_SKIPPING_NUM_INDEXED_COLS = TableProperty(
    NUM_INDEXED_COLUMNS,
    parse_integer,
    32,
    "-1 (all columns) or greater",
    "How many leaf columns have statistics.",
    lambda columns: columns >= -1,
)
DATA_SKIPPING_STATS_COLUMNS = TableProperty[tuple[tuple[str, ...], ...] | None](
    STATISTICS_COLUMNS,
    lambda text: tuple(parse_column_names(text)),
    None,
    "column names separated by commas, special characters within backticks",
    "Which columns have statistics, instead of the first ones.",
)
DATA_SKIPPING_STRING_PREFIX_LENGTH = TableProperty[int | None](
    STRING_PREFIX_LENGTH,
    parse_integer,
    None,
    "zero or greater",
    "How many characters of a string its bounds keep; 32 if not set.",
    lambda length: length is None or length >= 0,
)
SYMLINK_FORMAT_MANIFEST_ENABLED = _switch(
    "delta.compatibility.symlinkFormatManifest.enabled",
    False,
    "Manifests for engines that cannot read the Delta log are kept up to date.",
)
UNIVERSAL_FORMAT_ENABLED_FORMATS = TableProperty[tuple[str, ...]](
    "delta.universalFormat.enabledFormats",
    parse_formats,
    (),
    "a list of iceberg, hudi without repetition",
    "Metadata of other table formats is written after each commit; hudi is refused.",
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
    "TIME columns of a converted Iceberg table become LONG.",
    effect=Effect.NONE,
)
IGNORE_ICEBERG_BUCKET_PARTITION = _switch(
    "delta.ignoreIcebergBucketPartition",
    False,
    "A converted Iceberg table loses its bucket partitions.",
    effect=Effect.NONE,
)

# -- switches of table features ---------------------------------------------------------------------

APPEND_ONLY = _switch("delta.appendOnly", False, "Rows may be added but neither changed nor deleted.")
ENABLE_CHANGE_DATA_FEED = _switch(
    "delta.enableChangeDataFeed",
    False,
    "Changed rows are recorded as well.",
    alternates=("delta.enableChangeDataCapture",),
    effect=Effect.FEATURE,
)
ENABLE_CHANGE_DATA_CAPTURE = _switch(
    "delta.enableChangeDataCapture", False, "Older name of delta.enableChangeDataFeed.", effect=Effect.FEATURE
)
ENABLE_DELETION_VECTORS = _switch(
    "delta.enableDeletionVectors",
    False,
    "Deletes may mark rows instead of rewriting files.",
    effect=Effect.FEATURE,
)
COLUMN_MAPPING_MODE = TableProperty(
    MAPPING_MODE,
    parse_one_of("none", "name", "id"),
    "none",
    "one of none, name, id",
    "How columns are found in data files.",
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
    "delta.enableRowTracking", False, "Rows have ids that survive rewriting.", effect=Effect.FEATURE
)
ROW_TRACKING_SUSPENDED = _switch(
    "delta.rowTrackingSuspended", False, "No row ids are assigned for now.", effect=Effect.FEATURE
)
MATERIALIZED_ROW_ID_COLUMN_NAME = _text(
    "delta.rowTracking.materializedRowIdColumnName", "The hidden column of row ids.", editable=False
)
MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME = _text(
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "The hidden column of row commit versions.",
    editable=False,
)
ENABLE_ICEBERG_COMPAT_V1 = _optional_switch(
    "delta.enableIcebergCompatV1",
    "Data files can be read as Iceberg, version 1 of the rules.",
    effect=Effect.FEATURE,
)
ENABLE_ICEBERG_COMPAT_V2 = _optional_switch(
    "delta.enableIcebergCompatV2",
    "Data files can be read as Iceberg, version 2 of the rules.",
    effect=Effect.FEATURE,
)
ENABLE_ICEBERG_COMPAT_V3 = _optional_switch(
    "delta.enableIcebergCompatV3",
    "Data files can be read as Iceberg, version 3 of the rules.",
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
    "delta.enableInCommitTimestamps", False, "The time of a version is in its commit.", effect=Effect.FEATURE
)
IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION = TableProperty[int | None](
    "delta.inCommitTimestampEnablementVersion",
    parse_long,
    None,
    "a long",
    "The first version whose time is in its commit.",
    effect=Effect.FEATURE,
)
IN_COMMIT_TIMESTAMP_ENABLEMENT_TIMESTAMP = TableProperty[int | None](
    "delta.inCommitTimestampEnablementTimestamp",
    parse_long,
    None,
    "a long",
    "The time of that version, in milliseconds.",
    effect=Effect.FEATURE,
)
ENABLE_MATERIALIZE_PARTITION_COLUMNS = _optional_switch(
    "delta.enableMaterializePartitionColumnsFeature",
    "Data files hold the partition columns as well.",
    effect=Effect.FEATURE,
)
WRITE_PARTITION_COLUMNS_TO_PARQUET = _optional_switch(
    "delta.writePartitionColumnsToParquet",
    "The same as a preference of the writer, not a rule.",
    effect=Effect.NONE,
)
REDIRECT_READER_WRITER = _text(
    "delta.redirectReaderWriter-preview", "Where readers and writers are sent instead, as JSON."
)
REDIRECT_WRITER_ONLY = _text("delta.redirectWriterOnly-preview", "Where writers are sent instead, as JSON.")
COMMIT_COORDINATOR = _text(
    "delta.coordinatedCommits.commitCoordinator-preview", "The service that commits to the table."
)
COMMIT_COORDINATOR_CONF = _text(
    "delta.coordinatedCommits.commitCoordinatorConf-preview", "The configuration of that service, as JSON."
)
COMMIT_COORDINATOR_TABLE_CONF = _text(
    "delta.coordinatedCommits.tableConf-preview", "What that service calls the table, as JSON."
)

PROPERTIES: Mapping[str, TableProperty[Any]] = {
    record.name.lower(): record for record in list(globals().values()) if isinstance(record, TableProperty)
}
"""All records of this module by their names in lower case; users may set them in any case."""
