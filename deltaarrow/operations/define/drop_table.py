"""DROP: deletes the log and the files of a table; from the first step on the table is unreadable.

1. A commit raises the protocol to a feature that nobody has. From then on every reader and writer refuses the
   table, and a writer that began before loses its race. This commit alone can be taken back: by deleting it.
2. All files but those of the log are deleted.
3. The files of the log are deleted, the commit of step 1 last.

So a drop that is killed never leaves a table that reads as fewer rows, and the next drop goes on with it.
Links are deleted, never followed. Files in other places, such as those of a shallow clone, stay.
"""

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from deltaarrow.actions import CommitInfo, Protocol
from deltaarrow.errors import (
    CommitFailedError,
    DeltaError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltaarrow.features import ensure_writable
from deltaarrow.log import LOG_FOLDER, LogFileKind, commit_name, has_versions, is_catalog_store, list_log
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction import Committed, FileSystemCommitter
from deltaarrow.version import ENGINE_INFO

__all__ = [
    "DropPlan",
    "delete_abandoned",
    "delete_link",
    "delete_log",
    "drop_table",
    "finish_drop",
    "is_link",
    "plan_drop",
]

DROPPED_FEATURE = "deltaarrow.dropped"
"""The feature in the protocol of a table that is being dropped."""

_FILES_AT_A_TIME = 1000
_MAX_TRIES = 16


@dataclass(frozen=True)
class DropPlan:
    """What a drop deletes.

    Attributes:
        uri: the folder of the table.
        num_files: how many files are deleted, those of the log included.
        kept: links to folders, which stay with the folders around them.
        version: the version of the table; None for one that is half dropped.
        table_id: the id in its metadata, likewise.
    """

    uri: str
    num_files: int
    kept: tuple[str, ...]
    files: tuple[str, ...]
    log_files: tuple[str, ...]
    folders: tuple[str, ...]
    version: int | None
    table_id: str | None


def plan_drop(store: Store) -> DropPlan:
    """List what a drop deletes.

    Raises `TableNotFoundError` if there is no table that can be read and none that is half dropped, and
    `UnsupportedFeatureError` if a folder below is another table, the folder is a symbolic link, or this
    release does not write such tables.
    """
    if is_catalog_store(store):
        raise UnsupportedFeatureError(
            f"{store.uri} belongs to the catalog that manages the table, and the catalog deletes its files;"
            " drop the table by its name, as with DROP TABLE of a connection to the catalog",
            feature="catalogManaged",
        )
    if is_link(store):
        raise UnsupportedFeatureError(
            f"{store.uri} is a symbolic link, and what is behind it may be somebody else's: drop the table at"
            f" {Path(store.uri).resolve()}, or delete the link",
            feature="drop of a symbolic link",
        )
    version, table_id = None, None
    snapshot = _snapshot_or_barrier(store)
    if isinstance(snapshot, Snapshot):
        version, table_id = snapshot.version, snapshot.metadata.id
        ensure_writable(snapshot.protocol, snapshot.metadata, "append")
        FileSystemCommitter(store).ensure_able()
    files: list[str] = []
    log_files: list[str] = []
    folders: list[str] = []
    kept: list[str] = []
    for listing in store.walk():
        prefix = f"{listing.folder}/" if listing.folder else ""
        parts = listing.folder.split("/")
        if LOG_FOLDER in parts[1:]:
            raise UnsupportedFeatureError(
                f"the folder {'/'.join(parts[: parts.index(LOG_FOLDER, 1)])} of {store.uri} is another"
                " table; drop"
                " or move it first",
                feature="drop of a folder that contains tables",
            )
        folders.append(listing.folder)
        kept += [prefix + base for base in listing.others]
        (log_files if parts[0] == LOG_FOLDER else files).extend(prefix + base for base in listing.files)
    return DropPlan(
        store.uri,
        len(files) + len(log_files),
        tuple(sorted(kept)),
        tuple(files),
        tuple(sorted(log_files)),
        tuple(sorted(folders, key=lambda folder: -folder.count("/") - bool(folder))),
        version,
        table_id,
    )


def drop_table(
    store: Store,
    *,
    planned: DropPlan | None = None,
    progress: Callable[[int, int], None] | None = None,
    clock: Clock = system_clock,
) -> DropPlan:
    """Delete a table, or continue an interrupted drop; return what was deleted.

    `progress` is called with the number of files deleted so far and the total. Raises the errors of
    `plan_drop`, `TableNotFoundError` if the table is not the one of the plan `planned`, and `StorageError`
    for a file that cannot be deleted: the table stays unreadable, and the next drop continues.
    """
    plan = plan_drop(store)
    barrier = _commit_barrier(store, planned, clock)
    try:
        return _delete_dropped(store, barrier, progress)
    except TableNotFoundError:
        return plan  # another process has gone on with the drop, and ended it


def _delete_dropped(
    store: Store, barrier: str, progress: Callable[[int, int], None] | None = None
) -> DropPlan:
    """Delete the files of a table that a commit has made unreadable, that commit last."""
    # Listed again: what was written before the barrier is the table's, and nothing can be added any more.
    plan = plan_drop(store)
    if plan.table_id is not None:
        raise TableNotFoundError(f"{store.uri} has another table by now, which stays")
    done = 0
    last = [name for name in plan.log_files if name == barrier]
    for names in (plan.files, [name for name in plan.log_files if name != barrier], last):
        for start in range(0, len(names), _FILES_AT_A_TIME):
            some = names[start : start + _FILES_AT_A_TIME]
            if failures := store.delete_all(some):
                name, error = next(iter(failures.items()))
                raise StorageError(
                    f"{len(failures)} files of {store.uri} cannot be deleted, {name} among them: {error};"
                    " drop the"
                    " table again to go on"
                ) from error
            done += len(some)
            if progress is not None:
                progress(done, plan.num_files)
    for folder in plan.folders:
        store.delete_folder(folder)
    return plan


def delete_abandoned(store: Store) -> None:
    """Delete all files in a folder that is nobody else's; of a link only that.

    Several processes may do this at the same time. Raises the errors of `drop_table` for a folder with a log.
    """
    if delete_link(store):
        return
    if has_versions(list_log(store)):
        with contextlib.suppress(TableNotFoundError):
            drop_table(store)
    _delete_files(store, "")


def finish_drop(store: Store) -> bool:
    """Go on with a drop that was killed; return False, and delete nothing, if none was.

    Only a table that a drop has made unreadable is deleted, and folders with no files. Any other table, and
    files without a log, may be somebody else's, who has written there since.
    """
    if is_link(store):
        return False
    if not has_versions(list_log(store)):
        return _delete_empty(store)
    barrier = _barrier(store)
    if barrier is None:
        return False
    # Another process may go on with the drop too, and end it first.
    with contextlib.suppress(TableNotFoundError):
        _delete_dropped(store, barrier)
    return True


def _delete_empty(store: Store) -> bool:
    """Delete a folder of the file system with nothing in it but folders; return whether it was one."""
    listings = list(store.walk()) if store.is_local else []
    if any(each.files or each.others for each in listings):
        return False
    return [store.delete_folder(each.folder) for each in reversed(listings)][-1:] == [True]


def delete_link(store: Store) -> bool:
    """Delete the link that stands in the place of a folder; return False if that is no link."""
    if not is_link(store):
        return False
    with store.reaching():
        Path(store.uri).unlink()
    return True


def delete_log(store: Store) -> None:
    """Delete what is in the log of a table that is dropped, and the folder of the table if it is empty."""
    _delete_files(store, LOG_FOLDER)
    store.delete_folder("")


def _delete_files(store: Store, folder: str) -> None:
    folders = []
    for listing in store.walk(folder):
        prefix = f"{listing.folder}/" if listing.folder else ""
        folders.append(listing.folder)
        store.delete_all([prefix + base for base in listing.files])
    for folder in reversed(folders):
        store.delete_folder(folder)


def is_link(store: Store) -> bool:
    """Whether a symbolic link stands in the place of a folder."""
    return store.is_local and Path(store.uri).is_symlink()


def _barrier(store: Store) -> str | None:
    """Return the name of the commit that made a table unreadable; None if there is none."""
    commits = [file for file in list_log(store) if file.kind is LogFileKind.COMMIT]
    if not commits:
        return None
    newest = max(commits, key=lambda file: file.version)
    try:
        lines = store.read(newest.name).splitlines()
    except FileNotFoundError:
        return None  # another process has just ended the drop: this file goes last
    for line in lines:
        try:
            action = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        protocol = action.get("protocol") if isinstance(action, dict) else None
        if isinstance(protocol, dict) and DROPPED_FEATURE in (protocol.get("readerFeatures") or ()):
            return newest.name
    return None


def _snapshot_or_barrier(store: Store) -> Snapshot | str:
    """Return the table, or the name of the commit that made it unreadable.

    Raises `TableNotFoundError` if there is none, and the errors of `Snapshot.load`.
    """
    if (barrier := _barrier(store)) is not None:
        return barrier
    try:
        return Snapshot.load(store)
    except DeltaError as error:
        # Another process may have begun to drop the table since, and may even have ended that.
        if (barrier := _barrier(store)) is not None:
            return barrier
        if has_versions(list_log(store)) or isinstance(error, TableNotFoundError):
            raise
        raise TableNotFoundError(f"another process has just dropped {store.uri}") from error


def _is_planned(store: Store, planned: DropPlan, snapshot: Snapshot) -> bool:
    """Whether a plan was made for the table of a snapshot, or for a version that it has replaced since."""
    if snapshot.metadata.id == planned.table_id:
        return True
    if planned.version is None or snapshot.version <= planned.version:
        return False
    try:
        return Snapshot.load(store, planned.version).metadata.id == planned.table_id
    except DeltaError:
        return False


def _commit_barrier(store: Store, planned: DropPlan | None, clock: Clock) -> str:
    """Commit the protocol that nobody supports, unless it is there; return the name of the commit."""
    committer = FileSystemCommitter(store)
    for _ in range(_MAX_TRIES):
        snapshot = _snapshot_or_barrier(store)
        if not isinstance(snapshot, Snapshot):
            return snapshot
        if planned is not None and not _is_planned(store, planned, snapshot):
            raise TableNotFoundError(f"{store.uri} has another table by now, which stays")
        ensure_writable(snapshot.protocol, snapshot.metadata, "append")
        info = CommitInfo(
            timestamp=clock(),
            operation="DROP TABLE",
            operation_parameters={},
            read_version=snapshot.version,
            isolation_level="Serializable",
            is_blind_append=False,
            engine_info=ENGINE_INFO,
            txn_id=str(uuid.uuid4()),
        )
        protocol = Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=(DROPPED_FEATURE,),
            writer_features=(DROPPED_FEATURE,),
        )
        try:
            result = committer.commit(snapshot.version + 1, [info, protocol])
        except (CommitFailedError, StorageError):
            if has_versions(list_log(store)):
                raise
            continue  # another process has ended a drop, as the next try finds
        if isinstance(result, Committed):
            return commit_name(result.version)
    raise CommitFailedError(f"other writers were first at every attempt to drop {store.uri}; try again")
