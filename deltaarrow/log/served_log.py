"""Tables without a readable log: a server gives one version at a time, as in Delta Sharing.

The store of such a table is a `ServedLog` without a log folder. A version is a protocol, metadata and live
files, from which `served_state` makes a `LogState`. The files are requested when they are needed. With a
predicate, the server may leave out files that cannot match.
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
    """The versions of such a table, as its store gives them."""

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
    """Whether the table in a store has no log that can be read, only a server."""
    return isinstance(store, ServedLog)


def served_state(
    store: Store,
    version: int,
    protocol: Protocol,
    metadata: Metadata,
    read_adds: Callable[[], Sequence[dict[str, Any]]],
    narrowed: Callable[[Any], LogState | None] | None = None,
    limited: Callable[[int], LogState | None] | None = None,
) -> LogState:
    """Return a version as the state of a log.

    Args:
        store: the store of the table.
        version: the version.
        protocol: its protocol.
        metadata: its metadata.
        read_adds: returns the live files as bodies of `add` actions; called once, when they are needed.
        narrowed: returns the version without files that cannot match a predicate; None if all are needed.
        limited: returns the version with only some files that together have a number of rows, or more; None
            if it cannot tell.
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
        store,
        segment,
        protocol,
        metadata,
        read_log,
        by_checksum=False,
        is_part=True,
        narrowed=narrowed,
        limited=limited,
    )
