"""Bins: which files are rewritten together into one, by the rules of Spark's OPTIMIZE.

A candidate is smaller than a minimum, or too many of its rows are deleted. The candidates of a partition are
packed by ascending size into bins of at most the target size: the first file that does not fit closes the bin
(next-fit). A bin of one file gains nothing and is dropped, unless rows of the file are to go for good.

All of it is decided on columns, `FileFigures`: an object for each of a million files would take longer than
all else in a plan.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import integers, numbers_of, scalar_of
from deltaarrow.scan import ScanPlan, credible_row_count

__all__ = ["Bin", "FileFigures", "next_fit", "number_partitions", "pack", "partition_numbers"]


@dataclass(frozen=True)
class Bin:
    """Files of one partition, by their places in a plan, ascending; `size` is their bytes together."""

    places: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class FileFigures:
    """The figures of files that decide which are rewritten together, by their places in a plan.

    Attributes:
        sizes: the bytes of each file.
        records: the rows of each file with deleted rows, these included; 0 where that is not known.
        deleted: the deleted rows of each file.
        partitions: the number of the partition of each file, in the order of their first files.
    """

    sizes: np.ndarray
    records: np.ndarray
    deleted: np.ndarray
    partitions: np.ndarray

    @classmethod
    def of(cls, plan: ScanPlan) -> "FileFigures":
        """Return the figures of the files of a plan."""
        files = plan.files
        cardinalities = pc.struct_field(files.column("deletion_vector"), "cardinality")
        deleted = _counts(cardinalities)
        records = np.zeros(files.num_rows, np.int64)
        if len(marked := np.flatnonzero(deleted)):
            stats = files.column("stats").take(integers(marked)).to_pylist()
            records[marked] = [credible_row_count(text) or 0 for text in stats]
        return cls(_counts(files.column("size")), records, deleted, partition_numbers(plan))

    def have_too_many_deleted_rows(self, most: float) -> np.ndarray:
        """Tell of each file whether more than a part of its rows is deleted; unknown counts as too many."""
        ratios = np.full(len(self.sizes), np.inf)
        np.divide(self.deleted, self.records, out=ratios, where=self.records > 0)
        return (self.deleted > 0) & (ratios > most)

    def by_partition(self) -> list[list[int]]:
        """Return the places of the files of each partition."""
        order = np.argsort(self.partitions, kind="stable")
        ends = np.flatnonzero(np.diff(self.partitions[order])) + 1
        return [places.tolist() for places in np.split(order, ends)] if len(order) else []

    def bin(self, places: Iterable[int]) -> Bin:
        """Return the bin of some of the files."""
        # Rows that were written one after the other stay so.
        ordered = tuple(sorted(places))
        return Bin(ordered, sum(self.sizes[list(ordered)].tolist()))


def _counts(column: pa.ChunkedArray) -> np.ndarray:
    return numbers_of(pc.fill_null(column, 0)).astype(np.int64)


def partition_numbers(plan: ScanPlan) -> np.ndarray:
    """Return the number of the partition of each file of a plan, as `number_partitions`."""
    names = [plan.layout.physical_name(each) for each in plan.layout.partition_fields]
    values = plan.files.column("partition_values")
    # A value that is not in the log is NULL.
    texts = (pc.map_lookup(values, scalar_of(name, pa.string()), "first") for name in names)
    return number_partitions(texts, plan.files.num_rows)


def number_partitions(texts: Iterable[pa.ChunkedArray], length: int) -> np.ndarray:
    """Return a number for each file, the same for files of one partition, in the order of their first files.

    Args:
        texts: the values of each partition column, as texts of the log.
        length: the number of files.
    """
    groups = np.zeros(length, np.int64)
    for column in texts:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = numbers_of(encoded.indices).astype(np.int64)
        _, first, groups = np.unique(
            groups * max(1, len(encoded.dictionary)) + numbers, return_index=True, return_inverse=True
        )
        # Numbers stay below the count of files, whatever the number of columns.
        groups = np.argsort(np.argsort(first))[groups.reshape(-1)]
    return groups


def pack(
    files: FileFigures, target_size: int, *, are_candidates: np.ndarray, are_worth_alone: np.ndarray
) -> list[Bin]:
    """Return the bins of files, partition by partition in the order of their first files.

    Args:
        files: the files.
        target_size: what the files of a bin come to at most, in bytes; a larger file has a bin to itself.
        are_candidates: which files are to be rewritten.
        are_worth_alone: which of them also where there is no other one to join them with.
    """
    places = np.flatnonzero(are_candidates)
    order = places[np.lexsort((places, files.sizes[places], files.partitions[places]))]
    ends = np.flatnonzero(np.diff(files.partitions[order])) + 1
    listed, sizes, alone = order.tolist(), files.sizes[order].tolist(), are_worth_alone[order].tolist()
    found = []
    for begin, end in itertools.pairwise([0, *ends.tolist(), len(listed)]):
        for first, last in next_fit(sizes[begin:end], target_size):
            start, stop = begin + first, begin + last
            if stop - start > 1 or alone[start]:
                found.append(Bin(tuple(sorted(listed[start:stop])), sum(sizes[start:stop])))
    return found


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
