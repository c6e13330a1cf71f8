"""Rows gathered into row groups, partition by partition, in bounded memory.

A row group is written when it is full. The memory of all waiting batches is limited too: at the limit, the
largest unfinished row groups are written as they are, and the remaining rows are copied out of their batches.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa

from deltaarrow.write.selected_rows import RowGroup, Selection

__all__ = ["RowGroups"]

_Key = TypeVar("_Key")

# _MANY waiting parts of fewer than _SMALL_ROWS rows are merged: each part costs memory and time.
_SMALL_ROWS = 4096
_MANY = 256


@dataclass(slots=True)
class _Waiting:
    parts: list[Selection] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    small_at_end: int = 0

    def append(self, part: Selection, size: int) -> None:
        self.parts.append(part)
        self.rows += part.num_rows
        self.bytes += size
        self._count_small(part)
        if self.small_at_end == _MANY:
            self.merge(_MANY)

    def merge(self, last: int) -> None:
        """Copy the last parts into one."""
        merged = Selection(pa.concat_batches([part.read() for part in self.parts[-last:]]))
        self.parts[-last:] = [merged]
        self.small_at_end = 0
        self._count_small(merged)

    def _count_small(self, part: Selection) -> None:
        self.small_at_end = self.small_at_end + 1 if part.num_rows < _SMALL_ROWS else 0


class RowGroups(Generic[_Key]):
    """Rows that wait to be written, by partition key.

    Args:
        max_rows: the most rows in a row group.
        max_bytes: the approximate Arrow bytes of a row group.
        limit_bytes: the most Arrow bytes of all batches that wait.
    """

    def __init__(self, max_rows: int, max_bytes: int, limit_bytes: int) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._limit_bytes = limit_bytes
        self._waiting: dict[_Key, _Waiting] = {}
        self._held = 0
        self.bytes = 0
        """The Arrow bytes of the waiting rows."""

    def __len__(self) -> int:
        """The number of partitions with waiting rows."""
        return len(self._waiting)

    def add(self, parts: Iterable[tuple[_Key, Selection]]) -> Iterator[tuple[_Key, RowGroup]]:
        """Add the parts of a batch, each of at most `max_rows`; yield the row groups that are due."""
        for key, part in parts:
            waiting = self._waiting.get(key)
            if waiting is not None and waiting.rows + part.num_rows > self._max_rows:
                yield key, self._take(key)
            waiting = self._waiting.setdefault(key, _Waiting())
            size = part.nbytes
            waiting.append(part, size)
            self.bytes += size
            self._held += size
            if waiting.rows >= self._max_rows or waiting.bytes >= self._max_bytes:
                yield key, self._take(key)
        if not self.bytes:
            self._held = 0
        if self._held > self._limit_bytes:
            yield from self._make_room()

    def _make_room(self) -> Iterator[tuple[_Key, RowGroup]]:
        # Free most of it at once: freeing less at a time would make smaller row groups.
        for key in sorted(self._waiting, key=lambda key: -self._waiting[key].bytes):
            if self.bytes <= self._limit_bytes // 4:
                break
            yield key, self._take(key)
        # A few waiting rows would keep a whole batch in memory.
        for waiting in self._waiting.values():
            waiting.merge(len(waiting.parts))
        self._held = self.bytes

    def drain(self) -> Iterator[tuple[_Key, RowGroup]]:
        """Yield all waiting rows."""
        for key in list(self._waiting):
            yield key, self._take(key)

    def _take(self, key: _Key) -> RowGroup:
        waiting = self._waiting.pop(key)
        self.bytes -= waiting.bytes
        return RowGroup(waiting.parts, waiting.rows, waiting.bytes)
