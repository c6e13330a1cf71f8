"""The file changes of single commits, from which a change data feed is made.

Chapters "Change Data Files" and "Add CDC File" of the protocol. A stream that is not a feed takes only the
added files (`read_additions`). The changes of a version are

1. only the rows of its ``cdc`` files, if it has any;
2. otherwise the rows of added files, as inserts, and of removed files, as deletes, if the actions say that
   they change data;
3. for a data file removed with one deletion vector and added with another, the rows that only one of the two
   marks: newly marked rows are deletes, rows no longer marked are inserts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from deltaarrow.actions import FileActionKey, Metadata, Protocol, parse_fields
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.commits import read_commits
from deltaarrow.log.file_names import LogFile
from deltaarrow.storage import Store, decode_path

__all__ = ["CommitChanges", "FileChange", "read_additions", "read_changes"]

_WINDOW = 64
"""Commits read at a time."""

_MERGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")

JsonObject = Mapping[str, Any]


class FileChange(NamedTuple):
    """Rows of one file that a commit changed.

    `change_type` is ``insert`` or ``delete``, or None for a change data file, whose rows have their own
    change types. The rows are those that `deletion_vector` does not mark and, if `only_in` is given, that
    `only_in` marks. `path` is a store name; `partition_values` is None if a ``remove`` has none.
    """

    change_type: str | None
    path: str
    size: int
    partition_values: Mapping[str, str | None] | None
    stats: str | None
    deletion_vector: DeletionVectorDescriptor | None
    only_in: DeletionVectorDescriptor | None


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """The actions of one commit that a change data feed, or a stream of added files, needs.

    `removed` is a data file that the commit removed as a change of data, not for compaction, if any.
    """

    version: int
    in_commit_timestamp: int | None
    protocol: Protocol | None
    metadata: Metadata | None
    files: tuple[FileChange, ...]
    removed: str | None


def read_changes(store: Store, commits: Sequence[LogFile]) -> Iterator[CommitChanges]:
    """Yield the changes of commits, in the order given.

    Raises `CorruptLogError`, naming the file, when one is torn or has an ill-formed action.
    """
    return _read(store, commits, _changed_files)


def read_additions(store: Store, commits: Sequence[LogFile]) -> Iterator[CommitChanges]:
    """Yield the files that commits added as a change of data, as inserts, in the order of the log.

    Raises the same errors as `read_changes`.
    """
    return _read(store, commits, _added_files)


def _read(
    store: Store,
    commits: Sequence[LogFile],
    files_of: Callable[[LogFile, Sequence[JsonObject]], Iterable[FileChange]],
) -> Iterator[CommitChanges]:
    for start in range(0, len(commits), _WINDOW):
        window = commits[start : start + _WINDOW]
        for commit, actions in zip(window, read_commits(store, [c.name for c in window]), strict=True):
            try:
                yield _commit_changes(commit, actions, tuple(files_of(commit, actions)))
            except (KeyError, TypeError, AttributeError) as error:
                raise CorruptLogError(f"{commit.name} holds an ill-formed action: {error!r}") from error


def _commit_changes(
    commit: LogFile, actions: Sequence[JsonObject], files: tuple[FileChange, ...]
) -> CommitChanges:
    info = _last(actions, "commitInfo") or {}
    protocol, metadata = _last(actions, "protocol"), _last(actions, "metaData")
    removes = (remove for remove in _all(actions, "remove") if remove.get("dataChange", True))
    removed = next(removes, None)
    return CommitChanges(
        version=commit.version,
        in_commit_timestamp=info.get("inCommitTimestamp"),
        protocol=None if protocol is None else parse_fields(Protocol, protocol),
        metadata=None if metadata is None else parse_fields(Metadata, metadata),
        files=files,
        removed=None if removed is None else decode_path(removed["path"]),
    )


def _changed_files(commit: LogFile, actions: Sequence[JsonObject]) -> Iterable[FileChange]:
    if recorded := _all(actions, "cdc"):
        return [_file_change(None, action) for action in recorded]
    if _is_merge_without_effect(_last(actions, "commitInfo") or {}):
        return []
    return _derived(commit, _all(actions, "add"), _all(actions, "remove"))


def _added_files(commit: LogFile, actions: Sequence[JsonObject]) -> Iterable[FileChange]:
    added = _by_path(commit, [add for add in _all(actions, "add") if add["dataChange"]])
    return [_file_change("insert", add) for add in added.values()]


def _all(actions: Iterable[JsonObject], key: str) -> list[JsonObject]:
    return [action[key] for action in actions if action.get(key) is not None]


def _last(actions: Sequence[JsonObject], key: str) -> JsonObject | None:
    found = _all(actions, key)
    return found[-1] if found else None


def _is_merge_without_effect(info: JsonObject) -> bool:
    # MERGE may rewrite files without changing a row, and still say that data changed.
    metrics = info.get("operationMetrics") or {}
    return info.get("operation") == "MERGE" and all(metrics.get(name) == "0" for name in _MERGE_METRICS)


def _derived(
    commit: LogFile, adds: Iterable[JsonObject], removes: Iterable[JsonObject]
) -> Iterator[FileChange]:
    added = _by_path(commit, [add for add in adds if add["dataChange"]])
    removed = _by_path(commit, [remove for remove in removes if remove["dataChange"]])
    for path, remove in removed.items():
        add = added.get(path)
        if add is None:
            yield _file_change("delete", remove)
            continue
        before, after = _deletion_vector(remove), _deletion_vector(add)
        if before is None and after is None:
            raise CorruptLogError(f"{commit.name} adds and removes the same file, {path}")
        # Use the action of the live file, before or after the commit: its statistics are true of the rows.
        if after is not None:
            yield _file_change("delete", remove, before, after)
        if before is not None:
            yield _file_change("insert", add, after, before)
    for path, add in added.items():
        if path not in removed:
            yield _file_change("insert", add)


def _by_path(commit: LogFile, actions: Iterable[JsonObject]) -> dict[str, JsonObject]:
    by_key = {FileActionKey.from_json(dict(action)): action for action in actions}
    by_path = {key.path: action for key, action in by_key.items()}
    if len(by_path) < len(by_key):
        raise CorruptLogError(f"{commit.name} lists one data file twice, with different deletion vectors")
    return by_path


def _deletion_vector(action: JsonObject) -> DeletionVectorDescriptor | None:
    descriptor = action.get("deletionVector")
    return None if descriptor is None else DeletionVectorDescriptor.from_json(descriptor)


def _file_change(
    change_type: str | None,
    action: JsonObject,
    deletion_vector: DeletionVectorDescriptor | None = None,
    only_in: DeletionVectorDescriptor | None = None,
) -> FileChange:
    if only_in is None:
        deletion_vector = _deletion_vector(action)
    return FileChange(
        change_type,
        decode_path(action["path"]),
        action.get("size") or 0,
        action.get("partitionValues"),
        action.get("stats"),
        deletion_vector,
        only_in,
    )
