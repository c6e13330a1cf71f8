"""What ``option(...)`` says to the data source, parsed: `ReadOptions`, `SinkOptions` and `StreamSinkOptions`.

Spark hands all options over as texts, with their names in lower case. An option that is not known is an
error: one that is spelled wrongly must not be one that is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from deltaarrow.operations import CommitProperties, WriteOptions, parse_spark_options

__all__ = ["ReadOptions", "SinkOptions", "StreamSinkOptions"]

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
_SHARED_OPTIONS = ("path", "storageOptions")
_STREAM_OPTIONS = ("txnappid", "checkpointlocation")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What is read of which table.

    `version` is a version or the text of a time, None for the newest; the other versions and times are the
    range of a change feed, where `is_feed` says that it is one. `partition_bytes` are the bytes of files in
    one partition, None for what `TableScan.splits` takes for good.
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

        Raises `ValueError` for one that is not known, means nothing, or does not go with another.
        """
        given = _known(options, (*_SHARED_OPTIONS, *_READ_OPTIONS))
        if "versionAsOf" in given and "timestampAsOf" in given:
            raise ValueError("versionAsOf and timestampAsOf exclude one another")
        is_feed = _is_true(given, "readChangeFeed")
        if is_feed:
            for name in ("versionAsOf", "timestampAsOf"):
                if name in given:
                    raise ValueError(f"{name} does not go with readChangeFeed; startingVersion does")
            if "startingVersion" not in given and "startingTimestamp" not in given:
                raise ValueError("readChangeFeed needs startingVersion or startingTimestamp")
        elif unfit := [name for name in _RANGE_OPTIONS if name in given]:
            raise ValueError(f"{unfit[0]} is for readChangeFeed; versionAsOf names the version of a table")
        version = _number(given, "versionAsOf")
        partition_bytes = _number(given, "maxPartitionBytes")
        if partition_bytes == 0:
            raise ValueError("maxPartitionBytes is at least 1")
        return cls(
            path=_path(given),
            storage_options=_storage_options(given),
            version=given.get("timestampAsOf") if version is None else version,
            filter=given.get("filter"),
            columns=_names(given, "columns"),
            is_feed=is_feed,
            starting_version=_number(given, "startingVersion"),
            starting_timestamp=given.get("startingTimestamp"),
            ending_version=_number(given, "endingVersion"),
            ending_timestamp=given.get("endingTimestamp"),
            partition_bytes=partition_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class SinkOptions:
    """How rows are written to which table."""

    path: str
    write: WriteOptions
    commit: CommitProperties
    storage_options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Mapping[str, str], mode: str) -> Self:
        """Parse the options of a write of mode ``append`` or ``overwrite``.

        Raises `ValueError` as `ReadOptions.parse` does.
        """
        own = (*_SHARED_OPTIONS, "partitionBy", "clusterBy")
        lower = {name.lower() for name in own}
        given = _known({name: text for name, text in options.items() if name.lower() in lower}, own)
        spark = parse_spark_options(
            {name: text for name, text in options.items() if name.lower() not in lower}
        )
        applications = [spark["application"]] if "application" in spark else []
        user = spark.get("user_metadata")
        write = WriteOptions(
            mode=mode,
            partition_by=_names(given, "partitionBy"),
            cluster_by=_names(given, "clusterBy"),
            schema_mode=spark.get("schema_mode"),
            predicate=spark.get("predicate"),
            partition_overwrite_mode=spark.get("partition_overwrite_mode", "static"),
            applications=applications,
        )
        commit = CommitProperties(
            custom_metadata=None if user is None else {"userMetadata": user},
            app_transactions=applications,
        )
        return cls(path=_path(given), write=write, commit=commit, storage_options=_storage_options(given))


@dataclass(frozen=True, kw_only=True)
class StreamSinkOptions:
    """How the batches of a stream are written; the progress of `application` is the number of the batch."""

    sink: SinkOptions
    application: str

    @classmethod
    def parse(cls, options: Mapping[str, str], mode: str) -> Self:
        """Parse the options of a stream that is written to a table.

        Raises `ValueError` as `ReadOptions.parse` does.
        """
        given = {name: text for name, text in options.items() if name.lower() not in _STREAM_OPTIONS}
        named = [text for name, text in options.items() if name.lower() == "txnappid"]
        if not named:
            raise ValueError(
                "a stream needs txnAppId, a name of its own: by it, and by the number of a batch, the table"
                " tells what it has already"
            )
        return cls(sink=SinkOptions.parse(given, mode), application=named[0])


def _known(options: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The options by the names as they are written; raise `ValueError` for others."""
    spelled = {name.lower(): name for name in names}
    given = {}
    for name, text in options.items():
        known = spelled.get(name.lower())
        if known is None:
            raise ValueError(f"{name!r} is none of the options {', '.join(names)}")
        given[known] = text
    return given


def _path(given: Mapping[str, str]) -> str:
    if not given.get("path"):
        raise ValueError("there is no path: give one to load() or save(), or as the option path")
    return given["path"]


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name} is an integer that is not negative, not {text!r}")
    return int(text)


def _is_true(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {given[name]!r}")
    return text == "true"


def _names(given: Mapping[str, str], name: str) -> list[str] | None:
    """The names in a text: a JSON list, or separated by commas."""
    text = given.get(name)
    if text is None:
        return None
    if text.lstrip().startswith("["):
        listed = _json(name, text)
        if not all(isinstance(each, str) for each in listed):
            raise ValueError(f"{name} is a list of names, not {text!r}")
        return list(listed)
    listed = [each.strip() for each in text.split(",")]
    if not all(listed):
        raise ValueError(f"{name} is one name or more, separated by commas, not {text!r}")
    return listed


def _storage_options(given: Mapping[str, str]) -> dict[str, str]:
    if "storageOptions" not in given:
        return {}
    options = _json("storageOptions", given["storageOptions"])
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise ValueError("storageOptions is a JSON object of texts")
    return options


def _json(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
