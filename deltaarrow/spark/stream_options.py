"""Options of streams, parsed: `StreamOptions` to read, `StreamSinkOptions` to write."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from deltaarrow.spark.option_texts import (
    ensure_one_of,
    is_true,
    known_options,
    parse_bytes,
    parse_names,
    parse_number,
    parse_storage_options,
    parse_time,
    table_path,
)
from deltaarrow.spark.options import SHARED_OPTIONS, ReadOptions, SinkOptions

__all__ = ["StreamOptions", "StreamSinkOptions"]

_STREAM_SINK_OPTIONS = ("txnappid", "checkpointlocation")
_STREAM_OPTIONS = (
    "filter",
    "columns",
    "readChangeFeed",
    "startingVersion",
    "startingTimestamp",
    "maxPartitionBytes",
)
_STREAM_ONLY_OPTIONS = (
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "skipChangeCommits",
    "ignoreDeletes",
    "ignoreChanges",
)
_CHANGE_OPTIONS = ("skipChangeCommits", "ignoreDeletes", "ignoreChanges")
_FILES_PER_TRIGGER = 1000
"""delta-spark's default if neither files nor bytes are given."""


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """The options of a stream that reads a table.

    The stream begins with the files of the newest version; or with the commit `starting_version`, where
    ``latest`` is the next commit; or with the first commit at `starting_timestamp` or later. `max_files` and
    `max_bytes` limit one batch, None for no limit. A commit that deletes or changes rows stops the stream.
    The last three fields change that: skip all such commits, skip those that only delete, or show all new
    files of such commits with all rows in them.
    """

    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict)
    filter: str | None = None
    columns: Sequence[str] | None = None
    is_feed: bool = False
    starting_version: int | Literal["latest"] | None = None
    starting_timestamp: str | None = None
    partition_bytes: int | None = None
    max_files: int | None = _FILES_PER_TRIGGER
    max_bytes: int | None = None
    skips_changes: bool = False
    ignores_deletes: bool = False
    ignores_changes: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse the options of a stream that is read from a table.

        Raises `ValueError` as `ReadOptions.parse` does.
        """
        given = known_options(options, (*SHARED_OPTIONS, *_STREAM_OPTIONS, *_STREAM_ONLY_OPTIONS))
        ensure_one_of(given, "startingVersion", "startingTimestamp")
        is_feed = is_true(given, "readChangeFeed")
        skips, deletes, changes = (is_true(given, name) for name in _CHANGE_OPTIONS)
        if is_feed and (unfit := [name for name in _CHANGE_OPTIONS if name in given]):
            raise ValueError(
                f"{unfit[0]} cannot be combined with readChangeFeed, which shows all changes; leave it out"
            )
        is_latest = given.get("startingVersion", "").lower() == "latest"
        max_bytes = parse_bytes(given, "maxBytesPerTrigger")
        max_files = parse_number(given, "maxFilesPerTrigger", least=1)
        if max_files is None and max_bytes is None:
            max_files = _FILES_PER_TRIGGER
        return cls(
            path=table_path(given),
            storage_options=parse_storage_options(given),
            filter=given.get("filter"),
            columns=parse_names(given, "columns"),
            is_feed=is_feed,
            starting_version="latest" if is_latest else parse_number(given, "startingVersion"),
            starting_timestamp=parse_time(given, "startingTimestamp"),
            partition_bytes=parse_number(given, "maxPartitionBytes", least=1),
            max_files=max_files,
            max_bytes=max_bytes,
            skips_changes=skips,
            ignores_deletes=deletes,
            ignores_changes=changes,
        )

    @staticmethod
    def are_meant(options: Mapping[str, str]) -> bool:
        """Return whether the options belong to a stream, not a batch read; Spark does not report it."""
        only = {name.lower() for name in _STREAM_ONLY_OPTIONS}
        if any(name.lower() in only for name in options):
            return True
        try:
            ReadOptions.parse(options)
        except ValueError:
            with contextlib.suppress(ValueError):
                StreamOptions.parse(options)
                return True
        return False


@dataclass(frozen=True, kw_only=True)
class StreamSinkOptions:
    """The options of a stream that writes to a table.

    The number of a batch is the version of `application`; None for the id of the query.
    """

    sink: SinkOptions
    application: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str], mode: str) -> Self:
        """Parse the options of a stream that is written to a table.

        Raises `ValueError` as `ReadOptions.parse` does.
        """
        given = {name: text for name, text in options.items() if name.lower() not in _STREAM_SINK_OPTIONS}
        named = [text for name, text in options.items() if name.lower() == "txnappid"]
        return cls(sink=SinkOptions.parse(given, mode), application=named[0] if named else None)
