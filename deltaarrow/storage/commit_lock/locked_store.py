"""`LockedStore`: a folder on S3 whose commits take a lock in DynamoDB, as Spark's S3DynamoDBLogStore does.

A commit of version N has four steps, the same for every writer:

1. The commit is written to ``_delta_log/.tmp/N.json.<uuid>``.
2. An entry for N, which names that file, is put into DynamoDB on the condition that there is none. The
   writer whose put succeeds has made version N.
3. The file is copied to ``_delta_log/N.json``.
4. The entry is marked as complete, with a time from which DynamoDB may delete it.

A writer may stop between two steps. After step 2 its commit is made; the next process that lists the log or
commits does the remaining steps. On a server that honours conditional puts, step 3 is a conditional put and
does not overwrite the commit of a writer without the lock.
"""

import contextlib
import re
import uuid
from collections.abc import Mapping
from typing import Any

from deltaarrow.errors import CorruptLogError, StorageError
from deltaarrow.runtime.clock import system_clock
from deltaarrow.storage.commit_lock.commit_entries import CommitEntry, EntryTable
from deltaarrow.storage.commit_lock.lock_settings import LockSettings, lock_settings
from deltaarrow.storage.fsspec_store import FsspecStore
from deltaarrow.storage.paths import scheme_of
from deltaarrow.storage.store import FileEntry

__all__ = ["LockedStore", "locked_store"]

_LOG = "_delta_log"
_COMMIT = re.compile(rf"{_LOG}/([0-9]{{20}}\.json)")
_ATTEMPTS = 4
_OTHER_SCHEMES = ("s3", "s3a")


class LockedStore(FsspecStore):
    """A folder on S3 with the lock of `lock_settings`, which its storage options name explicitly."""

    def __init__(self, uri: str, storage_options: Mapping[str, Any], settings: LockSettings) -> None:
        super().__init__(uri, _with_lock(storage_options, settings))
        _, _, place = self.uri.partition("://")
        # Hadoop writes the root of a bucket with a slash.
        place = place if "/" in place else f"{place}/"
        self._entries = EntryTable(settings, f"{settings.scheme}://{place}")
        others = (scheme for scheme in _OTHER_SCHEMES if scheme != settings.scheme)
        self._entries_of_others = [EntryTable(settings, f"{scheme}://{place}") for scheme in others]
        self._settings = settings
        self._has_lock = False

    def __reduce__(self) -> tuple[Any, ...]:
        return locked_store, (self.uri, self.storage_options)

    @property
    def can_put_if_absent(self) -> bool:
        """Return True; raises `StorageError` if the lock is unreachable, or other writers use another one."""
        if not self._has_lock:
            newest = self._entries.newest()
            self._ensure_one_path("" if newest is None else newest.file_name)
            self._has_lock = True
        return True

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files of a folder. For the log, the newest commit is completed first."""
        if folder.rstrip("/") == _LOG:
            newest = self._entries.newest()
            if newest is not None and not newest.is_complete:
                self._finish(newest)
        return super().list_from(folder, start)

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file, a commit under the lock, or raise `FileExistsError`.

        Raises `StorageError` for another file if the server does not honour conditional puts.
        """
        commit = _COMMIT.fullmatch(self.location(name).removeprefix(f"{self.uri}/"))
        if commit is not None:
            self._ensure_writable()
            self._commit(commit[1], b"".join((data, *more)))
        elif self.honours_conditions:
            super().put_if_absent(name, data, *more)
        else:
            raise StorageError(
                f"cannot create {name!r} in {self.uri}: the server does not honour conditional puts, and the"
                " lock covers commits only"
            )

    # --- the steps of a commit --------------------------------------------------------------------

    def _commit(self, file_name: str, data: bytes) -> None:
        version = int(file_name.removesuffix(".json"))
        previous = f"{max(version - 1, 0):020}.json"
        self._ensure_one_path(previous)
        entries = self._entries.between(previous, file_name)
        for entry in entries.values():
            if not entry.is_complete:
                self._finish(entry)
        name = f"{_LOG}/{file_name}"
        if self.exists(name):
            raise FileExistsError(name)
        if file_name in entries:
            raise StorageError(
                f"the table {self._settings.table!r} in DynamoDB has an entry of version {version} of"
                f" {self._entries.path}, and the log has no such version; if the table was deleted, delete"
                " its entries there too"
            )
        temporary = f".tmp/{file_name}.{uuid.uuid4()}"
        self.write(f"{_LOG}/{temporary}", data)
        held = self._taken(file_name, temporary)
        if held.temporary_path != temporary:
            if not held.is_complete:
                self._finish(held)
            self._discard(temporary)
            raise FileExistsError(name)
        if not self._is_made(held, data):
            raise FileExistsError(name)

    def _ensure_one_path(self, version: str) -> None:
        for others in self._entries_of_others:
            newest = others.newest()
            if newest is not None and newest.file_name >= version:
                raise StorageError(
                    f"cannot write to {self._entries.path}: other writers lock it as {others.path}, which is"
                    " another lock; open it by the scheme that they use, or give it as the option"
                    " delta_dynamo_scheme"
                )

    def _taken(self, file_name: str, temporary: str) -> CommitEntry:
        """The entry of a version after an attempt to put the entry of this commit.

        An exception means that the outcome is unknown, because the request may still arrive. The file of the
        commit then stays, because an entry may name it.
        """
        try:
            return self._entries.put_new(file_name, temporary)
        except StorageError:
            held = self._entries.between(file_name, file_name).get(file_name)
            if held is None:
                raise
            return held

    def _is_made(self, entry: CommitEntry, data: bytes) -> bool:
        """Finish a commit of this store; False if a writer without the lock has put another in its place.

        The next reader or writer repeats a step that fails: the entry exists, so the commit is made.
        """
        name, is_ours, failure = f"{_LOG}/{entry.file_name}", False, None
        for _ in range(_ATTEMPTS):
            is_there = False
            try:
                if not is_ours:
                    is_there = not self._put_commit(entry, data)
                    is_ours = not is_there or self.read(name) == data
                self._entries.complete(entry, system_clock() // 1000)
            except Exception as error:
                failure = error
                continue
            self._discard(entry.temporary_path)
            return is_ours
        if is_there and not is_ours and failure is not None:
            raise failure
        return True

    def _finish(self, entry: CommitEntry) -> None:
        """Do the remaining steps for an entry."""
        self._put_commit(entry, None)
        self._entries.complete(entry, system_clock() // 1000)

    def _put_commit(self, entry: CommitEntry, data: bytes | None) -> bool:
        """Put the commit file of an entry; False if it exists. `data` is its content if that is known."""
        name = f"{_LOG}/{entry.file_name}"
        if (data is None or not self.honours_conditions) and self.exists(name):
            return False
        if data is None:
            try:
                data = self.read(f"{_LOG}/{entry.temporary_path}")
            except FileNotFoundError:
                if self.exists(name):  # another process has finished the commit and deleted the file
                    return False
                raise CorruptLogError(
                    f"the table {self._settings.table!r} in DynamoDB says that {entry.temporary_path} in the"
                    f" log of {self._entries.path} is the commit {entry.file_name}, and neither file is there"
                ) from None
        filesystem, path = self.fsspec_filesystem(), self.arrow_path(name)
        put = self.service.put_if_absent if self.honours_conditions else self.service.write
        try:
            with self.reaching(is_put=True):
                put(filesystem, path, data)
        except FileExistsError:
            return False
        return True

    def _discard(self, temporary: str) -> None:
        # A file that remains is harmless; raising here would hide the result of the commit.
        with contextlib.suppress(Exception):
            self.delete(f"{_LOG}/{temporary}")


def locked_store(uri: str, storage_options: Mapping[str, Any] | None) -> FsspecStore | None:
    """Return the store of a location on S3 with the lock that the options ask for; None without a lock."""
    settings = lock_settings(storage_options or {}, (scheme_of(uri) or "").lower())
    return None if settings is None else LockedStore(uri, storage_options or {}, settings)


def _with_lock(storage_options: Mapping[str, Any], settings: LockSettings) -> dict[str, Any]:
    """Options that name the lock explicitly, for processes with other environment variables."""
    names = ("s3_locking_provider", "delta_dynamo_", "io.delta.storage.")
    kept = {
        key: value
        for key, value in storage_options.items()
        if not any(name in key.lower() for name in names) or key.lower().endswith("ddb.region")
    }
    return kept | settings.options
