"""Committers, which create a version by putting a commit file that must not exist yet.

An attempt returns a value, `Committed` or `Conflict`; the caller decides with the conflict whether to try
again. Chapter "Delta Log Entries" of the protocol.
"""

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deltaarrow.actions import Action, CommitInfo, render_json_lines
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CommitFailedError, CommitStateUnknownError, StorageError
from deltaarrow.log import LOG_FOLDER, commit_name
from deltaarrow.storage import Store

__all__ = ["Committed", "Conflict", "FileSystemCommitter", "unknown_state"]


_REFUSALS = (errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What a disk answers instead of creating a file; after any other failure it may have created it."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit created the version."""

    version: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer created the version; `data` is its commit file if it was read. Nothing was written."""

    version: int
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class FileSystemCommitter:
    """Commits by putting the commit file if it is absent."""

    store: Store

    def ensure_able(self) -> None:
        """Raise `StorageError` if the store has no put-if-absent."""
        if not self.store.can_put_if_absent:
            raise StorageError(
                f"{self.store.uri} cannot be written to: its store has no proven put-if-absent,"
                " without which two writers could lose each other's commits"
            )

    def commit(
        self, version: int, actions: Sequence[Action], lines: Iterable[memoryview] = ()
    ) -> Committed | Conflict:
        """Try to create `version` from the given actions, which name their transaction in `commitInfo`.

        `lines` are further actions, rendered.

        A put that raises may still have written the file, and a put that a library repeats finds its own
        file. The content decides: a file with exactly these bytes is this commit, and a second attempt would
        commit it twice.

        Raises `CommitStateUnknownError` if the file cannot decide. After any other exception the version was
        not created by this call and will not be.
        """
        name, data, more = commit_name(version), render_json_lines(actions), [*lines]
        if version > 0 and self.store.is_local and self._log_is_deleted(version - 1):
            raise self._deleted(version)  # The put would make the folder anew, and a log without its start.
        try:
            self.store.put_if_absent(name, data, *more)
            return Committed(version)
        except Exception as error:  # libraries of remote stores raise errors of their own
            failure = error
        try:
            present = self.store.read(name)
        except FileNotFoundError:
            # The version existed and is gone: another writer made it, then the log was cleaned up or
            # recreated.
            if isinstance(failure, FileExistsError):
                return Conflict(version)
            # s3fs reports a bucket that is gone without a number.
            is_gone = isinstance(failure, OSError) and failure.errno == errno.ENOENT
            if is_gone or isinstance(failure, FileNotFoundError):
                raise self._deleted(version) from failure
            if self.store.is_local or isinstance(failure, PermissionError):
                raise failure from None
            why = f"{failure}; a request may still be running, so the version may yet be created"
        except Exception as error:
            if self.store.is_local and isinstance(failure, OSError) and failure.errno in _REFUSALS:
                raise failure from None
            why = f"{failure}; the version could not be read afterwards: {error}"
        else:
            if present != b"".join((data, *more)):
                return Conflict(version, present)
            if not (self.store.is_local and isinstance(failure, StorageError)):
                return Committed(version)
            why = str(failure)  # says that the file exists but may not survive a crash
        raise unknown_state(self.store.uri, version, actions, why) from failure

    def _log_is_deleted(self, newest: int) -> bool:
        # The commit of the newest version may be gone where a checkpoint replaces it.
        return not self.store.exists(commit_name(newest)) and not self.store.list_from(LOG_FOLDER)

    def _deleted(self, version: int) -> CommitFailedError:
        return CommitFailedError(
            f"{redacted(self.store.uri)} was deleted while version {version} was written; nothing was"
            " committed"
        )


def unknown_state(uri: str, version: int, actions: Sequence[Action], why: str) -> CommitStateUnknownError:
    """Return the error of a commit of which nobody knows whether it was made."""
    ids = (action.txn_id for action in actions if isinstance(action, CommitInfo))
    transaction_id = next(ids, None) or ""
    return CommitStateUnknownError(
        f"it is not known whether version {version} of {uri} was made: {why}. Look at that version before you"
        " repeat the operation, or it may be applied twice; the version is this commit if its txnId is"
        f" {transaction_id}",
        version=version,
        transaction_id=transaction_id,
    )
