"""The files of a table after an offset of a stream: `TableStream`.

A stream shows all files of one version, the oldest first, and then what each commit adds; or it begins with a
commit. As in delta-spark, a commit that deletes or changes rows stops the stream, and so does one that
changes the schema: earlier files are delivered first, then an error says how to continue. A change feed
shows all changes; the changes of the first version are inserts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.errors import (
    ChangeDataNotRecordedError,
    CorruptLogError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.features import ensure_readable
from deltaarrow.features.properties import ENABLE_CHANGE_DATA_FEED
from deltaarrow.log import CommitChanges, CommitTimes, read_additions, read_changes
from deltaarrow.log.version_arguments import parse_moment
from deltaarrow.scan import (
    PLAN_COLUMNS,
    FileTask,
    TableShape,
    commit_tasks,
    commit_timestamp,
    ensure_distinct_files,
    feed_values,
    file_tasks,
    incompatibility,
    resolve_versions,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark.batch_limit import BatchLimit
from deltaarrow.spark.stream_offset import StreamOffset
from deltaarrow.spark.stream_options import StreamOptions
from deltaarrow.spark.stream_scan import StreamScan

__all__ = ["TableStream"]

_ANEW = "begin a new stream, with a checkpoint of its own"


@dataclass(frozen=True)
class _Part:
    """All files of a commit or of the initial snapshot, in order of their numbers, given by their bytes.

    Tasks are created only for the files that a batch takes, because a snapshot may have a million.
    """

    version: int
    sizes: Sequence[int]
    tasks: Callable[[slice], Sequence[FileTask]]
    is_divisible: bool = True
    is_initial_snapshot: bool = False

    @classmethod
    def of_commit(cls, version: int, tasks: Sequence[FileTask], *, is_divisible: bool = True) -> "_Part":
        return cls(version, [task.size for task in tasks], tasks.__getitem__, is_divisible)

    def holds(self, offset: StreamOffset) -> bool:
        """Whether an offset lies between these files."""
        return (self.version, self.is_initial_snapshot) == (offset.version, offset.is_initial_snapshot)


class TableStream:
    """The files of a table as a stream; new commits are read as they come."""

    def __init__(self, scan: StreamScan) -> None:
        self._scan = scan
        self._newest = scan.snapshot
        self._end_version: int | None = None
        self._initial: _Part | None = None
        self._is_begin_checked = False
        self._nothing_after: tuple[StreamOffset, int] | None = None

    @property
    def options(self) -> StreamOptions:
        """The options of the stream."""
        return self._scan.options

    # --- offsets ----------------------------------------------------------------------------------

    def beginning(self) -> StreamOffset:
        """Return where a new stream begins.

        Raises `VersionNotFoundError` if the starting version does not exist yet, or no version is as new as
        the starting time.
        """
        newest = self._newest_version()
        version, moment = self.options.starting_version, self.options.starting_timestamp
        if version == "latest":
            version = newest + 1
        elif version is not None or moment is not None:
            time = None if moment is None else parse_moment(moment, later=True)
            version = resolve_versions(self._newest, version, starting_time=time)[0]
        else:
            return self._beginning(newest, with_snapshot=True)
        return self._beginning(version, with_snapshot=False)

    def _beginning(self, version: int, *, with_snapshot: bool) -> StreamOffset:
        table_id = self._newest.metadata.id
        return StreamOffset.beginning(table_id, version, with_snapshot=with_snapshot)

    def end_with_newest(self) -> None:
        """Ignore all versions after the one that is newest now."""
        self._end_version = self._newest_version()

    def next_offset(self, start: StreamOffset, *, is_limited: bool) -> StreamOffset:
        """Return the end of a batch that begins at `start`; `start` itself if nothing follows it.

        Args:
            start: the end of the previous batch.
            is_limited: whether the limits of the options apply.

        Raises:
            TableNotFoundError: another table is now at the location of the table of `start`.
            VersionNotFoundError: the log no longer has the next commit.
            UnsupportedFeatureError: the next commit deletes or changes rows, or needs a feature that this
                release cannot read.
            SchemaMismatchError: the next commit changes the schema.
            ChangeDataNotRecordedError: the change feed is off in the next commit.
        """
        last = self._newest_version()
        self._ensure_same_table(start)
        if self._nothing_after == (start, last):
            return start
        limit = BatchLimit(self.options.max_files, self.options.max_bytes) if is_limited else BatchLimit()
        end = start
        try:
            for part in self._parts(start, last):
                first = start.index + 1 if part.holds(start) else 0
                sizes = part.sizes[first:]
                taken = limit.take(sizes, divisible=part.is_divisible)
                if taken < len(sizes):
                    if taken:
                        end = _between(start, part, first + taken - 1)
                    break
                # Commits without files are looked at again: such commits alone make no batch.
                is_done = part.is_initial_snapshot or bool(part.sizes)
                end = start.at(part.version + 1 if is_done else part.version)
                if limit.is_full:
                    break
        except DeltaError:
            if end == start:
                raise
        self._nothing_after = (start, last) if end == start else None
        return end

    def splits(self, start: StreamOffset, end: StreamOffset) -> list[tuple[FileTask, ...]]:
        """Return the files between two offsets in splits.

        Raises the errors of `next_offset`.
        """
        self._newest_version()
        self._ensure_same_table(end)
        begin = start.began_as(end)
        if begin == end:
            return []
        last = end.version if end.is_initial_snapshot or end.index >= 0 else end.version - 1
        tasks: list[FileTask] = []
        for part in self._parts(begin, last):
            first = begin.index + 1 if part.holds(begin) else 0
            stop = end.index + 1 if part.holds(end) else len(part.sizes)
            if stop > len(part.sizes):
                raise CorruptLogError(
                    f"version {part.version} has no file {stop - 1}, which the stream's checkpoint names;"
                    f" {_ANEW}"
                )
            tasks += part.tasks(slice(first, stop))
        return self._scan.splits(tasks)

    # --- the table --------------------------------------------------------------------------------

    def _newest_version(self) -> int:
        self._newest = self._newest.update()
        newest = self._newest.version
        return newest if self._end_version is None else min(self._end_version, newest)

    def _ensure_same_table(self, offset: StreamOffset) -> None:
        uri, table_id = self._newest.store.uri, self._newest.metadata.id
        if not offset.table_id == table_id == self._scan.snapshot.metadata.id:
            raise TableNotFoundError(
                f"the stream reads the table {offset.table_id}, but at {uri} is now another table,"
                f" {table_id}; {_ANEW}"
            )
        if offset.version > self._newest.version + 1:
            raise VersionNotFoundError(
                f"the stream has reached version {offset.version}, but the newest version of {uri} is"
                f" {self._newest.version}: the table was set back; {_ANEW}"
            )

    def _parts(self, start: StreamOffset, last: int) -> Iterator[_Part]:
        """Yield the parts from the version of an offset up to version `last`."""
        version = start.version
        if start.is_initial_snapshot:
            yield self._initial_snapshot(version)
            version += 1
        else:
            self._initial = None
        if version <= last:
            yield from self._commits(version, last)

    def _initial_snapshot(self, version: int) -> _Part:
        if self._initial is None or self._initial.version != version:
            snapshot = self._snapshot(version)
            self._ensure_fits(snapshot.protocol, snapshot.metadata, version)
            self._is_begin_checked = True
            files = snapshot.files(columns=[*PLAN_COLUMNS, "modification_time"])
            ensure_distinct_files(snapshot.store, files)
            files = files.sort_by([("modification_time", "ascending"), ("path", "ascending")])
            said = feed_values(version, snapshot.timestamp_ms, "insert") if self.options.is_feed else {}

            def tasks(places: slice) -> list[FileTask]:
                found = file_tasks(files.slice(places.start, places.stop - places.start))
                return [replace(task, partition_values={**task.partition_values, **said}) for task in found]

            sizes = files.column("size").to_pylist()
            self._initial = _Part(version, sizes, tasks, is_initial_snapshot=True)
        return self._initial

    def _commits(self, first: int, last: int) -> Iterator[_Part]:
        is_feed = self.options.is_feed
        # A feed shows the times of commits, and each time depends on the one before.
        times = CommitTimes.load(self._newest.store, self._newest.configuration, 0 if is_feed else first)
        if not times.commits or times.commits[0].version > first:
            raise VersionNotFoundError(
                f"the stream continues with version {first}, but the log no longer has that commit, so its"
                f" changes are lost to the stream; {_ANEW}"
            )
        if not self._is_begin_checked:
            state = self._snapshot(first)
            self._ensure_fits(state.protocol, state.metadata, first)
            self._is_begin_checked = True
        begin = times.commits[0].version
        commits = times.commits[first - begin : last + 1 - begin]
        read = read_changes if is_feed else read_additions
        for commit in read(times.store, commits):
            if commit.protocol or commit.metadata:
                own = self._scan.snapshot
                self._ensure_fits(
                    commit.protocol or own.protocol, commit.metadata or own.metadata, commit.version
                )
            yield self._feed_part(commit, times) if is_feed else self._part(commit)

    def _feed_part(self, commit: CommitChanges, times: CommitTimes) -> _Part:
        # Both images of an update, and both sides of a deletion vector, must come in one batch.
        is_divisible = all(
            change.change_type is not None and change.deletion_vector is None and change.only_in is None
            for change in commit.files
        )
        tasks = commit_tasks(commit, self._scan.layout, commit_timestamp(times, commit))
        return _Part.of_commit(commit.version, tasks, is_divisible=is_divisible)

    def _part(self, commit: CommitChanges) -> _Part:
        options = self.options
        if commit.removed is None:
            return _Part.of_commit(commit.version, commit_tasks(commit, self._scan.layout))
        if options.skips_changes:
            return _Part.of_commit(commit.version, ())
        if not options.ignores_changes and (commit.files or not options.ignores_deletes):
            raise UnsupportedFeatureError(
                f"version {commit.version} {'changes' if commit.files else 'deletes'} rows: it removes"
                f" {commit.removed}. A stream shows only added rows; set the option skipChangeCommits to"
                " skip such versions, or readChangeFeed to show all changes",
                feature="skipChangeCommits",
            )
        return _Part.of_commit(commit.version, commit_tasks(commit, self._scan.layout))

    def _snapshot(self, version: int) -> Snapshot:
        for known in (self._newest, self._scan.snapshot):
            if known.version == version:
                return known
        return Snapshot.load(self._newest.store, version)

    def _ensure_fits(self, protocol: Protocol, metadata: Metadata, version: int) -> None:
        """Raise unless files of a version can be read with the stream's columns, and have no others."""
        ensure_readable(protocol, metadata)
        if self.options.is_feed and not ENABLE_CHANGE_DATA_FEED.parse(metadata.configuration):
            raise ChangeDataNotRecordedError(
                f"the change data feed was off in version {version} (delta.enableChangeDataFeed), so its"
                f" changes are not recorded; {_ANEW}"
            )
        loaded = self._scan.snapshot
        own = TableShape(loaded.schema, loaded.partition_columns, loaded.mapping_mode)
        there = TableShape.of(protocol, metadata)
        reason = incompatibility(there, own)
        if reason is None:
            return
        if version > loaded.version:
            reason = incompatibility(own, there)
            if reason is None:
                raise SchemaMismatchError(
                    f"version {version} adds columns to the table, but the stream has the columns of"
                    f" version {loaded.version}: load the stream again and start it with the same"
                    " checkpoint to continue with the new columns"
                )
        raise SchemaMismatchError(
            f"the schema of version {version} does not extend that of version {loaded.version}, which the"
            f" stream has: {reason}; {_ANEW}"
        )


def _between(start: StreamOffset, part: _Part, index: int) -> StreamOffset:
    return start.at(part.version, index, is_initial_snapshot=part.is_initial_snapshot)
