"""A table of ``lineitem`` after daily merges, and what it is when it is tidied in one way or another.

Every day changes one row in a hundred and adds half as many, spread over the whole table. The days are
merged by deltaarrow; how long that takes is not measured here, but how long a query takes afterwards.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data_lineitem import lineitem_batches

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AUTOMATIC", "FRESH", "MERGED", "OPTIMIZED", "write_daily_merges"]

FRESH, MERGED, OPTIMIZED, AUTOMATIC = "fresh", "merged", "optimized", "automatic"
"""The folders: the same rows newly written; after the merges alone; after an OPTIMIZE too; and with auto
compaction after each merge."""

_KEYS = "t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber"


def write_daily_merges(folder: Path, rows: int, days: int) -> None:
    """Write the four tables, which have the same rows."""
    import pyarrow as pa

    from deltaarrow import DeltaTable, PostCommitHookProperties, write_deltalake

    first = next(lineitem_batches(1))
    vectors = {"delta.enableDeletionVectors": "true"}
    for name in (MERGED, AUTOMATIC):
        stream = pa.RecordBatchReader.from_batches(first.schema, lineitem_batches(rows))
        write_deltalake(folder / name, stream, configuration=vectors)
        after = PostCommitHookProperties(auto_compact=name == AUTOMATIC)
        table = DeltaTable(folder / name)
        for source in _days(rows, days):
            merger = table.merge(source, _KEYS, "s", "t", post_commithook_properties=after)
            merger.when_matched_update_all().when_not_matched_insert_all().execute()
    shutil.copytree(folder / MERGED, folder / OPTIMIZED)
    DeltaTable(folder / OPTIMIZED).optimize.compact()
    write_deltalake(folder / FRESH, DeltaTable(folder / MERGED).to_pyarrow_dataset(), configuration=vectors)


def _days(rows: int, days: int) -> "Iterator[pa.Table]":
    """Yield the rows of each day: a hundredth of the table, two thirds of it there already."""
    import numpy as np
    import pyarrow as pa

    count = max(3, rows // 100)
    for day in range(days):
        random = np.random.default_rng(day)
        known = random.choice(rows, count * 2 // 3, replace=False)
        new = rows + day * count + np.arange(count - len(known))
        numbers = np.concatenate([known, new])
        batch = pa.Table.from_batches(lineitem_batches(count))
        yield batch.set_column(0, "l_orderkey", pa.array(numbers // 4 + 1)).set_column(
            3, "l_linenumber", pa.array((numbers % 4 + 1).astype(np.int32))
        )
