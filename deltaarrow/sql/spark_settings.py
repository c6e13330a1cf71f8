"""The settings of Spark and delta-spark that no statement reads: without effect, or of one value.

A name that changes how quickly Spark answers, and not what, is taken in silence. A name that would change
rows, tables or refusals has one value here; another value is refused with the reason, as are other names.
"""

import fnmatch
import re
from dataclasses import dataclass

__all__ = ["FIXED", "Fixed", "has_no_effect"]

_DELTA = "spark.databricks.delta."
_SQL = "spark.sql."

_TUNING = {
    # How Spark divides, joins, sorts, compiles, caches and prints its own work.
    _SQL: (
        *("adaptive.*", "autoBroadcastJoinThreshold", "broadcast*", "bucketing.*", "cache.serializer"),
        *("cartesianProductExec.*", "cbo.*", "codegen.*", "columnVector.*", "constraintPropagation.*"),
        *("defaultCacheStorageLevel", "defaultSizeInBytes", "exchange.*", "execution.arrow.*"),
        *("execution.rangeExchange.*", "execution.reuse*", "execution.useObjectHashAggregateExec"),
        *("filesourceTableRelationCacheSize", "inMemory*", "join.*", "leafNodeDefaultParallelism", "limit.*"),
        *("maxBroadcastTableSize", "maxConcurrentOutputFileWriters", "max*StringLength"),
        *("maxSinglePartitionBytes", "metadataCacheTTLSeconds", "objectHashAggregate.*", "planChange*"),
        # Not optimizer.decorrelate*: some of them bring back wrong counts.
        *("optimizeNullAwareAntiJoin", "optimizer.[!d]*", "optimizer.dynamicPartitionPruning.*"),
        *("requireAllClusterKeys*", "session.localRelation*", "sessionWindow.*", "shuffle*", "sort*"),
        *("statistics.*", "subexpressionElimination.*", "subquery.*", "ui.*", "window.*", "windowExec.*"),
    ),
    # How Spark splits and decodes files.
    f"{_SQL}files.": ("maxPartition*", "minPartitionNum", "openCostInBytes"),
    f"{_SQL}parquet.": (
        *("aggregatePushdown", "columnarReaderBatchSize", "enable*Vectorized*", "filterPushdown*"),
        *("pushdown.*", "recordLevelFilter.*"),
    ),
    f"{_SQL}sources.": (
        *("bucketing.*", "fileCompressionFactor", "ignoreDataLocality", "parallelPartitionDiscovery.*"),
        *("v2.bucketing.*",),
    ),
    # Streams do not run in a connection.
    f"{_SQL}streaming.": ("*",),
    f"{_DELTA}streaming.": ("*",),
    # How Delta reads, checks and caches the log, and which files it does not open.
    _DELTA: (
        *("allFilesInCrc.*", "alwaysCollectStats.*", "checkpoint.partSize", "checkpointSchema.*"),
        *(
            "checkpointV2.threadpool.size",
            "checksum*",
            "collectStats.*",
            "command.fileMaterializationLimit.*",
        ),
        *("commandInvariantChecks*", "commitLock.*", "commitMetrics.*", "commitStats.*"),
        *("deltaLog.*", "domainMetadatasInCrc.*", "duplicateActionCheck.*", "fileSizeHistogramMetrics.*"),
        *(
            "generatedColumn.partitionFilterOptimization.*",
            "history.maxKeysPerList",
            "history.threadPoolSize",
        ),
        *("import.batchSize.*", "incremental.commit.*", "internalUdfOptimization.*", "lastCheckpoint.*"),
        *("maxSnapshotLineageLength", "numRecordsValidation.*", "optimizeMetadataQuery.*"),
        *("readProtocolAndMetadataFromChecksum.*", "requiredSparkConfsCheck.*", "setTransactionsInCrc.*"),
        *("skipping.*", "snapshot*", "stalenessLimit", "stats.limitPushdown.*", "stats.skipping"),
        *("versionChecksum.*", "writeChecksumFile.*"),
    ),
    f"{_DELTA}delta.": ("log.cache*",),
    # How MERGE, OPTIMIZE, optimized writes, auto compaction and VACUUM divide their work.
    f"{_DELTA}merge.": ("analysis.*", "materialize*", "optimize*", "repartitionBeforeWrite.*"),
    f"{_DELTA}optimize.": ("conditionalIncrementMetric.*", "maxThreads", "repartition.*", "zorder.fast*"),
    f"{_DELTA}optimizeWrite.": ("maxShufflePartitions", "numShuffleBlocks"),
    f"{_DELTA}autoCompact.": ("*PartitionStats*", "partitionStats*", "reservePartitions.*", "earlySkip*"),
    f"{_DELTA}deletionVectors.": ("packing.*", "propagateCloseFailure", "useMetadataRowIndex"),
    f"{_DELTA}vacuum.": ("parallelDelete.*",),
    f"{_DELTA}insertReplaceOnOrUsing.": ("materializeSource",),
    "spark.databricks.io.skipping.mdc.": ("*",),
    "spark.": ("default.parallelism",),
}
"""What names begin with -> patterns of what comes after it."""

_EFFECTLESS = re.compile(
    "|".join(fnmatch.translate(first + rest) for first, patterns in _TUNING.items() for rest in patterns)
)


def has_no_effect(name: str) -> bool:
    """Whether a setting of Spark or Delta changes no result here.

    >>> has_no_effect("spark.sql.shuffle.partitions"), has_no_effect("spark.sql.caseSensitive")
    (True, False)
    """
    return _EFFECTLESS.fullmatch(name) is not None


@dataclass(frozen=True)
class Fixed:
    """A setting with one value here.

    Args:
        value: the value, in any case of its letters.
        reason: why, and what to do instead of another value.
    """

    value: str
    reason: str


_OF_DELETION_VECTORS = Fixed(
    "true", "whether rows are marked or files rewritten is what delta.enableDeletionVectors of the table says"
)
_OF_COLUMN_IDS = Fixed("true", "columns of equal name and type keep their ids and physical names")

FIXED: dict[str, Fixed] = {
    f"{_SQL}ansi.doubleQuotedIdentifiers": Fixed("false", 'text in "..." is a string: write names in `...`'),
    f"{_SQL}ansi.enforceReservedKeywords": Fixed("false", "keywords are names where they can be"),
    f"{_SQL}caseSensitive": Fixed("false", "names of columns are found in any case of their letters"),
    f"{_SQL}crossJoin.enabled": Fixed("true", "a join without a condition is allowed: give it a condition"),
    f"{_SQL}files.ignoreCorruptFiles": Fixed(
        "false", "a file that cannot be read is an error: FSCK REPAIR TABLE removes lost files from a table"
    ),
    f"{_SQL}files.ignoreMissingFiles": Fixed(
        "false", "a file that is lost is an error: FSCK REPAIR TABLE removes it from the table"
    ),
    f"{_SQL}files.maxRecordsPerFile": Fixed(
        "0", "files end by their size: set delta.targetFileSize of the table for smaller ones"
    ),
    f"{_SQL}groupByAliases": Fixed(
        "true", "GROUP BY takes aliases of the SELECT: give the alias another name"
    ),
    f"{_SQL}groupByOrdinal": Fixed("true", "a number in GROUP BY is the index of a column: leave it out"),
    f"{_SQL}mapKeyDedupPolicy": Fixed("EXCEPTION", "a map with a key twice is an error: make keys distinct"),
    f"{_SQL}orderByOrdinal": Fixed("true", "a number in ORDER BY is the index of a column: leave it out"),
    f"{_SQL}parquet.compression.codec": Fixed(
        "snappy", "the codec is what delta.parquet.compression.codec of the table says: set the property"
    ),
    f"{_SQL}parser.escapedStringLiterals": Fixed("false", r"\ escapes in strings: write \\, or r'...'"),
    f"{_SQL}parser.quotedRegexColumnNames": Fixed("false", "text in `...` is a name: write the columns"),
    f"{_SQL}readSideCharPadding": Fixed("true", "strings of CHAR(n) are padded: write rtrim(c) for less"),
    f"{_SQL}sources.default": Fixed("delta", "a table without USING is a Delta table: write USING"),
    f"{_SQL}storeAssignmentPolicy": Fixed(
        "ANSI", "values are cast by the ANSI rules of assignment: write another cast where you need it"
    ),
    f"{_SQL}timestampType": Fixed("TIMESTAMP_LTZ", "TIMESTAMP has a time zone: write TIMESTAMP_NTZ for none"),
    f"{_DELTA}allowArbitraryProperties.enabled": Fixed("false", "unknown delta. properties are errors"),
    f"{_DELTA}clone.replaceEnabled": Fixed(
        "true", "CREATE OR REPLACE ... CLONE replaces: leave OR REPLACE out"
    ),
    f"{_DELTA}columnMapping.reuseColumnMetadataDuringOverwrite": _OF_COLUMN_IDS,
    f"{_DELTA}columnMapping.reuseColumnMetadataDuringReplace": _OF_COLUMN_IDS,
    f"{_DELTA}constraints.assumesDropIfExists.enabled": Fixed("false", "write DROP CONSTRAINT IF EXISTS"),
    f"{_DELTA}convertEmptyToNullForStringPartitionCol": Fixed(
        "true", "the log spells the empty string of a partition column as NULL"
    ),
    f"{_DELTA}createEmptySchemaTable.enabled": Fixed(
        "true", "a table may begin without columns: declare them"
    ),
    f"{_DELTA}delete.deletionVectors.persistent": _OF_DELETION_VECTORS,
    f"{_DELTA}dynamicPartitionOverwrite.enabled": Fixed(
        "true", f"set {_SQL}sources.partitionOverwriteMode to static instead"
    ),
    f"{_DELTA}history.metricsEnabled": Fixed("true", "commits keep their metrics for history"),
    f"{_DELTA}identityColumn.enabled": Fixed("true", "identity columns may be declared: leave them out"),
    f"{_DELTA}merge.deletionVectors.persistent": _OF_DELETION_VECTORS,
    f"{_DELTA}replaceWhere.dataColumns.enabled": Fixed(
        "true", "REPLACE WHERE takes conditions on any column"
    ),
    f"{_DELTA}resolveMergeUpdateStructsByName.enabled": Fixed("true", "structs are assigned by name"),
    f"{_DELTA}stats.collect": Fixed("true", "set delta.dataSkippingNumIndexedCols of the table to 0 instead"),
    f"{_DELTA}update.deletionVectors.persistent": _OF_DELETION_VECTORS,
    f"{_DELTA}vacuum.lite.enabled": Fixed("false", "write VACUUM ... LITE"),
    f"{_DELTA}write.utcTimestampPartitionValues": Fixed("true", "partition values have their times in UTC"),
}
"""The settings with one value here, by name."""
