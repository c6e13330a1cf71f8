"""Spark with deltaarrow's data source against Spark with delta-spark, and following without Spark.

All of Spark runs in one process, ``local[2]``; its start is not timed. The two sides of a case ask the same
session for the same rows of the same table; only the format differs.
"""

import itertools
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, short
from benchmarks.cases.write import describe_rows
from benchmarks.data_lineitem import DELETED, VECTORS, write_lineitem_tables
from benchmarks.data_pipeline import CHANGED_EVERY, write_lake
from benchmarks.queries import read_query
from benchmarks.spark_session import spark_session

__all__ = ["cases"]

_FILES = 15
_DELETED_PERCENT = 5
_COLUMNS = (
    "l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax, l_shipdate, l_orderkey"
)
_FOLLOW = Path(__file__).parents[2] / "sql" / "pipeline" / "follow"
_CHANGED_GROUPS = """
SELECT c.order_date, c.product, count(s.order_id) AS orders,
  coalesce(sum(CAST(s.quantity AS BIGINT)), 0) AS quantity,
  CAST(coalesce(sum(s.quantity * s.price), 0) AS DECIMAL(28, 2)) AS revenue
FROM (SELECT DISTINCT order_date, product FROM table_changes_by_path('{lake}/silver/orders', 1, 1)) AS c
LEFT JOIN delta.`{lake}/silver/orders` AS s ON s.order_date = c.order_date AND s.product = c.product
GROUP BY c.order_date, c.product
"""
_MERGE = """
MERGE INTO delta.`{lake}/gold/daily_sales` AS t USING ({groups}) AS s
ON t.order_date = s.order_date AND t.product = s.product
WHEN MATCHED AND s.orders = 0 THEN DELETE
WHEN MATCHED AND (t.orders <> s.orders OR t.quantity <> s.quantity OR t.revenue <> s.revenue)
  THEN UPDATE SET *
WHEN NOT MATCHED AND s.orders > 0 THEN INSERT *
"""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    tables = Dataset(
        f"lineitem_tables_{short(rows)}_deleted_{_DELETED_PERCENT}_percent",
        partial(write_lineitem_tables, rows=rows, files=_FILES, deleted_percent=_DELETED_PERCENT),
    )
    changed = rows // 60
    lake = Dataset(f"lake_{short(changed)}_changed", partial(write_lake, orders=changed * CHANGED_EVERY))
    name = f"rows_{short(rows)}_columns_16_files_{_FILES}"
    return [
        Case(f"{name}_group_by", tables, _reading(VECTORS), _texts),
        Case(f"{name}_deleted_{_DELETED_PERCENT}_percent_group_by", tables, _reading(DELETED), _texts),
        Case(
            f"{name}_append",
            tables,
            {OURS: _append("deltaarrow"), "delta-spark": _append("delta")},
            describe_rows,
        ),
        Case(
            f"follow_{short(changed)}_changed_of_{short(changed * CHANGED_EVERY)}",
            lake,
            {OURS: _follow, "delta-spark": _merge},
            _gold,
        ),
    ]


# --- engines ---------------------------------------------------------------------------------------


def _reading(table: str) -> dict[str, Engine]:
    """The query over a table of the dataset; deltaarrow reads only the columns that it needs."""
    return {
        OURS: _read(table, "deltaarrow", columns=_COLUMNS),
        "delta-spark": _read(table, "delta"),
    }


def _read(table: str, source: str, **options: str) -> Engine:
    def run(data: Path, _: Path) -> Iterator[Any]:
        spark = spark_session()
        query = read_query("lineitem/group_by")
        yield
        while True:
            frame = spark.read.format(source).options(**options).load(str(data / table))
            frame.createOrReplaceTempView("lineitem")
            yield spark.sql(query).collect()

    return run


def _append(source: str) -> Engine:
    """An append of all rows of a table to an empty table with the same columns."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import pyarrow.parquet as pq

        from tests.support.tables import TableBuilder

        spark = spark_session()
        schema = pq.read_schema(next((data / VECTORS).glob("*.parquet")))
        yield
        for number in itertools.count():
            folder = scratch / str(number)
            TableBuilder(folder).protocol().metadata(schema).commit()
            frame = spark.read.format("delta").load(str(data / VECTORS))
            yield READY
            frame.write.format(source).mode("append").save(str(folder))
            yield folder

    return run


def _follow(data: Path, scratch: Path) -> Iterator[Any]:
    import duckdb  # noqa: F401
    import sqlglot  # noqa: F401

    from deltaarrow.pipeline import OneNodeEngine, run_scripts

    yield
    for lake in _lakes(data, scratch):
        yield READY
        list(run_scripts(OneNodeEngine(), _FOLLOW, {"lake": lake}))
        yield lake


def _merge(data: Path, scratch: Path) -> Iterator[Any]:
    spark = spark_session()
    yield
    for lake in _lakes(data, scratch):
        yield READY
        spark.sql(_MERGE.format(lake=lake, groups=_CHANGED_GROUPS.format(lake=lake))).collect()
        yield lake


def _lakes(data: Path, scratch: Path) -> Iterator[Path]:
    """Copies of the lake, made of links; no engine writes to an existing file."""
    for number in itertools.count():
        lake = scratch / str(number)
        shutil.copytree(data, lake, copy_function=os.link)
        yield lake


# --- answers ---------------------------------------------------------------------------------------


def _texts(rows: list[Any]) -> list[list[str]]:
    return [[str(value) for value in row] for row in rows]


def _gold(lake: Path) -> dict[str, str]:
    import duckdb
    from deltalake import DeltaTable

    con = duckdb.connect()
    con.register("gold", DeltaTable(lake / "gold/daily_sales").scan())
    query = (
        "SELECT count(*), sum(orders), sum(quantity), sum(revenue),"
        " sum(hash(order_date, product, orders, quantity, revenue)) FROM gold"
    )
    found = con.sql(query).fetchall()[0]
    return dict(zip(("groups", "orders", "quantity", "revenue", "hashes"), map(str, found), strict=True))
