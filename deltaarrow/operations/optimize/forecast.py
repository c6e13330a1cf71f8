"""What a compaction would do, counted from columns: for reports on tables of very many files.

The rules are those of `deltaarrow.operations.optimize.bins`, without an object for every file. A million of
them take longer than all else in a report.
"""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.arrays import numbers_of
from deltaarrow.operations.optimize.bins import next_fit
from deltaarrow.operations.optimize.compaction import CompactionRules, target_size_of
from deltaarrow.snapshot import Snapshot

__all__ = ["Forecast", "forecast_compaction", "partition_numbers"]


class Forecast(NamedTuple):
    """How many files would be rewritten, their bytes, and how many files would take their place."""

    num_files: int
    num_bytes: int
    num_new_files: int


def forecast_compaction(
    snapshot: Snapshot,
    sizes: np.ndarray,
    records: np.ndarray,
    deleted: np.ndarray,
    partitions: np.ndarray,
) -> Forecast:
    """Return what `plan_compaction` plans by default for all files of a table.

    Args:
        snapshot: the table.
        sizes: the bytes of each file.
        records: the rows of each file, deleted rows included; 0 where that is not known.
        deleted: the deleted rows of each file.
        partitions: the number of the partition of each file, from `partition_numbers`.
    """
    rules = CompactionRules()
    target = target_size_of(snapshot, rules.target_size)
    ratios = np.divide(deleted, records, out=np.full(len(sizes), np.inf), where=records > 0)
    is_sparse = (deleted > 0) & (ratios > rules.max_deleted_rows_ratio)
    places = np.flatnonzero((sizes < (rules.min_file_size or target)) | is_sparse)
    groups = partitions[places]
    order = places[np.lexsort((places, sizes[places], groups))]
    ends = np.r_[np.flatnonzero(np.diff(np.sort(groups))) + 1, len(order)].tolist()
    files = total = bins = 0
    for first, last in itertools.pairwise([0, *ends]):
        members = order[first:last]
        held, alone = sizes[members].tolist(), is_sparse[members].tolist()
        for start, stop in next_fit(held, target):
            if stop - start > 1 or alone[start]:
                files, total, bins = files + stop - start, total + sum(held[start:stop]), bins + 1
    return Forecast(files, total, bins)


def partition_numbers(partitions: Mapping[str, pa.ChunkedArray], length: int) -> np.ndarray:
    """Return a number for each file, from 0, the same for files of one partition.

    Args:
        partitions: the values of the partition columns, as texts of the log, by column.
        length: the number of files.
    """
    groups = np.zeros(length, np.int64)
    for texts in partitions.values():
        encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = numbers_of(encoded.indices).astype(np.int64)
        # Numbers stay below the count of files, whatever the number of columns.
        groups = np.unique(groups * max(1, len(encoded.dictionary)) + numbers, return_inverse=True)[1]
    return groups.reshape(-1)
