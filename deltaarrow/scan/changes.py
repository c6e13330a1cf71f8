"""Planning a change data feed: which rows of which files changed in a range of versions.

Chapters "Change Data Files" and "Reader Requirements for AddCDCFile" of the protocol; what it leaves
open is decided as delta-spark decides it. The columns of a feed are those of the table at the end of the
range, and three more::

    _change_type       insert, delete, update_preimage or update_postimage
    _commit_version    the version that made the change
    _commit_timestamp  when it was committed: in-commit where the table has that, else the time of the file

All rows of a file have the last two in common, and those of an added or removed file the first as well.
They are therefore given to the readers as partition values, and files are left out by them as by any
others. A plan is pure data and picklable, like that of a scan.
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
from deltaarrow.scan.compatibility import TableShape, incompatibility
from deltaarrow.scan.feed_tasks import (
    commit_tasks,
    commit_timestamp,
    feed_layout,
    matching_tasks,
    render_instant,
)
from deltaarrow.scan.plan import ensure_columns, table_layout
from deltaarrow.scan.row_id_columns import ROW_TRACKING_COLUMNS
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import CHANGE_TYPE, COMMIT_VERSION, Schema
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
    """What a change data feed of some versions has to read.

    `layout` says how the rows of added and removed files lie, `recorded_layout` those of change data
    files; the latter are the tasks without a partition value of ``_change_type``. `columns` are the
    wanted ones, in order; `tasks` are in the order of versions.
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
        """Where the files are."""
        return self.layout.store

    @cached_property
    def recorded_layout(self) -> TableLayout:
        """How the rows of change data files lie, which hold the type of each change."""
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
        """Plan reading `columns` (None: as before) of the changes that may match `predicate`.

        Raises `SchemaMismatchError` when a column, of the projection or of the predicate, is not there, and
        `UnsupportedFeatureError` for the columns of row tracking.
        """
        wanted = self.columns if columns is None else tuple(columns)
        self._ensure_columns(wanted)
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
                f"a change data feed has no {tracked[0]}: row ids and commit versions cannot be read from"
                " change data files",
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
    """Return the versions that are neither outside the given versions nor the given times.

    Args:
        newest: the table at its newest version.
        starting_version: the first version; None where `starting_time` alone says it.
        ending_version: the last version; the newest if None, or if it is later than that.
        starting_time: in milliseconds since the epoch; the first version is not older.
        ending_time: in milliseconds since the epoch; the last version is not newer.
        allow_out_of_range: whether a range in which there is no version is empty instead of refused.

    Raises:
        VersionNotFoundError: there is no version in the range.
        ValueError: there is no beginning, or it is after the end.
    """
    if starting_version is None and starting_time is None:
        raise ValueError("a change data feed begins with a version or a time: neither is given")
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
                f" {newest.version}, is of {render_instant(times.timestamp(newest.version))}"
            )
        start = max(start, since)
    if start > newest.version:
        if allow_out_of_range:
            return nothing
        raise VersionNotFoundError(
            f"version {start} does not exist: the newest version of the table is {newest.version}"
        )
    end = newest.version if ending_version is None else min(ending_version, newest.version)
    if ending_time is not None:
        try:
            end = min(end, times.version_at(ending_time))
        except VersionNotFoundError:
            if allow_out_of_range:
                return nothing
            raise
    if end < start:
        # Two times may lie between two versions.
        in_order = starting_time is not None and ending_time is not None and starting_time <= ending_time
        if allow_out_of_range or in_order:
            return nothing
        raise ValueError(f"the range ends with version {end}, before it begins with version {start}")
    return range(start, end + 1)


def _ensure_listed(times: CommitTimes, start: int, end: int) -> None:
    listed = [commit.version for commit in times.commits]
    if not listed or start < listed[0] or end > listed[-1]:
        held = f"the commits of versions {listed[0]} to {listed[-1]}" if listed else "no commit"
        raise VersionNotFoundError(
            f"the changes of versions {start} to {end} cannot be read: the log holds {held}"
        )


# --- the plan --------------------------------------------------------------------------------------


def plan_changes(
    newest: Snapshot,
    versions: range,
    predicate: Predicate | None = None,
    columns: Sequence[str] | None = None,
) -> ChangePlan:
    """Plan reading the changes of `versions`, as `resolve_versions` gives them, with their last schema.

    Raises:
        ChangeDataNotRecordedError: the change data feed was off in a version.
        SchemaMismatchError: the schema of a version cannot be read as that of the last one, the table
            has columns with the names of those of a feed, or a wanted column is not there.
        VersionNotFoundError: the log no longer has a commit of the range, or what the table was like at
            its first or last version.
        CorruptLogError: a commit is broken.
        UnsupportedFeatureError: a version needs what this release does not read.
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
    """Yield the commits, as long as a feed may show them together."""
    offset = start.version - times.commits[0].version
    commits = times.commits[offset : offset + end.version - start.version + 1]
    _ensure_readable_together(start.protocol, start.metadata, start.version, end)
    protocol, metadata = start.protocol, start.metadata
    for commit in read_changes(times.store, commits):
        # The first commit may have changed the schema: nothing before it is read.
        if commit.version > start.version and (commit.protocol or commit.metadata):
            protocol, metadata = commit.protocol or protocol, commit.metadata or metadata
            ensure_readable(protocol, metadata, through_catalog=is_catalog_store(times.store))
            _ensure_readable_together(protocol, metadata, commit.version, end)
        yield commit


def _ensure_readable_together(protocol: Protocol, metadata: Metadata, version: int, end: Snapshot) -> None:
    if not ENABLE_CHANGE_DATA_FEED.parse(metadata.configuration):
        raise ChangeDataNotRecordedError(
            f"the change data feed was off in version {version} (delta.enableChangeDataFeed):"
            " what changed then is not recorded; begin with a later version, or end before it"
        )
    newer = TableShape(end.schema, end.partition_columns, end.mapping_mode)
    if found := incompatibility(TableShape.of(protocol, metadata), newer):
        raise SchemaMismatchError(
            f"the schema of version {version} cannot be read as that of version {end.version}: {found};"
            " read the versions before and after the change apart"
        )


def _ensure_same_partitioning(commit: CommitChanges, end: Snapshot) -> None:
    """Raise when the commit, the first of the range, removes files that were partitioned otherwise."""
    if commit.version > 0 and any(change.change_type == "delete" for change in commit.files):
        before = Snapshot.load(end.store, commit.version - 1)
        if before.partition_columns != end.partition_columns:
            raise SchemaMismatchError(
                f"version {commit.version} changes the partition columns from"
                f" {list(before.partition_columns)} to {list(end.partition_columns)}, so that what it"
                " deletes cannot be shown; begin with a later version"
            )
