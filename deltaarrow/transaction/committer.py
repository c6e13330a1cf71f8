"""Making a version: the put of a commit file that exists at most once.

A commit is tried, and what comes of it is a value: `Committed` or `Conflict`. Whoever tries again
decides so with the conflict in hand. Chapter "Delta Log Entries" of the protocol.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deltaarrow.actions import Action, CommitInfo, render_json_lines
from deltaarrow.errors import CommitStateUnknownError, StorageError
from deltaarrow.log import commit_name
from deltaarrow.storage import Store

__all__ = ["Committed", "Conflict", "FileSystemCommitter"]


@dataclass(frozen=True, slots=True)
class Committed:
    """The version is made."""

    version: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer has made the version, of these bytes if they were read; nothing was written."""

    version: int
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class FileSystemCommitter:
    """Commits by putting the commit file if it is absent."""

    store: Store

    def ensure_able(self) -> None:
        """Raise `StorageError` when the store cannot put a file only if it is absent."""
        if not self.store.can_put_if_absent:
            raise StorageError(
                f"{self.store.uri} cannot be written to: its store has no proven put-if-absent,"
                " without which two writers could lose each other's commits"
            )

    def commit(self, version: int, actions: Sequence[Action]) -> Committed | Conflict:
        """Try to make `version` of the given actions, which name their transaction in `commitInfo`.

        A put that fails may have taken place all the same, and one that a library repeats finds its own file.
        The file tells: one with these very bytes is this commit, and to try it again would double it.

        Raises `CommitStateUnknownError` where the file does not tell. After any other exception the version
        is not made, and this call will not make it.
        """
        name, data = commit_name(version), render_json_lines(actions)
        try:
            self.store.put_if_absent(name, data)
            return Committed(version)
        except Exception as error:  # libraries of remote stores raise errors of their own
            failure = error
        try:
            present = self.store.read(name)
        except FileNotFoundError:
            # A version that was there, and is gone, was another's: its log was cleaned up, or made anew.
            if isinstance(failure, FileExistsError):
                return Conflict(version)
            if self.store.is_local or isinstance(failure, PermissionError | FileNotFoundError):
                raise failure from None
            why = f"{failure}; a request may still be under way, so the version may yet be made"
        except Exception as error:
            why = f"{failure}; the version could not be read afterwards: {error}"
        else:
            if present != data:
                return Conflict(version, present)
            if not (self.store.is_local and isinstance(failure, StorageError)):
                return Committed(version)
            why = str(failure)  # which says that the file is there, but may not last
        ids = (action.txn_id for action in actions if isinstance(action, CommitInfo))
        raise _unknown(self.store.uri, version, next(ids, None) or "", why) from failure


def _unknown(uri: str, version: int, transaction_id: str, why: str) -> CommitStateUnknownError:
    return CommitStateUnknownError(
        f"it is not known whether version {version} of {uri} was made: {why}. Look at that version before you"
        " repeat the statement, or its work may be done twice; it is this commit if its txnId is"
        f" {transaction_id}",
        version=version,
        transaction_id=transaction_id,
    )
