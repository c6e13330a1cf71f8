"""One question to every engine: which files a query reads, and what leaves out the others."""

from types import ModuleType
from typing import TYPE_CHECKING

import duckdb

from deltaarrow.engines.duckdb_connection import DeltaConnection
from deltaarrow.engines.duckdb_explain import explain_sql
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.scan import Explanation

if TYPE_CHECKING:
    import polars as pl

__all__ = ["explain"]

_of_polars = lazy_attributes(__name__, {"explain_frame": "deltaarrow.engines.polars_explain"})


def explain(
    query: "pl.LazyFrame | DeltaConnection | duckdb.DuckDBPyConnection | ModuleType", sql: str | None = None
) -> list[Explanation]:
    """Return which files of Delta tables a query of Polars or DuckDB reads, and why not the others.

    ``explain(frame)`` explains a `polars.LazyFrame` that `scan_delta` is in. It opens no data file; the
    query must be one that pickles.

    ``explain(connection, sql)`` explains a query over tables that `register` made views of. DuckDB tells
    what it read only when it has: the query is run, and its rows are thrown away. Its own reader skips
    files by partition values, and opens the others to skip row groups; how many it opened stands in the
    notes. Those are more than it needs by one for each group of alike files, whose columns it looks up,
    and by some of a group in which no partition matches.

    On a connection that `connect` made nothing is run: which files are left out is known beforehand.

    For pyarrow there are `DeltaTable.explain` and `DeltaDataset.explain`.

    Args:
        query: the lazy frame, or the connection; ``duckdb`` itself stands for the default one.
        sql: the query, where DuckDB runs it; one SELECT.

    Returns:
        An explanation for every scan of a Delta table, in the order in which the engine's plan has them.

    Raises:
        ValueError: `sql` is not one SELECT.
        TypeError: `query` is neither.

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
