"""The files that a query reads, and why others are skipped: one function for every engine."""

from types import ModuleType
from typing import TYPE_CHECKING

import duckdb

from deltaarrow.engines.duckdb.delta_connection import DeltaConnection
from deltaarrow.engines.duckdb.explain import explain_sql
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import Explanation

if TYPE_CHECKING:
    import polars as pl

__all__ = ["explain"]

_of_polars = lazy_attributes(__name__, {"explain_frame": "deltaarrow.engines.polars.explain"})


def explain(
    query: "pl.LazyFrame | DeltaConnection | duckdb.DuckDBPyConnection | ModuleType", sql: str | None = None
) -> list[Explanation]:
    """Return the files of Delta tables that a Polars or DuckDB query reads, and why others are skipped.

    ``explain(frame)`` explains a `polars.LazyFrame` built on `scan_delta`. It opens no data file; the query
    must be picklable.

    ``explain(connection, sql)`` explains a query over views made by `register`. DuckDB only reports what it
    read after the fact, so the query is run and its rows are discarded. Its own reader skips files by
    partition values, and opens the others to skip row groups; the notes give the number of opened files. It
    opens one file more than necessary for each group of similar files, to look up their columns, and some
    files of a group in which no partition matches.

    On a connection made by `connect` nothing is run: the skipped files are known beforehand.

    For pyarrow, use `DeltaTable.explain` and `DeltaDataset.explain`.

    Args:
        query: the lazy frame, or the connection; ``duckdb`` itself stands for the default connection.
        sql: the query for a DuckDB connection; one SELECT.

    Returns:
        An explanation for every scan of a Delta table, in the order of the engine's plan.

    Raises:
        ValueError: `sql` is not one SELECT.
        TypeError: `query` is neither a lazy frame nor a connection, or a connection without `sql`.

    >>> import tempfile, deltaarrow, polars as pl, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> for numbers in ([1, 2], [30, 40]):
    ...     _ = deltaarrow.write_deltalake(folder, pa.table({"id": numbers}), mode="append")
    >>> [found] = explain(deltaarrow.scan_delta(folder).filter(pl.col("id") > 5))
    >>> found.left_files, found.files
    (1, 2)
    """
    if query is duckdb:
        query = duckdb.default_connection()
    if isinstance(query, DeltaConnection | duckdb.DuckDBPyConnection):
        if sql is None:
            raise TypeError("explain(connection, sql) needs the query as SQL text")
        return query.explain(sql) if isinstance(query, DeltaConnection) else explain_sql(query, sql)
    is_of_polars = type(query).__module__.partition(".")[0] == "polars"
    if sql is None and is_of_polars and hasattr(query, "collect_schema"):
        found: list[Explanation] = _of_polars("explain_frame")(query)
        return found
    raise TypeError(
        f"explain takes a LazyFrame of Polars, or a DuckDB connection and SQL, not {type(query).__qualname__}"
    )
