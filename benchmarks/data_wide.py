"""A table of few rows and very many columns, and the rows that are merged into it."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data_lineitem import MERGED, VECTORS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_wide_table"]


def write_wide_table(folder: Path, rows: int, columns: int) -> None:
    """Write a table with numbers and texts in turn, the same log below `VECTORS`, and `MERGED`."""
    import pyarrow as pa

    from tests.support.tables import TableBuilder

    found = _rows(rows, columns, 0)
    builder = TableBuilder(folder)
    builder.protocol().metadata(found.schema)
    builder.commit([builder.add_file(found)])
    shutil.copytree(folder / "_delta_log", folder / VECTORS / "_delta_log")
    with pa.ipc.new_stream(folder / MERGED, found.schema) as writer:
        writer.write_table(_rows(rows, columns, rows // 2))


def _rows(rows: int, columns: int, first: int) -> "pa.Table":
    import pyarrow as pa

    numbers = pa.array(range(first, first + rows), pa.int64())
    texts = pa.array([f"text {number}" for number in range(first, first + rows)])
    return pa.table({f"c{number}": texts if number % 2 else numbers for number in range(columns)})
