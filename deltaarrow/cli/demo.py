"""``deltaarrow demo``: a small shop whose orders are written, corrected, looked up in time and queried.

Every step runs what it shows and hands back what came out of it; nothing is made up for the screen.
"""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.engines import register, scan_delta
from deltaarrow.optional import EXTRAS
from deltaarrow.table import DeltaTable
from deltaarrow.writer import write_deltalake

__all__ = ["Step", "run_demo"]

_ORDERS = """
    SELECT order_id,
           ['Ada', 'Grace', 'Edsger', 'Barbara', 'Donald', 'Frances'][1 + who] AS customer,
           ['coffee', 'tea', 'cake', 'sandwich', 'juice'][1 + what] AS product,
           [3.20, 2.70, 4.50, 6.90, 3.80][1 + what]::DECIMAL(10, 2) AS price,
           (day + INTERVAL 7 HOUR + to_seconds(second))::TIMESTAMPTZ AS ordered_at,
           day
    FROM (SELECT range AS order_id,
                 (hash(range) % 6)::INTEGER AS who,
                 (hash(range, 1) % 5)::INTEGER AS what,
                 (hash(range, 2) % 36_000)::INTEGER AS second,
                 DATE '2026-01-01' + ($first_day + range % $days)::INTEGER AS day
          FROM range($first, $last + 1))
"""
_BATCH = 8192

Progress = Callable[[int], None]
"""Is told how many rows more went into the table."""


@dataclass(frozen=True)
class Step:
    """One step of the demo: what it does, the code that did it, and what came out."""

    title: str
    code: str
    result: pa.Table | None = None
    note: str = ""


def run_demo(path: str | Path, rows: int, progress: Progress = lambda count: None) -> Iterator[Step]:
    """Write the table at `path`, which must not be there yet, about `rows` rows in three commits.

    Yields each step when it is done. Raises `DeltaError` where the engine refuses one.
    """
    uri = str(path)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield _write(uri, rows, connection, progress)
        yield _append(uri, rows, connection, progress)
        yield _correct(uri, connection, progress)
        yield _look_back(uri)
        yield _query_duckdb(uri, connection)
    yield _query_polars(uri)


def _write(uri: str, rows: int, connection: duckdb.DuckDBPyConnection, progress: Progress) -> Step:
    chosen = {"first": 1, "last": rows * 3 // 4, "first_day": 0, "days": 3}
    orders = _counted(connection.sql(_ORDERS, params=chosen), progress)
    write_deltalake(uri, orders, partition_by=["day"])
    return Step(
        "Write three days of orders, partitioned by day, from a stream",
        'da.write_deltalake(path, orders, partition_by=["day"])',
        _state(uri),
    )


def _append(uri: str, rows: int, connection: duckdb.DuckDBPyConnection, progress: Progress) -> Step:
    chosen = {"first": rows * 3 // 4 + 1, "last": rows, "first_day": 3, "days": 1}
    write_deltalake(uri, _counted(connection.sql(_ORDERS, params=chosen), progress), mode="append")
    return Step("Append the fourth day", 'da.write_deltalake(path, orders, mode="append")', _state(uri))


def _correct(uri: str, connection: duckdb.DuckDBPyConnection, progress: Progress) -> Step:
    register(connection, "orders", DeltaTable(uri))
    query = "SELECT * REPLACE (CASE WHEN product = 'tea' THEN 2.50 ELSE price END AS price) FROM orders"
    write_deltalake(uri, _counted(connection.sql(query), progress), mode="overwrite")
    return Step(
        "Tea was priced wrongly: overwrite the table with a query over itself",
        f'da.write_deltalake(path, con.sql("{query}"), mode="overwrite")',
        _state(uri),
    )


def _look_back(uri: str) -> Step:
    table = DeltaTable(uri)
    found = []
    for version in range(table.version() + 1):
        table.load_as_version(version)
        prices = table.to_pyarrow_table(columns=["product", "price"])
        tea = prices.filter(pc.equal(prices["product"], "tea"))["price"]
        found.append(
            {
                "version": version,
                "orders": prices.num_rows,
                "revenue": pc.sum(prices["price"]).as_py() or Decimal(0),
                "price of tea": pc.max(tea).as_py(),
            }
        )
    return Step(
        "Travel in time: every version is still there",
        'table.load_as_version(version); table.to_pyarrow_table(columns=["product", "price"])',
        pa.Table.from_pylist(found),
    )


def _query_duckdb(uri: str, connection: duckdb.DuckDBPyConnection) -> Step:
    register(connection, "orders", DeltaTable(uri))
    query = (
        "SELECT product, count(*) AS n, sum(price) AS revenue FROM orders GROUP BY product ORDER BY product"
    )
    return Step(
        "Query it with DuckDB",
        f'da.register(con, "orders", table); con.sql("{query}")',
        connection.sql(query).to_arrow_table(),
    )


def _query_polars(uri: str) -> Step:
    title = "Query it with Polars"
    if importlib.util.find_spec("polars") is None:
        return Step(
            title, "", note=f"polars is not installed; run: pip install 'deltaarrow[{EXTRAS['polars']}]'"
        )
    import polars as pl

    days = (
        scan_delta(uri)
        .filter(pl.col("customer") == "Ada")
        .group_by("day")
        .agg(pl.len().alias("orders of Ada"))
    )
    return Step(
        title,
        'da.scan_delta(path).filter(pl.col("customer") == "Ada").group_by("day").agg(pl.len())',
        pa.table(days.sort("day").collect()),
    )


def _state(uri: str) -> pa.Table:
    """The newest version as the log has it: no data file is read for this."""
    table = DeltaTable(uri)
    return pa.table(
        {
            "version": [table.version()],
            "files": [len(table.file_uris())],
            "rows": [table.count()],
        }
    )


def _counted(relation: duckdb.DuckDBPyRelation, progress: Progress) -> pa.RecordBatchReader:
    """The relation as a stream that reports its progress."""
    stream = relation.to_arrow_reader(_BATCH)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in stream:
            yield batch
            progress(batch.num_rows)

    return pa.RecordBatchReader.from_batches(stream.schema, batches())
