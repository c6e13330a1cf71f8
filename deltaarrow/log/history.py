"""Commit history: `commitInfo`, commit times and versions by time.

A commit's time is its in-commit timestamp if the table has them enabled for that version. Otherwise it is
the modification time of the file, adjusted to increase strictly from version to version, as delta-spark
does. Chapters "Commit Provenance Information" and "In-Commit Timestamps".
"""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deltaarrow.errors import CorruptLogError, VersionNotFoundError
from deltaarrow.features import properties
from deltaarrow.log.commits import read_commit
from deltaarrow.log.file_names import LogFile, LogFileKind
from deltaarrow.log.listing import list_log
from deltaarrow.storage import Store

__all__ = ["CommitTimes", "read_commit_infos", "read_in_commit_timestamp"]


def read_in_commit_timestamp(store: Store, commit: LogFile) -> int:
    """Return the in-commit timestamp of a commit, in milliseconds since the epoch."""
    info = _commit_info(store, commit)
    timestamp = None if info is None else info.get("inCommitTimestamp")
    if type(timestamp) is not int:
        raise CorruptLogError(f"{commit.name} has no inCommitTimestamp, although the table requires it")
    return timestamp


def _commit_info(store: Store, commit: LogFile) -> dict[str, Any] | None:
    actions = read_commit(store, commit.name)
    info = next((a["commitInfo"] for a in actions if a.get("commitInfo") is not None), None)
    if not isinstance(info, dict | None):
        raise CorruptLogError(f"{commit.name} has a commitInfo that is not a JSON object")
    return info


def _render(timestamp: int) -> str:
    """Render a time in milliseconds for messages; beyond Python's calendar it stays a number."""
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class CommitTimes:
    """The listed commits, and whether their times come from in-commit timestamps or from files."""

    store: Store
    commits: tuple[LogFile, ...]
    file_times: tuple[int, ...]
    in_commit_since: int | None
    """The first version whose in-commit timestamp counts; None if there is none."""
    before_gap: tuple[LogFile, ...] = ()
    """Older commits that a cleaned-up log still has; no version can be read from them."""

    @classmethod
    def load(cls, store: Store, configuration: Mapping[str, str], first: int = 0) -> "CommitTimes":
        """List the commits from version `first` on; `configuration` is that of the newest version.

        File times are made to increase from the first listed commit on.
        """
        commits = tuple(file for file in list_log(store, first) if file.kind is LogFileKind.COMMIT)
        before_gap: tuple[LogFile, ...] = ()
        for i in range(len(commits) - 1, 0, -1):
            if commits[i].version != commits[i - 1].version + 1:
                before_gap, commits = commits[:i], commits[i:]
                break
        times: list[int] = []
        for commit in commits:
            modified = commit.entry.modified_ms
            times.append(modified if not times else max(modified, times[-1] + 1))
        since = None
        if properties.ENABLE_IN_COMMIT_TIMESTAMPS.parse(configuration):
            since = properties.IN_COMMIT_TIMESTAMP_ENABLEMENT_VERSION.parse(configuration) or 0
        return cls(store, commits, tuple(times), since, before_gap)

    def timestamp(self, version: int) -> int:
        """Return the commit time of `version`, in milliseconds since the epoch."""
        i = version - self.commits[0].version if self.commits else -1
        if not 0 <= i < len(self.commits):
            raise VersionNotFoundError(f"the commit of version {version} is no longer in the log")
        if self.in_commit_since is not None and version >= self.in_commit_since:
            return read_in_commit_timestamp(self.store, self.commits[i])
        return self.file_times[i]

    def version_at(self, timestamp: int) -> int:
        """Return the newest version committed at `timestamp` (ms) or before.

        Raises `VersionNotFoundError`, naming the oldest and the newest commit, when all commits are later.
        """
        if not self.commits:
            raise VersionNotFoundError("the log has no commit, so no version can be found by time")
        first, end = self.commits[0].version, self.commits[-1].version + 1
        # Times increase before in-commit timestamps were enabled, after that, and across that point.
        versions = range(first, end)
        i = bisect.bisect_right(versions, timestamp, key=self.timestamp)
        if i == 0:
            raise VersionNotFoundError(
                f"no version is as old as {_render(timestamp)}: the log holds the commits from version"
                f" {first} of {_render(self.timestamp(first))} to version {end - 1} of"
                f" {_render(self.timestamp(end - 1))}; choose a later time"
                " (Spark: DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION)"
            )
        return versions[i - 1]

    def version_as_of(self, timestamp: int) -> int:
        """Return the version that a table had at `timestamp` (ms), as Spark's time travel does.

        Raises `VersionNotFoundError` as `version_at` does, and for a time after the newest commit: the next
        commit may still have that time, so no version is known to be the one.
        """
        version = self.version_at(timestamp)
        if version == self.commits[-1].version and timestamp > self.timestamp(version):
            raise VersionNotFoundError(
                f"{_render(timestamp)} is after the newest version of {self.store.uri}, {version} of"
                f" {_render(self.timestamp(version))}; choose that time or an earlier one, or leave the time"
                " out for the newest version (Spark: DELTA_TIMESTAMP_GREATER_THAN_COMMIT)"
            )
        return version

    def version_since(self, timestamp: int) -> int | None:
        """Return the oldest version committed at `timestamp` (ms) or after; None if there is none."""
        versions = range(self.commits[0].version, self.commits[-1].version + 1) if self.commits else range(0)
        i = bisect.bisect_left(versions, timestamp, key=self.timestamp)
        return versions[i] if i < len(versions) else None


def read_commit_infos(times: CommitTimes, last_version: int, limit: int | None) -> list[dict[str, Any]]:
    """Return the `commitInfo` objects of up to `limit` versions, newest first, each with `version`.

    `timestamp` is the commit time, by which versions are found; the one that the writer recorded may be of
    any time before. A commit without `commitInfo` gives an object with only its version and time.
    """
    file_times = [commit.entry.modified_ms for commit in times.before_gap] + list(times.file_times)
    listed = [*zip((*times.before_gap, *times.commits), file_times, strict=True)]
    infos: list[dict[str, Any]] = []
    for commit, file_time in reversed(listed):
        if limit is not None and len(infos) >= limit:
            break
        if commit.version > last_version:
            continue
        info = dict(_commit_info(times.store, commit) or {})
        in_commit = times.in_commit_since is not None and commit.version >= times.in_commit_since
        time = info.get("inCommitTimestamp", file_time) if in_commit else file_time
        infos.append(info | {"timestamp": time, "version": commit.version})
    return infos
