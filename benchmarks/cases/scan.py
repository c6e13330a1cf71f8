"""Reading rows, in DuckDB, in Polars and to Arrow, against the bare engine over the same files.

A cold run opens the table and runs the query; a warm run repeats the query on what is open. Where rows
are deleted the bare engine reads files that do not hold them; where one partition is wanted it is given
the files of this partition.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, short
from benchmarks.data import day, write_orders_table, write_partitioned_table

__all__ = ["cases"]

_FILES = 8
_DELETED_PERCENT = 5
_DAY = day(7)
_COLUMNS = ["id", "day", "cents", "comment"]

_GROUP_BY = (
    "SELECT status, count(*) AS orders, sum(quantity) AS quantity, sum(cents) AS cents FROM orders"
    " WHERE day < DATE '2026-06-01' GROUP BY status ORDER BY status"
)
_FILTER = "SELECT count(*), sum(cents), max(comment) FROM orders WHERE id BETWEEN {first} AND {last}"
_PARTITION = f"SELECT count(*), sum(cents), max(comment) FROM orders WHERE day = DATE '{_DAY}'"


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    shape = f"rows_{short(scale.rows)}_columns_8_files_{_FILES}"
    clean = Dataset(shape, partial(write_orders_table, rows=scale.rows, files=_FILES))
    masked = Dataset(
        f"{shape}_deleted_{_DELETED_PERCENT}_percent",
        partial(write_orders_table, rows=scale.rows, files=_FILES, deleted_percent=_DELETED_PERCENT),
    )
    first, last = scale.rows // 3, scale.rows // 3 + scale.rows // 50
    found = []
    for dataset, files in ((clean, "*.parquet"), (masked, "live/*.parquet")):
        filtered = _FILTER.format(first=first, last=last)
        found += [
            Case(f"{dataset.name}_group_by_in_duckdb", dataset, _duckdb(_GROUP_BY, files), _rows),
            Case(f"{dataset.name}_id_range_in_duckdb", dataset, _duckdb(filtered, files), _rows),
            Case(f"{dataset.name}_group_by_in_polars", dataset, _polars(_GROUP_BY, files), _rows),
            Case(f"{dataset.name}_id_range_in_polars", dataset, _polars(filtered, files), _rows),
            Case(f"{dataset.name}_columns_4_to_arrow", dataset, _arrow(files), _describe_table),
        ]
    files = f"day={_DAY}/*.parquet"
    for small in (scale.small_files, scale.small_files * 10):
        shape = f"rows_{short(small * 100)}_files_{short(small)}_partitions_{short(small // 2)}_one_partition"
        dataset = Dataset(shape, partial(write_partitioned_table, files=small))
        found += [
            Case(f"{shape}_in_duckdb", dataset, _duckdb(_PARTITION, files), _rows),
            Case(
                f"{shape}_in_duckdb_by_connection", dataset, _duckdb_by_connection(_PARTITION, files), _rows
            ),
        ]
        if small == scale.small_files:
            found.append(Case(f"{shape}_in_polars", dataset, _polars(_PARTITION, files), _rows))
    return found


# --- engines ---------------------------------------------------------------------------------------


def _duckdb(query: str, files: str) -> dict[str, Engine]:
    """A query in DuckDB; `files` are those of the bare engine, as a pattern."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        from deltaarrow import DeltaTable, register

        yield
        con = duckdb.connect()
        register(con, "orders", DeltaTable(data))
        while True:
            yield con.sql(query).fetchall()

    def raw(data: Path, _: Path) -> Iterator[Any]:
        import duckdb

        yield
        con = duckdb.connect()
        con.execute(f"CREATE VIEW orders AS FROM read_parquet('{data / files}')")
        while True:
            yield con.sql(query).fetchall()

    def deltalake(data: Path, _: Path) -> Iterator[Any]:
        import duckdb
        import pyarrow.dataset  # noqa: F401
        from deltalake import DeltaTable

        yield
        con = duckdb.connect()
        table = DeltaTable(data)
        if not _is_masked(files):
            con.register("orders", table.to_pyarrow_dataset())
        while True:
            if _is_masked(files):
                # Its datasets refuse deletion vectors; this stream can be read once.
                con.register("orders", table.scan())
            yield con.sql(query).fetchall()

    return {OURS: ours, "duckdb, bare files": raw, "duckdb, deltalake": deltalake}


def _duckdb_by_connection(query: str, files: str) -> dict[str, Engine]:
    """The same by a connection that reads the conditions, beside the view that does not."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401
        import sqlglot  # noqa: F401

        from deltaarrow import DeltaTable, connect

        yield
        con = connect().register("orders", DeltaTable(data))
        while True:
            yield con.sql(query).fetchall()

    others = _duckdb(query, files)
    return {OURS: ours, "duckdb, registered view": others.pop(OURS), **others}


def _polars(query: str, files: str) -> dict[str, Engine]:
    """A query in Polars."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  answers which files to read
        import polars as pl

        from deltaarrow import scan_delta

        yield
        context = pl.SQLContext(orders=scan_delta(data))
        while True:
            yield context.execute(query).collect().rows()

    def raw(data: Path, _: Path) -> Iterator[Any]:
        import polars as pl

        yield
        frame = pl.scan_parquet(sorted(data.glob(files)), hive_partitioning="=" in files)
        context = pl.SQLContext(orders=frame)
        while True:
            yield context.execute(query).collect().rows()

    def deltalake(data: Path, _: Path) -> Iterator[Any]:
        import deltalake  # noqa: F401
        import polars as pl

        yield
        context = pl.SQLContext(orders=pl.scan_delta(data))
        while True:
            yield context.execute(query).collect().rows()

    return {OURS: ours, "polars, bare files": raw, "polars, deltalake": deltalake}


def _arrow(files: str) -> dict[str, Engine]:
    """Columns as one Arrow table."""

    def ours(data: Path, _: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401

        from deltaarrow import DeltaDataset, DeltaTable  # noqa: F401

        yield
        table = DeltaTable(data)
        while True:
            yield table.to_pyarrow_table(columns=_COLUMNS)

    def raw(data: Path, _: Path) -> Iterator[Any]:
        import pyarrow.dataset as pads

        yield
        dataset = pads.dataset([str(file) for file in sorted(data.glob(files))])
        while True:
            yield dataset.to_table(columns=_COLUMNS)

    def deltalake(data: Path, _: Path) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.dataset
        from deltalake import DeltaTable

        yield
        table = DeltaTable(data)
        while True:
            if _is_masked(files):
                yield pa.RecordBatchReader.from_stream(table.scan(columns=_COLUMNS)).read_all()
            else:
                yield table.to_pyarrow_table(columns=_COLUMNS)

    return {OURS: ours, "pyarrow, bare files": raw, "deltalake": deltalake}


def _is_masked(files: str) -> bool:
    return files.startswith("live/")


# --- answers ---------------------------------------------------------------------------------------


def _rows(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(row) for row in rows]


def _describe_table(table: Any) -> dict[str, str]:
    """A sum of hashes of each column, and of all of them together; rows come in any order."""
    import duckdb

    names = table.column_names
    con = duckdb.connect()
    con.register("rows", table)
    sums = ", ".join(f"sum(hash({columns}))" for columns in [*names, ", ".join(names)])
    found = con.sql(f"SELECT {sums} FROM rows").fetchall()[0]
    return {"rows": str(table.num_rows), **dict(zip([*names, "all"], map(str, found), strict=True))}
