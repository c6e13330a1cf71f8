"""The size limit of one batch of a stream: `BatchLimit`."""

import math
from collections.abc import Sequence

__all__ = ["BatchLimit"]


class BatchLimit:
    """Files and bytes that a batch may still take, counted as delta-spark counts them.

    The limit is soft: a file is taken while there is any room, so a batch always takes one file. An
    indivisible group of files is taken whole by an empty batch.
    """

    def __init__(self, files: int | None = None, size: int | None = None) -> None:
        self._files = math.inf if files is None else files
        self._size = math.inf if size is None else size
        self._is_used = False

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another file."""
        return self._files <= 0 or self._size <= 0

    def take(self, sizes: Sequence[int], *, divisible: bool) -> int:
        """Return how many of the next files, given by their sizes in bytes, the batch takes."""
        if not divisible:
            fits = len(sizes) <= self._files and sum(sizes) <= self._size
            return self._taken(sizes) if fits or not self._is_used else 0
        count = 0
        for size in sizes:
            if self.is_full:
                break
            count += self._taken([size])
        return count

    def _taken(self, sizes: Sequence[int]) -> int:
        self._is_used = self._is_used or bool(sizes)
        self._files -= len(sizes)
        self._size -= sum(sizes)
        return len(sizes)
