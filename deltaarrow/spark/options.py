"""Options of batch reads and of writes, parsed: `ReadOptions` and `SinkOptions`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from deltaarrow.operations import (
    SPARK_OPTIONS,
    CommitProperties,
    PostCommitHookProperties,
    WriteOptions,
    parse_spark_options,
)
from deltaarrow.spark.option_texts import (
    ensure_one_of,
    is_true,
    known_options,
    parse_names,
    parse_number,
    parse_storage_options,
    parse_time,
    table_path,
)

__all__ = ["SHARED_OPTIONS", "ReadOptions", "SinkOptions"]

_READ_OPTIONS = (
    "versionAsOf",
    "timestampAsOf",
    "filter",
    "columns",
    "readChangeFeed",
    "startingVersion",
    "startingTimestamp",
    "endingVersion",
    "endingTimestamp",
    "maxPartitionBytes",
)
_RANGE_OPTIONS = ("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp")
SHARED_OPTIONS = ("path", "storageOptions")
"""The options of every read and write."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """The options of a read.

    `version` is a version or a timestamp string, None for the newest. The other versions and times are the
    range of a change feed, if `is_feed`. `partition_bytes` are the bytes of files in one partition; None for
    the default of `TableScan.splits`.
    """

    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    version: int | str | None = None
    filter: str | None = None
    columns: Sequence[str] | None = None
    is_feed: bool = False
    starting_version: int | None = None
    starting_timestamp: str | None = None
    ending_version: int | None = None
    ending_timestamp: str | None = None
    partition_bytes: int | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse the options of a read.

        Raises `ValueError` for an option that is unknown, invalid or conflicts with another one.
        """
        given = known_options(options, (*SHARED_OPTIONS, *_READ_OPTIONS))
        for first, second in (
            ("versionAsOf", "timestampAsOf"),
            ("startingVersion", "startingTimestamp"),
            ("endingVersion", "endingTimestamp"),
        ):
            ensure_one_of(given, first, second)
        is_feed = is_true(given, "readChangeFeed")
        if is_feed:
            for name in ("versionAsOf", "timestampAsOf"):
                if name in given:
                    raise ValueError(f"{name} cannot be combined with readChangeFeed; use startingVersion")
            if "startingVersion" not in given and "startingTimestamp" not in given:
                raise ValueError("readChangeFeed needs startingVersion or startingTimestamp")
        elif unfit := [name for name in _RANGE_OPTIONS if name in given]:
            raise ValueError(
                f"{unfit[0]} requires readChangeFeed; to read a version of the table, use versionAsOf"
            )
        version = parse_number(given, "versionAsOf")
        return cls(
            path=table_path(given),
            storage_options=parse_storage_options(given),
            version=parse_time(given, "timestampAsOf") if version is None else version,
            filter=given.get("filter"),
            columns=parse_names(given, "columns"),
            is_feed=is_feed,
            starting_version=parse_number(given, "startingVersion"),
            starting_timestamp=parse_time(given, "startingTimestamp"),
            ending_version=parse_number(given, "endingVersion"),
            ending_timestamp=parse_time(given, "endingTimestamp"),
            partition_bytes=parse_number(given, "maxPartitionBytes", least=1),
        )


@dataclass(frozen=True, kw_only=True)
class SinkOptions:
    """The options of a write."""

    path: str
    write: WriteOptions
    commit: CommitProperties
    hooks: PostCommitHookProperties | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str], mode: str) -> Self:
        """Parse the options of a write of mode ``append`` or ``overwrite``.

        Raises `ValueError` as `ReadOptions.parse` does.
        """
        own = (*SHARED_OPTIONS, "partitionBy", "clusterBy")
        given = known_options(options, (*own, *SPARK_OPTIONS))
        spark = parse_spark_options({name: text for name, text in given.items() if name in SPARK_OPTIONS})
        applications = [spark["application"]] if "application" in spark else []
        user = spark.get("user_metadata")
        write = WriteOptions(
            mode=mode,
            partition_by=parse_names(given, "partitionBy"),
            cluster_by=parse_names(given, "clusterBy"),
            schema_mode=spark.get("schema_mode"),
            predicate=spark.get("predicate"),
            checks_predicate=spark.get("checks_predicate", True),
            partition_overwrite_mode=spark.get("partition_overwrite_mode", "static"),
            optimize_write=spark.get("optimize_write"),
            applications=applications,
        )
        commit = CommitProperties(
            custom_metadata=None if user is None else {"userMetadata": user},
            app_transactions=applications,
        )
        return cls(
            path=table_path(given),
            write=write,
            commit=commit,
            hooks=PostCommitHookProperties(auto_compact=spark.get("auto_compact")),
            storage_options=parse_storage_options(given),
        )
