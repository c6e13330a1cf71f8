"""Arrow batches as the frames of a Polars source, with Polars's own filter and row limit applied.

Polars does not reapply the filters that it passes to a source, and its rules for NaN differ from pyarrow's.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.runtime.optional import require

if TYPE_CHECKING:
    import polars as pl

__all__ = ["filtered_frames"]


def filtered_frames(
    batches: Iterable[pa.RecordBatch], predicate: "pl.Expr | None", n_rows: int | None
) -> Iterator["pl.DataFrame"]:
    """Yield the rows of the batches that match `predicate`, at most `n_rows` of them (None: all)."""
    pl = require("polars")
    remaining = n_rows
    for batch in batches:
        frame = pl.DataFrame(batch) if batch.num_columns else pl.DataFrame(height=batch.num_rows)
        if predicate is not None:
            frame = frame.filter(predicate)
        if remaining is not None:
            frame = frame.head(remaining)
            remaining -= frame.height
        yield frame
        if remaining == 0:
            return
