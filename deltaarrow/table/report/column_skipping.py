"""The effect of each column's bounds: the share of files that a query for one value opens.

The value is one that some file has as its least or greatest, every file alike. A file without bounds is
opened by every query, unless its statistics say that all values are NULL. Of a partition column, the value is
that of a file. Very many files are sampled.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import integers, numbers_of
from deltaarrow.schema import render_path
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import parse_statistics, statistics_columns

__all__ = ["ColumnSkipping", "measure_skipping"]

_SAMPLE = 20_000
_MOST_COLUMNS = 64


@dataclass(frozen=True)
class ColumnSkipping:
    """The share of files that a query for one value of a column opens, between 0 and 1.

    `bounded` is the share of files with bounds of the column; `is_partition` marks a partition column.
    """

    name: str
    opened: float
    bounded: float
    is_partition: bool


def measure_skipping(snapshot: Snapshot, partitions: Mapping[str, pa.ChunkedArray]) -> list[ColumnSkipping]:
    """Return the shares for partition columns and, in schema order, for columns with bounds.

    `partitions` has the strings of the partition columns, by column.
    """
    found = [
        ColumnSkipping(render_path([name]), _same(texts), 1.0, True) for name, texts in partitions.items()
    ]
    stats = snapshot.files(columns=["stats"]).column("stats")
    if len(stats) > _SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(len(stats), _SAMPLE, replace=False))
        stats = stats.take(integers(chosen))
    given = (snapshot.schema, snapshot.partition_columns, snapshot.configuration)
    logical = {
        physical.path: each.path
        for physical, each in zip(
            statistics_columns(*given, snapshot.mapping_mode), statistics_columns(*given), strict=True
        )
        if physical.has_bounds
    }
    if not logical or not len(stats):
        return found
    parsed = parse_statistics(stats, snapshot.schema, snapshot.mapping_mode, snapshot.partition_columns)
    records = parsed.column("numRecords")
    for physical, name in list(logical.items())[:_MOST_COLUMNS]:
        least, greatest, nulls = (
            _member(parsed, (key, *physical)) for key in ("minValues", "maxValues", "nullCount")
        )
        if least is None or greatest is None:
            continue
        is_null = np.zeros(len(stats), np.bool_)
        if nulls is not None:
            is_null = pc.fill_null(pc.equal(nulls, records), False).to_numpy()
        opened, bounded = _opened(least, greatest, is_null)
        found.append(ColumnSkipping(render_path(name), opened, bounded, False))
    return found


def _member(parsed: pa.Table, path: tuple[str, ...]) -> pa.ChunkedArray | None:
    """Return a value of the statistics; None where they do not have it, as for names that differ in case."""
    if path[0] not in parsed.column_names:
        return None
    column = parsed.column(path[0])
    for name in path[1:]:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        column = pc.struct_field(column, [column.type.get_field_index(name)])
    return column


def _opened(least: pa.ChunkedArray, greatest: pa.ChunkedArray, is_null: np.ndarray) -> tuple[float, float]:
    """Return the shares of files that are opened on average, and that have bounds."""
    total = len(least)
    has_bounds = pc.and_(pc.is_valid(least), pc.is_valid(greatest)).to_numpy()
    unknown = int((~has_bounds & ~is_null).sum())
    places = integers(np.flatnonzero(has_bounds))
    if not len(places):
        return unknown / total, 0.0
    values = pa.chunked_array([*least.take(places).chunks, *greatest.take(places).chunks], least.type)
    ranks = numbers_of(pc.rank(values.combine_chunks(), tiebreaker="dense")).astype(np.int64)
    low, high = ranks[: len(places)], ranks[len(places) :]
    # Bounds in the wrong order match nothing.
    low, high = np.sort(low), np.sort(np.maximum(low, high))
    begun = np.searchsorted(low, ranks, side="right")
    ended = np.searchsorted(high, ranks, side="left")
    return (float(np.mean(begun - ended)) + unknown) / total, float(has_bounds.mean())


def _same(texts: pa.ChunkedArray) -> float:
    """Return the chance that two files have the same value."""
    counts = numbers_of(pc.value_counts(texts.combine_chunks()).field("counts")).astype(np.float64)
    return float(np.sum((counts / counts.sum()) ** 2)) if len(counts) else 0.0
