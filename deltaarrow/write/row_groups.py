"""Rows gathered into row groups, partition by partition, in bounded memory.

A row group is due when it is full. Beyond that the rows that wait are limited in all: at the limit
the largest beginnings are handed out as they are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa

__all__ = ["RowGroups"]

_Key = TypeVar("_Key")

# Batches smaller than this are merged once so many of them wait: each costs memory and time of its own.
_SMALL_ROWS = 4096
_MANY = 256


@dataclass(slots=True)
class _Waiting:
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    small_at_end: int = 0

    def append(self, batch: pa.RecordBatch, size: int) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += size
        self._count_small(batch)
        if self.small_at_end == _MANY:
            merged = pa.concat_batches(self.batches[-_MANY:])
            self.batches[-_MANY:] = [merged]
            self.small_at_end = 0
            self._count_small(merged)

    def _count_small(self, batch: pa.RecordBatch) -> None:
        self.small_at_end = self.small_at_end + 1 if batch.num_rows < _SMALL_ROWS else 0


class RowGroups(Generic[_Key]):
    """What waits to be written, by partition key.

    Args:
        max_rows: rows in a row group, at most.
        max_bytes: Arrow bytes in a row group, about.
        limit_bytes: Arrow bytes that may wait in all.
    """

    def __init__(self, max_rows: int, max_bytes: int, limit_bytes: int) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._limit_bytes = limit_bytes
        self._waiting: dict[_Key, _Waiting] = {}
        self.bytes = 0
        """How much waits, in Arrow bytes."""

    def add(self, parts: Iterable[tuple[_Key, pa.RecordBatch]]) -> Iterator[tuple[_Key, pa.Table]]:
        """Take in the parts of a batch, each of no more than `max_rows`; yield what is due."""
        for key, batch in parts:
            waiting = self._waiting.get(key)
            if waiting is not None and waiting.rows + batch.num_rows > self._max_rows:
                yield key, self._take(key)
            waiting = self._waiting.setdefault(key, _Waiting())
            size = batch.nbytes
            waiting.append(batch, size)
            self.bytes += size
            if waiting.rows >= self._max_rows or waiting.bytes >= self._max_bytes:
                yield key, self._take(key)
        if self.bytes > self._limit_bytes:
            # Down to the half at once: the fewer at a time, the smaller they would be.
            for key in sorted(self._waiting, key=lambda key: -self._waiting[key].bytes):
                if self.bytes <= self._limit_bytes // 2:
                    break
                yield key, self._take(key)

    def drain(self) -> Iterator[tuple[_Key, pa.Table]]:
        """Yield all that waits."""
        for key in list(self._waiting):
            yield key, self._take(key)

    def _take(self, key: _Key) -> pa.Table:
        waiting = self._waiting.pop(key)
        self.bytes -= waiting.bytes
        return pa.Table.from_batches(waiting.batches)
