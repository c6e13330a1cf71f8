"""Rows of the shape of TPC-H's ``lineitem``: sixteen columns, of every type that business tables have.

Drawn by `numpy`, not by TPC-H's generator: cardinalities, ranges and lengths are those of the original.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = [
    "DELETED",
    "MERGED",
    "VECTORS",
    "lineitem_batches",
    "write_lineitem_file",
    "write_lineitem_table",
    "write_lineitem_tables",
]

VECTORS = "vectors"
"""The folder of the log that lets its table have deletion vectors, beside the one that does not."""
DELETED = "deleted"
"""The folder of the log of a table with the same files, each with a deletion vector."""
MERGED = "source.arrows"
"""The file of the rows that are merged."""

_BATCH_ROWS = 131_072
_FIRST_SHIPPING = datetime.date(1992, 1, 2)
_WORDS = """
    the of and to blithely carefully furiously quickly slyly express final ironic pending regular silent
    special unusual bold even accounts deposits packages requests instructions foxes pinto beans theodolites
    asymptotes dependencies excuses ideas platelets sleep wake nag haggle boost cajole detect among across
"""
_INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
_MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]


def lineitem_batches(rows: int) -> "Iterator[pa.RecordBatch]":
    """Yield batches of so many rows together; the same at every call."""
    for number, start in enumerate(range(0, rows, _BATCH_ROWS)):
        yield _batch(number, start, min(_BATCH_ROWS, rows - start))


def write_lineitem_file(folder: Path, rows: int) -> None:
    """Write ``lineitem.arrows``, a stream of batches."""
    import pyarrow as pa

    batches = lineitem_batches(rows)
    first = next(batches)
    with pa.ipc.new_stream(folder / "lineitem.arrows", first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def write_lineitem_table(folder: Path, rows: int, files: int, source_rows: int) -> None:
    """Write a table of equal files, with two logs; and what is to be merged into it.

    Every other row of the source has the key, `l_orderkey` and `l_linenumber`, of a row of the table; these
    are spread over all of the table. The other rows are new.
    """
    import pyarrow as pa

    from tests.support.tables import TableBuilder

    plain, vectors = TableBuilder(folder), TableBuilder(folder / VECTORS)
    batches = lineitem_batches(rows)
    pending = pa.Table.from_batches([next(batches)])
    plain.protocol().metadata(pending.schema)
    enabled = {"delta.enableDeletionVectors": "true"}
    vectors.features("deletionVectors").metadata(pending.schema, configuration=enabled)
    adds = []
    for number in range(files):
        while pending.num_rows < rows // files:
            pending = pa.concat_tables([pending, pa.Table.from_batches([next(batches)])])
        table, pending = pending.slice(0, rows // files), pending.slice(rows // files)
        adds.append(plain.add_file(table.combine_chunks(), name=f"part-{number:05d}.parquet"))
    plain.commit(adds)
    vectors.commit(adds)
    with pa.ipc.new_stream(folder / MERGED, pending.schema) as writer:
        for batch in _merged(rows, source_rows):
            writer.write_batch(batch)


def write_lineitem_tables(folder: Path, rows: int, files: int, deleted_percent: int) -> None:
    """Write a table of equal files, and one of the same rows with so many of each file deleted.

    Both are folders, of names that are given here: `VECTORS` has all rows, and `DELETED` has not.
    """
    import numpy as np
    import pyarrow as pa

    from tests.support.tables import TableBuilder

    whole, deleted = TableBuilder(folder / VECTORS), TableBuilder(folder / DELETED)
    each = rows // files
    table = pa.Table.from_batches(lineitem_batches(rows))
    for builder in (whole, deleted):
        enabled = {"delta.enableDeletionVectors": "true"}
        builder.features("deletionVectors").metadata(table.schema, configuration=enabled)
        adds = []
        for number in range(files):
            part = table.slice(number * each, each)
            vector = None
            if builder is deleted:
                random = np.random.default_rng(number)
                positions = random.choice(each, each * deleted_percent // 100, replace=False)
                vector = builder.deletion_vector(positions.astype(np.uint64))
            adds.append(builder.add_file(part, name=f"part-{number:05d}.parquet", deletion_vector=vector))
        builder.commit(adds)


def _merged(rows: int, source_rows: int) -> "Iterator[pa.RecordBatch]":
    import numpy as np
    import pyarrow as pa

    for batch, start in zip(lineitem_batches(source_rows), range(0, source_rows, _BATCH_ROWS), strict=True):
        number = np.arange(start, start + batch.num_rows)
        row = np.where(number % 2, rows + number, number // 2 * (rows * 2 // source_rows))
        yield batch.set_column(0, "l_orderkey", pa.array(row // 4 + 1)).set_column(
            3, "l_linenumber", pa.array((row % 4 + 1).astype(np.int32))
        )


def _batch(number: int, start: int, rows: int) -> "pa.RecordBatch":
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    random = np.random.default_rng(number)

    def texts(values: list[str]) -> pa.Array:
        indices = pa.array(random.integers(0, len(values), rows, dtype=np.int32))
        return pc.cast(pa.DictionaryArray.from_arrays(indices, pa.array(values)), pa.string())

    shipped = np.datetime64(_FIRST_SHIPPING) + random.integers(0, 2_526, rows).astype("timedelta64[D]")
    committed = shipped + random.integers(-60, 61, rows).astype("timedelta64[D]")
    received = shipped + random.integers(1, 31, rows).astype("timedelta64[D]")
    quantity, price = random.integers(1, 51, rows), random.integers(90_000, 210_000, rows)
    return pa.record_batch(
        {
            "l_orderkey": pa.array(np.arange(start, start + rows) // 4 + 1),
            "l_partkey": pa.array(random.integers(1, 200_001, rows)),
            "l_suppkey": pa.array(random.integers(1, 10_001, rows)),
            "l_linenumber": pa.array((np.arange(start, start + rows) % 4 + 1).astype(np.int32)),
            "l_quantity": _decimals(quantity * 100),
            "l_extendedprice": _decimals(quantity * price),
            "l_discount": _decimals(random.integers(0, 11, rows)),
            "l_tax": _decimals(random.integers(0, 9, rows)),
            "l_returnflag": texts(["A", "N", "R"]),
            "l_linestatus": texts(["F", "O"]),
            "l_shipdate": pa.array(shipped),
            "l_commitdate": pa.array(committed),
            "l_receiptdate": pa.array(received),
            "l_shipinstruct": texts(_INSTRUCTIONS),
            "l_shipmode": texts(_MODES),
            "l_comment": pc.binary_join_element_wise(*(texts(_WORDS.split()) for _ in range(4)), " "),
        }
    )


def _decimals(cents: "npt.NDArray[np.int64]") -> "pa.Array":
    """Make decimals with two digits after the point of integers that are not negative."""
    import numpy as np
    import pyarrow as pa

    words = np.zeros((len(cents), 2), np.int64)
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(cents), [None, pa.py_buffer(words)])
