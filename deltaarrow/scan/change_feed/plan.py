"""Plan of a change data feed: the files and rows that changed in a range of versions.

Chapters "Change Data Files" and "Reader Requirements for AddCDCFile" of the protocol; details that they leave
open follow delta-spark. The columns of a feed are the columns of the table at the end of the range, and
three more::

    _change_type       insert, delete, update_preimage or update_postimage
    _commit_version    the version of the change
    _commit_timestamp  the time of the commit: the in-commit timestamp, or the time of the commit file

The last two are constant in every file, and the first is constant in added and removed files. Readers
therefore get them as partition values, which also prune files. Like a scan plan, a change plan is pure data
and picklable.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deltaarrow.actions import Metadata, Protocol
from deltaarrow.display.notebook import html_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import (
    ChangeDataNotRecordedError,
    SchemaMismatchError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import ensure_readable
from deltaarrow.features.properties import ENABLE_CHANGE_DATA_FEED
from deltaarrow.log import CommitChanges, CommitTimes, is_catalog_store, read_changes
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.change_feed.feed_tasks import (
    commit_tasks,
    commit_timestamp,
    feed_layout,
    matching_tasks,
    render_instant,
)
from deltaarrow.scan.compatibility import TableShape, incompatibility
from deltaarrow.scan.plan import ensure_columns, table_layout
from deltaarrow.scan.row_id_columns import ROW_TRACKING_COLUMNS
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import CHANGE_TYPE, COMMIT_VERSION, Schema, ensure_known
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = [
    "ChangePlan",
    "is_recorded",
    "plan_changes",
    "resolve_versions",
]


@dataclass(frozen=True)
class ChangePlan:
    """The files and columns that a change data feed reads.

    `layout` is the layout of added and removed files, `recorded_layout` that of change data files, whose
    tasks have no partition value for ``_change_type``. `columns` are the requested columns in order; `tasks`
    are in version order.
    """

    layout: TableLayout
    versions: range
    columns: tuple[str, ...]
    tasks: tuple[FileTask, ...]

    @property
    def schema(self) -> Schema:
        """The logical schema: the columns of the table and those of the feed."""
        return self.layout.schema

    @property
    def store(self) -> Store:
        """The store with the files."""
        return self.layout.store

    @cached_property
    def recorded_layout(self) -> TableLayout:
        """The layout of change data files, which store the change type of each row."""
        constants = tuple(name for name in self.layout.partition_columns if name != CHANGE_TYPE)
        return replace(self.layout, partition_columns=constants)

    def __repr__(self) -> str:
        return f"ChangePlan(versions={self._range}, files={len(self.tasks)}, columns={list(self.columns)})"

    def _repr_html_(self) -> str:
        said = {"table": redacted(self.store.uri), "versions": self._range, "files": len(self.tasks)}
        return html_table(said | {"columns": ", ".join(self.columns)})

    @property
    def _range(self) -> str:
        return f"{self.versions[0]} to {self.versions[-1]}" if self.versions else "none"

    def narrow(
        self, predicate: Predicate | None = None, columns: Sequence[str] | None = None
    ) -> "ChangePlan":
        """Return a plan for `columns` (None: unchanged) of the changes that may match `predicate`.

        Raises `SchemaMismatchError` for an unknown column in `columns` or `predicate`, and
        `UnsupportedFeatureError` for the row tracking columns.
        """
        wanted = self.columns if columns is None else tuple(columns)
        self._ensure_columns(wanted)
        if columns is not None:
            ensure_known(map(self.schema.field, wanted))
        if predicate is None:
            return replace(self, columns=wanted)
        self._ensure_columns(sorted({path[0] for path in columns_of(predicate)}))
        recorded = [task for task in self.tasks if is_recorded(task)]
        derived = [task for task in self.tasks if not is_recorded(task)]
        kept = heapq.merge(
            matching_tasks(recorded, self.recorded_layout, predicate),
            matching_tasks(derived, self.layout, predicate),
            key=lambda task: int(task.partition_values[COMMIT_VERSION] or 0),
        )
        return replace(self, columns=wanted, tasks=tuple(kept))

    def _ensure_columns(self, names: Sequence[str]) -> None:
        own = {field.name for field in self.schema.fields}
        if tracked := [name for name in names if name in ROW_TRACKING_COLUMNS and name not in own]:
            raise UnsupportedFeatureError(
                f"a change data feed has no {tracked[0]}, because change data files do not record it; leave"
                " the column out",
                feature="rowTracking",
            )
        ensure_columns(self.schema, names)


def is_recorded(task: FileTask) -> bool:
    """Whether a task of a `ChangePlan` reads a change data file."""
    return CHANGE_TYPE not in task.partition_values


# --- the range -------------------------------------------------------------------------------------


def resolve_versions(
    newest: Snapshot,
    starting_version: int | None = 0,
    ending_version: int | None = None,
    starting_time: int | None = None,
    ending_time: int | None = None,
    *,
    allow_out_of_range: bool = False,
) -> range:
    """Return the versions within the given versions and the given times.

    Args:
        newest: the table at its newest version.
        starting_version: the first version; None if `starting_time` gives the start.
        ending_version: the last version; the newest version if None or if it does not exist yet.
        starting_time: excludes versions committed earlier; in milliseconds since the epoch.
        ending_time: excludes versions committed later; in milliseconds since the epoch.
        allow_out_of_range: whether to return an empty range instead of raising if it has no version, and
            to end it at the newest version if that is older than `ending_time`.

    Raises:
        VersionNotFoundError: the range has no version, or `ending_time` is after the newest one.
        ValueError: the range has no start, or ends before its start.
    """
    if starting_version is None and starting_time is None:
        raise ValueError("a change data feed needs a start: give starting_version or starting_timestamp")
    nothing = range(newest.version + 1, newest.version + 1)
    times = newest.commit_times()
    start = starting_version or 0
    if starting_time is not None:
        since = times.version_since(starting_time)
        if since is None:
            if allow_out_of_range:
                return nothing
            raise VersionNotFoundError(
                f"no version is as new as {render_instant(starting_time)}: the newest version,"
                f" {newest.version}, was committed at {render_instant(times.timestamp(newest.version))};"
                " start earlier, or pass allow_out_of_range=True (Spark: DELTA_TIMESTAMP_GREATER_THAN_COMMIT)"
            )
        start = max(start, since)
    if start > newest.version:
        if allow_out_of_range:
            return nothing
        raise VersionNotFoundError(
            f"version {start} does not exist: the newest version of the table is {newest.version};"
            " start earlier, or pass allow_out_of_range=True (Spark: DELTA_CDC_START_VERSION_AFTER_LATEST)"
        )
    end = newest.version if ending_version is None else min(ending_version, newest.version)
    if ending_time is not None:
        try:
            at = times.version_at if allow_out_of_range else times.version_as_of
            end = min(end, at(ending_time))
        except VersionNotFoundError:
            if allow_out_of_range:
                return nothing
            raise
    if end < start:
        # Both times may lie between the same two versions.
        in_order = starting_time is not None and ending_time is not None and starting_time <= ending_time
        if allow_out_of_range or in_order:
            return nothing
        raise ValueError(
            f"the range ends with version {end}, before it begins with version {start}; end it later"
        )
    return range(start, end + 1)


def _ensure_listed(times: CommitTimes, start: int, end: int) -> None:
    listed = [commit.version for commit in times.commits]
    if not listed or start < listed[0] or end > listed[-1]:
        held = f"the commits of versions {listed[0]} to {listed[-1]}" if listed else "no commit"
        raise VersionNotFoundError(
            f"the changes of versions {start} to {end} cannot be read: the log holds {held};"
            " choose versions that it holds"
        )


# --- the plan --------------------------------------------------------------------------------------


def plan_changes(
    newest: Snapshot,
    versions: range,
    predicate: Predicate | None = None,
    columns: Sequence[str] | None = None,
) -> ChangePlan:
    """Plan reading the changes of `versions`, from `resolve_versions`, with the schema of the last version.

    Raises:
        ChangeDataNotRecordedError: the change data feed was off in a version.
        SchemaMismatchError: the schema of a version is incompatible with the last schema, the table has
            columns with names of the feed, or a requested column does not exist.
        VersionNotFoundError: the log no longer has a commit of the range, or the state of the table at its
            first or last version.
        CorruptLogError: a commit is malformed.
        UnsupportedFeatureError: a version has a feature that this release does not read.
    """
    if not versions:
        layout = feed_layout(table_layout(newest))
        plan = ChangePlan(layout, versions, tuple(f.name for f in layout.schema.fields), ())
        return plan.narrow(predicate, columns)
    store = newest.store
    first, last = versions[0], versions[-1]
    times = newest.commit_times()
    _ensure_listed(times, first, last)
    end = newest if last == newest.version else Snapshot.load(store, last)
    start = end if first == last else Snapshot.load(store, first)
    layout = feed_layout(table_layout(end))
    tasks: list[FileTask] = []
    for commit in _checked_commits(times, start, end):
        if commit.version == first and commit.metadata is not None:
            _ensure_same_partitioning(commit, end)
        tasks += commit_tasks(commit, layout, commit_timestamp(times, commit))
    plan = ChangePlan(layout, versions, tuple(f.name for f in layout.schema.fields), tuple(tasks))
    return plan.narrow(predicate, columns)


def _checked_commits(times: CommitTimes, start: Snapshot, end: Snapshot) -> Iterator[CommitChanges]:
    """Yield the commits; raise for a commit that one feed cannot show with the others."""
    offset = start.version - times.commits[0].version
    commits = times.commits[offset : offset + end.version - start.version + 1]
    _ensure_readable_together(start.protocol, start.metadata, start.version, end)
    protocol, metadata = start.protocol, start.metadata
    for commit in read_changes(times.store, commits):
        # The first commit may change the schema: the feed reads no rows from before it.
        if commit.version > start.version and (commit.protocol or commit.metadata):
            protocol, metadata = commit.protocol or protocol, commit.metadata or metadata
            ensure_readable(protocol, metadata, through_catalog=is_catalog_store(times.store))
            _ensure_readable_together(protocol, metadata, commit.version, end)
        yield commit


def _ensure_readable_together(protocol: Protocol, metadata: Metadata, version: int, end: Snapshot) -> None:
    if not ENABLE_CHANGE_DATA_FEED.parse(metadata.configuration):
        raise ChangeDataNotRecordedError(
            f"the change data feed was off in version {version} (delta.enableChangeDataFeed), so its changes"
            " are not recorded; begin with a later version, or end before it"
            " (Spark: DELTA_MISSING_CHANGE_DATA)"
        )
    newer = TableShape(end.schema, end.partition_columns, end.mapping_mode)
    if found := incompatibility(TableShape.of(protocol, metadata), newer):
        raise SchemaMismatchError(
            f"the schema of version {version} is incompatible with that of version {end.version}: {found};"
            " read the versions before and after the change separately"
        )


def _ensure_same_partitioning(commit: CommitChanges, end: Snapshot) -> None:
    """Raise if the first commit of the range removes files with other partition columns."""
    if commit.version > 0 and any(change.change_type == "delete" for change in commit.files):
        before = Snapshot.load(end.store, commit.version - 1)
        if before.partition_columns != end.partition_columns:
            raise SchemaMismatchError(
                f"version {commit.version} changes the partition columns from"
                f" {list(before.partition_columns)} to {list(end.partition_columns)}, so its deleted rows"
                " cannot be shown; begin with a later version"
            )
