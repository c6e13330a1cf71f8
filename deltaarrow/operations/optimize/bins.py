"""Bins: which files are rewritten together into one, by the rules of Spark's OPTIMIZE.

A candidate is smaller than a minimum, or too many of its rows are deleted. The candidates of a partition are
packed by ascending size into bins of at most the target size: the first file that does not fit closes the bin
(next-fit). A bin of one file gains nothing and is dropped, unless rows of the file are to go for good.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from deltaarrow.scan import FileTask

__all__ = ["Bin", "by_partition", "has_too_many_deleted_rows", "next_fit", "pack"]


@dataclass(frozen=True)
class Bin:
    """Files of one partition, by their places in a plan, ascending; `size` is their bytes together."""

    places: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, tasks: Sequence[FileTask], places: Iterable[int]) -> "Bin":
        """Return the bin of some of the files of a plan, by their places."""
        # Rows that were written one after the other stay so.
        ordered = tuple(sorted(places))
        return cls(ordered, sum(tasks[place].size for place in ordered))


def by_partition(tasks: Sequence[FileTask], places: Iterable[int]) -> list[list[int]]:
    """Group files by their partition, in the order of the first file of each."""
    partitions: dict[frozenset[tuple[str, str | None]], list[int]] = {}
    for place in places:
        partitions.setdefault(frozenset(tasks[place].partition_values.items()), []).append(place)
    return list(partitions.values())


def has_too_many_deleted_rows(task: FileTask, most: float) -> bool:
    """Whether more than a part of a file's rows is deleted; unknown counts as too many."""
    vector = task.deletion_vector
    if vector is None or not vector.cardinality:
        return False
    return not task.num_records or vector.cardinality / task.num_records > most


def pack(
    tasks: Sequence[FileTask],
    target_size: int,
    *,
    is_candidate: Callable[[FileTask], bool],
    is_worth_alone: Callable[[FileTask], bool],
) -> list[Bin]:
    """Return the bins of files, partition by partition in the order of their first files.

    Args:
        tasks: the files.
        target_size: what the files of a bin come to at most, in bytes; a larger file has a bin to itself.
        is_candidate: which files are to be rewritten.
        is_worth_alone: which of them also where there is no other one to join them with.
    """
    candidates = (place for place, task in enumerate(tasks) if is_candidate(task))
    partitions = by_partition(tasks, candidates)
    found = (each for places in partitions for each in _next_fit(tasks, places, target_size))
    return [each for each in found if len(each.places) > 1 or is_worth_alone(tasks[each.places[0]])]


def _next_fit(tasks: Sequence[FileTask], places: Iterable[int], target_size: int) -> list[Bin]:
    ordered = sorted(places, key=lambda place: (tasks[place].size, place))
    found = next_fit([tasks[place].size for place in ordered], target_size)
    return [Bin.of(tasks, ordered[start:stop]) for start, stop in found]


def next_fit(sizes: Sequence[int], target_size: int) -> Iterator[tuple[int, int]]:
    """Yield where each bin of files begins and ends, given their ascending sizes.

    >>> [*next_fit([1, 2, 3, 9], 5)]
    [(0, 2), (2, 3), (3, 4)]
    """
    start = filled = 0
    for place, size in enumerate(sizes):
        if place > start and filled + size > target_size:
            yield start, place
            start, filled = place, 0
        filled += size
    if start < len(sizes):
        yield start, len(sizes)
