"""One large write of ``lineitem``: from Arrow memory, and from a stream that no engine may hold as a whole.

Every run writes to its own folder. pyarrow counts the written rows, over the files that
``deltalake`` names, or over all files for an engine that writes bare ones.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data_lineitem import write_lineitem_file

__all__ = ["cases", "describe_rows"]

_PARTITIONED = "l_quantity"
"""A column of 50 values."""
_MANY = 500
"""New partitions of one write, each of the four rows of an order; deltaarrow flushes all to the disk."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    dataset = Dataset(f"lineitem_{short(rows)}", partial(write_lineitem_file, rows=rows))
    memory = {
        "duckdb, bare file": _engine(_duckdb),
        "polars, bare file": _engine(_polars),
        "pyarrow, bare file": _engine(_pyarrow),
    }
    partitioned = {"partition_by": [_PARTITIONED]}
    name = f"lineitem_rows_{short(rows)}"
    return [
        Case(f"{name}_from_memory", dataset, _delta_engines() | memory, describe_rows),
        Case(f"{name}_from_stream", dataset, _delta_engines(times=1), describe_rows),
        Case(
            f"{name}_from_stream_partitions_50",
            dataset,
            _delta_engines(times=1, options=partitioned),
            describe_rows,
        ),
        Case(
            f"lineitem_rows_{short(4 * _MANY)}_from_memory_partitions_{_MANY}",
            dataset,
            _delta_engines(options={"partition_by": ["l_orderkey"]}, first=4 * _MANY),
            describe_rows,
            targets=(Target("deltalake", 2.5),),
        ),
        *(
            Case(
                f"lineitem_rows_{short(more)}_from_stream",
                dataset,
                _delta_engines(times=more // rows),
                describe_rows,
            )
            for more in scale.streamed_rows
        ),
    ]


# --- engines ---------------------------------------------------------------------------------------

Write = Callable[[Path, Any], object]
"""Writes Arrow data into an empty folder."""


def _engine(load: Callable[[], Write], times: int = 0, first: int | None = None) -> Engine:
    """The engine whose libraries `load` imports.

    It gets a table, of the `first` rows if that is given, or the rows `times` times as a stream.
    """

    def run(data: Path, scratch: Path) -> Iterator[Path]:
        import pyarrow as pa

        write = load()
        file = str(data / "lineitem.arrows")
        table = None if times else pa.ipc.open_stream(pa.OSFile(file)).read_all().slice(0, first)
        yield scratch
        for number in itertools.count():
            folder = scratch / str(number)
            folder.mkdir()
            write(folder, _stream(file, times) if table is None else table)
            yield folder

    return run


def _stream(file: str, times: int) -> Any:
    import pyarrow as pa

    def batches() -> Iterator[Any]:
        for _ in range(times):
            yield from pa.ipc.open_stream(pa.OSFile(file))

    return pa.RecordBatchReader.from_batches(pa.ipc.open_stream(pa.OSFile(file)).schema, batches())


def _delta_engines(
    times: int = 0, options: dict[str, Any] | None = None, first: int | None = None
) -> dict[str, Engine]:
    """The two libraries with a `write_deltalake`."""

    def ours() -> Write:
        import deltaarrow

        return lambda folder, rows: deltaarrow.write_deltalake(folder, rows, **(options or {}))

    def deltalake() -> Write:
        import deltalake

        return lambda folder, rows: deltalake.write_deltalake(folder, rows, **(options or {}))

    return {OURS: _engine(ours, times, first), "deltalake": _engine(deltalake, times, first)}


def _pyarrow() -> Write:
    import pyarrow.parquet as pq

    return lambda folder, rows: pq.write_table(rows, folder / "0.parquet")


def _duckdb() -> Write:
    import duckdb

    con = duckdb.connect()

    def write(folder: Path, rows: Any) -> None:
        con.register("lineitem", rows)
        con.execute(f"COPY lineitem TO '{folder}/0.parquet'")

    return write


def _polars() -> Write:
    import polars as pl

    return lambda folder, rows: pl.DataFrame(rows).write_parquet(folder / "0.parquet", compression="snappy")


# --- answers ---------------------------------------------------------------------------------------


def describe_rows(folder: Path) -> dict[str, Any]:
    """Return sums over the rows of ``lineitem`` in a folder, a table or bare files."""
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    if (folder / "_delta_log").is_dir():
        from deltalake import DeltaTable

        dataset = DeltaTable(folder).to_pyarrow_dataset()
    else:
        dataset = pads.dataset(folder)
    sums = {
        "rows": 0,
        "l_orderkey": 0,
        "l_linenumber": 0,
        "l_extendedprice": 0,
        "l_quantity": 0,
        "l_comment": 0,
    }
    for batch in dataset.to_batches(columns=[name for name in sums if name != "rows"]):
        sums["rows"] += batch.num_rows
        for name in batch.schema.names:
            column = batch.column(name)
            values = pc.utf8_length(column) if name == "l_comment" else column
            sums[name] += pc.sum(values).as_py() or 0
    return {name: str(total) for name, total in sums.items()}
