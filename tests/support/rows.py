"""Tables as multisets of rows, and the ways to read a table."""

import os
from collections.abc import Callable

import duckdb
import pyarrow as pa

import deltaarrow as da
from tests.support.duckdb_session import duckdb_session

__all__ = [
    "READERS",
    "assert_same_rows",
    "read_arrow",
    "read_dataset",
    "read_duckdb",
    "read_polars",
    "rows_of",
]


def rows_of(table: pa.Table) -> list[str]:
    """The rows of `table` in an order of their own, as text, with columns sorted by name."""
    names = sorted(table.column_names)
    return sorted(repr([row[name] for name in names]) for row in table.select(names).to_pylist())


def assert_same_rows(actual: pa.Table, wanted: pa.Table) -> None:
    """Both tables hold the same columns and the same rows, in whatever order."""
    assert sorted(actual.column_names) == sorted(wanted.column_names)
    assert rows_of(actual) == rows_of(wanted)


def read_arrow(path: str | os.PathLike[str], version: int | None = None) -> pa.Table:
    """The rows of the table at `path`, of `version` or the newest, as Arrow."""
    return da.DeltaTable(path, version=version).to_pyarrow_table()


def read_dataset(path: str | os.PathLike[str], version: int | None = None) -> pa.Table:
    """The same through the Arrow dataset."""
    return da.DeltaTable(path, version=version).to_pyarrow_dataset().to_table()


def read_duckdb(path: str | os.PathLike[str], version: int | None = None) -> pa.Table:
    """The same through DuckDB, whose results name the zone of the session, here UTC."""
    table = da.DeltaTable(path, version=version)
    # A file system that is registered for a remote store is one of the database.
    connect = duckdb_session if table.snapshot.store.is_local else duckdb.connect
    with connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        da.register(connection, "t", table)
        return connection.sql("SELECT * FROM t").to_arrow_table()


def read_polars(path: str | os.PathLike[str], version: int | None = None) -> pa.Table:
    """The same through Polars."""
    return da.scan_delta(path, version).collect().to_arrow()


READERS: dict[str, Callable[..., pa.Table]] = {
    "arrow": read_arrow,
    "dataset": read_dataset,
    "duckdb": read_duckdb,
    "polars": read_polars,
}
"""Way of reading -> the rows of the table at a path, of a version or the newest."""
