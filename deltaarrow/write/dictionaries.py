"""Which columns of a data file are worth a dictionary, judged by the values that it begins with.

Where most values differ, the Parquet writer builds a dictionary up to its limit and gives it up again, at
every row group: a third of the time that a table with keys takes. Nothing depends on it but time and size.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["columns_without_dictionary"]

_SAMPLE_ROWS = 16_384
_FEW_ROWS = 4096
_DISTINCT_SHARE = 0.75
"""Of the sample, from which on a dictionary has too many entries to be small beside the values."""


def columns_without_dictionary(rows: pa.Table, columns: Collection[str]) -> set[str]:
    """Return those of the columns that nearly every row has a value of its own in.

    Rows are taken from all over the table, since neighbours are often alike. Of a few rows, nested columns
    and those without values nothing is said.

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
