"""Making a version: the put of a commit file that exists at most once.

A commit is tried, and what comes of it is a value: `Committed` or `Conflict`. Whoever tries again
decides so with the conflict in hand. Chapter "Delta Log Entries" of the protocol.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from deltaarrow.actions import Action, render_json_lines
from deltaarrow.errors import StorageError
from deltaarrow.log import commit_name
from deltaarrow.storage import Store

__all__ = ["Committed", "Conflict", "FileSystemCommitter"]


@dataclass(frozen=True, slots=True)
class Committed:
    """The version is made."""

    version: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer has made the version; nothing was written."""

    version: int


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
        """Try to make `version` of the given actions.

        A put that fails may have taken place all the same. The file tells: a commit names its own
        transaction, so one with these very bytes is this one, and to try it again would double it.
        """
        name, data = commit_name(version), render_json_lines(actions)
        try:
            self.store.put_if_absent(name, data)
        except FileExistsError:
            return Committed(version) if self._holds(name, data) else Conflict(version)
        except StorageError:
            raise
        except Exception:
            # Libraries of remote stores raise errors of their own. The look may fail like the put did.
            with contextlib.suppress(Exception):
                if self._holds(name, data):
                    return Committed(version)
            raise
        return Committed(version)

    def _holds(self, name: str, data: bytes) -> bool:
        try:
            return self.store.read(name) == data
        except FileNotFoundError:
            return False
