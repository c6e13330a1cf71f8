"""Every engine as one function, so that one test of behaviour runs on all of them."""

import os
from collections.abc import Callable, Sequence

import duckdb
import polars as pl
import pyarrow as pa

from deltaarrow.engines import DeltaDataset, register, scan_delta
from deltaarrow.engines.polars.lazy_frame import DeltaResolver
from deltaarrow.expressions import to_arrow
from deltaarrow.log.limits import LogLimits
from deltaarrow.scan import with_row_tracking
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.conditions import predicate_of
from tests.support.duckdb_session import duckdb_session

__all__ = ["ENGINES", "open_snapshot"]


def open_snapshot(
    path: str | os.PathLike[str], version: int | None = None, limits: LogLimits | None = None
) -> Snapshot:
    """The table at `path`."""
    return Snapshot.load(open_store(path), version, limits=limits)


def _read_dataset(
    snapshot: Snapshot, columns: Sequence[str] | None, where: str | None, row_tracking: bool = False
) -> pa.Table:
    schema = with_row_tracking(snapshot.schema) if row_tracking else snapshot.schema
    # Spark quotes names otherwise than the other engines.
    condition = None if where is None else to_arrow(predicate_of(where.replace('"', "`"), schema))
    return DeltaDataset(snapshot, with_row_ids=row_tracking).to_table(columns=columns, filter=condition)


def _read_duckdb(
    snapshot: Snapshot,
    columns: Sequence[str] | None,
    where: str | None,
    row_tracking: bool = False,
    native: bool | str = "auto",
) -> pa.Table:
    # A file system that is registered for a remote store is one of the database.
    connect = duckdb_session if snapshot.store.is_local else duckdb.connect
    with connect() as connection:
        # A zone far from UTC shows whether any time went through it.
        connection.execute("SET TimeZone = 'Asia/Kathmandu'")
        register(connection, "t", snapshot, native=native, row_tracking=row_tracking)
        connection.execute("SET TimeZone = 'UTC'")
        names = "*" if columns is None else ", ".join(f'"{name}"' for name in columns)
        condition = "" if where is None else f" WHERE {where}"
        return connection.sql(f"SELECT {names} FROM t{condition}").to_arrow_table()


def _read_duckdb_dataset(
    snapshot: Snapshot, columns: Sequence[str] | None, where: str | None, row_tracking: bool = False
) -> pa.Table:
    return _read_duckdb(snapshot, columns, where, row_tracking, native=False)


def _read_polars(
    snapshot: Snapshot, columns: Sequence[str] | None, where: str | None, row_tracking: bool = False
) -> pa.Table:
    return _collect(scan_delta(snapshot, row_tracking=row_tracking), columns, where)


def _read_polars_resolver(
    snapshot: Snapshot, columns: Sequence[str] | None, where: str | None, row_tracking: bool = False
) -> pa.Table:
    return _collect(DeltaResolver(snapshot, row_tracking).lazy(), columns, where)


def _collect(frame: pl.LazyFrame, columns: Sequence[str] | None, where: str | None) -> pa.Table:
    if where is not None:
        frame = frame.filter(pl.sql_expr(where))
    if columns is not None:
        frame = frame.select(columns)
    return frame.collect().to_arrow()


ENGINES: dict[str, Callable[..., pa.Table]] = {
    "dataset": _read_dataset,
    "duckdb": _read_duckdb,
    "duckdb-dataset": _read_duckdb_dataset,
    "polars": _read_polars,
    "polars-resolver": _read_polars_resolver,
}
"""Engine -> function of a snapshot, the wanted columns (None: all), a condition in SQL (None: none) and
whether the columns of row tracking are there."""
