"""Choice of columns that get a Parquet dictionary, from the first values of a file.

If most values differ, the Parquet writer fills a dictionary to its limit and drops it again in every row
group. That takes a third of the time for a table with keys. The choice affects only time and size.
"""

from collections.abc import Collection

import pyarrow as pa

from deltaarrow.columnar.kernels import pc

__all__ = ["FEW_ROWS", "columns_without_dictionary"]

FEW_ROWS = 32
"""In a file of at most as many rows, a dictionary takes more time and bytes than it saves."""

_SAMPLE_ROWS = 16_384
_FEW_ROWS = 4096
_DISTINCT_SHARE = 0.75
"""Share of distinct values in the sample from which a dictionary saves too little."""


def columns_without_dictionary(rows: pa.Table, columns: Collection[str]) -> set[str]:
    """Return the columns in which nearly every row has its own value.

    Rows are sampled from all over the table, since neighbours are often alike. Nested columns, columns
    without values and very short tables are never returned.

    >>> rows = pa.table({"id": range(100_000), "zero": [0] * 100_000})
    >>> columns_without_dictionary(rows, rows.column_names)
    {'id'}
    """
    if rows.num_rows < _FEW_ROWS:
        return set()
    places = pa.arange(0, rows.num_rows, max(1, rows.num_rows // _SAMPLE_ROWS))
    flat = [name for name in columns if not pa.types.is_nested(rows.schema.field(name).type)]
    sample = rows.select(flat).take(places)
    return {name for name in flat if _are_distinct(sample.column(name))}


def _are_distinct(values: pa.ChunkedArray) -> bool:
    present: int = len(values) - values.null_count
    distinct: int = pc.count_distinct(values, mode="only_valid").as_py()
    return present > 0 and distinct > _DISTINCT_SHARE * present
