"""A table whose log only a server sees, which tells one version at a time: Delta Sharing.

The store of such a table is a `ServedLog`. It has no log folder: a version is a protocol, metadata and live
files, which `served_state` makes into a `LogState`. The files are asked for when they are needed, and with a
predicate perhaps only those that may match it.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from deltaarrow.actions import FileActionKey, Metadata, Protocol
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import CheckpointHead
from deltaarrow.log.segment import LogSegment
from deltaarrow.log.state import LogState
from deltaarrow.log.tail import LogTail
from deltaarrow.storage import Store

__all__ = ["ServedLog", "is_served", "served_state"]


class ServedLog(abc.ABC):
    """What the store of such a table answers about its versions."""

    @abc.abstractmethod
    def newest_version(self) -> int:
        """Return the newest version; `TableNotFoundError` if there is no such table."""

    @abc.abstractmethod
    def version_at(self, timestamp_ms: int) -> int:
        """Return the newest version at a time in milliseconds since the epoch, or before.

        Raises `VersionNotFoundError` if the server does not give it.
        """

    @abc.abstractmethod
    def open_version(self, version: int | None) -> LogState:
        """Return a version, by default the newest.

        Raises `TableNotFoundError` and `VersionNotFoundError`.
        """


def is_served(store: object) -> TypeGuard[ServedLog]:
    """Whether only a server sees the log of the table in a store."""
    return isinstance(store, ServedLog)


def served_state(
    store: Store,
    version: int,
    protocol: Protocol,
    metadata: Metadata,
    read_adds: Callable[[], Sequence[dict[str, Any]]],
    narrowed: Callable[[Any], LogState | None] | None = None,
) -> LogState:
    """Return a version as a server tells it.

    Args:
        store: the store of the table.
        version: the version.
        protocol: its protocol.
        metadata: its metadata.
        read_adds: returns the live files as bodies of `add` actions; called once, when they are needed.
        narrowed: returns the version with only the files that may match a predicate; None if it cannot tell.
    """
    segment = LogSegment(version, None, (), None)

    def read_log() -> tuple[LogSegment, CheckpointHead, LogTail]:
        adds: dict[FileActionKey, dict[str, Any]] = {}
        for add in read_adds():
            if adds.setdefault(FileActionKey.from_json(add), add) is not add:
                raise CorruptLogError(f"version {version} of {store.uri} has the file {add['path']} twice")
        return segment, CheckpointHead(), LogTail(protocol, metadata, adds=adds)

    # A part is never listed again: there is no log to list.
    return LogState(
        store, segment, protocol, metadata, read_log, by_checksum=False, is_part=True, narrowed=narrowed
    )
