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

__all__ = ["lineitem_batches", "write_lineitem_file"]

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
