"""SQL on one node: what the front end adds to queries and to a MERGE, and the pipeline beside Spark.

A query over many small files is asked of plain DuckDB with the same files, so the difference is parsing,
names, planning and the look for a newer version; so is a query with long lists of literals. A MERGE in SQL is
compared with the same one by methods.
The difference is the source, which is a query in SQL: reading it costs 14 ms, and compiling it 3 ms.
The pipeline is one batch of ``sql/pipeline`` into an empty lake, by the same files on both engines; the start
of Spark's JVM is not timed.
"""

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.cases.dml import describe_rows, lineitem_dataset, linked_table, merge_all
from benchmarks.data import write_orders_table
from benchmarks.data_lineitem import MERGED, VECTORS
from benchmarks.queries import texts_of_rows
from benchmarks.spark_session import spark_session

__all__ = ["cases"]

_MERGED_FILES = 15
_ROWS_PER_FILE = 100
_QUERY = """
SELECT status, count(*) AS orders, sum(quantity) AS quantity, max(cents) AS dearest
FROM {table} WHERE discount > 0.02 GROUP BY status ORDER BY status
"""
_LISTED = (
    "SELECT count(*), sum(cents) FROM {table} WHERE quantity IN ({numbers}) AND status NOT IN ({strings})"
)
_LITERALS = 20_000
_MERGE = """
MERGE INTO delta.`{table}` AS t USING source AS s
ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
_PIPELINE = Path(__file__).parents[2] / "sql" / "pipeline"
_PIPELINE_TABLES = ("bronze/events", "silver/orders", "gold/daily_sales")


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    files, rows, events = scale.small_files // 2, scale.written_rows, scale.written_rows // 6
    small = Dataset(
        f"rows_{short(files * _ROWS_PER_FILE)}_files_{short(files)}",
        partial(write_orders_table, rows=files * _ROWS_PER_FILE, files=files),
    )
    queries = [
        Case(
            f"query_of_{short(files)}_files_in_dialect_of_{dialect}",
            small,
            {OURS: partial(_query, dialect=dialect), "duckdb, bare files": _query_of_bare_files},
            texts_of_rows,
            targets=(Target("duckdb, bare files", 1, plus=0.005),),
        )
        for dialect in ("spark", "duckdb")
    ]
    listed = _listed()
    queries += [
        Case(
            f"query_with_lists_of_{short(_LITERALS)}_literals_in_dialect_of_{dialect}",
            small,
            {
                OURS: partial(_query, dialect=dialect, text=listed),
                "duckdb, bare files": partial(_query_of_bare_files, text=listed),
            },
            texts_of_rows,
            targets=(Target("duckdb, bare files", 3),),
        )
        for dialect in ("spark", "duckdb")
    ]
    merge = Case(
        f"merge_{short(rows // 60)}_into_{short(rows)}",
        lineitem_dataset(rows, _MERGED_FILES, rows // 60),
        {OURS: _merging(_merge_by_sql), "deltaarrow, by methods": _merging(_merge_by_methods)},
        describe_rows,
        targets=(Target("deltaarrow, by methods", 1.05),),
    )
    pipeline = Case(
        f"pipeline_{short(events)}_events",
        Dataset("nothing", _write_nothing),
        {OURS: partial(_pipeline, events=events), "delta-spark": partial(_on_spark, events=events)},
        _lake,
        targets=(Target("delta-spark", 0.4),),
    )
    return [*queries, merge, pipeline]


def _write_nothing(_: Path) -> None:
    """Write no file: the pipeline makes its own events."""


# --- queries ---------------------------------------------------------------------------------------


def _listed() -> str:
    """A query with half of the literals as numbers and half as strings."""
    numbers = range(0, _LITERALS, 2)
    return _LISTED.format(
        table="{table}",
        numbers=", ".join(map(str, numbers)),
        strings=", ".join(f"'{number}'" for number in numbers),
    )


def _query(data: Path, _: Path, dialect: str, text: str = _QUERY) -> Iterator[Any]:
    from deltaarrow.sql import connect

    quote = "`" if dialect == "spark" else "'"
    query = text.format(table=f"delta.{quote}{data}{quote}")
    con = connect(dialect=dialect)
    yield
    while True:
        yield con.sql(query).fetchall()


def _query_of_bare_files(data: Path, _: Path, text: str = _QUERY) -> Iterator[Any]:
    import duckdb

    query = text.format(table=f"read_parquet('{data}/*.parquet')")
    con = duckdb.connect()
    yield
    while True:
        yield con.sql(query).fetchall()


# --- MERGE -----------------------------------------------------------------------------------------


def _merging(merge: Any) -> Engine:
    """An engine that merges into tables of links, each its own; every run opens its table."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import pyarrow as pa

        from deltaarrow.operations import merge_rows  # noqa: F401  loaded at the first use else
        from deltaarrow.sql import connect

        source = pa.ipc.open_stream(pa.OSFile(str(data / MERGED))).read_all()
        con = connect(dialect="spark")
        con.register("source", source)
        for number in itertools.count():
            folder = linked_table(data, scratch / str(number), VECTORS)
            yield READY
            merge(con, folder, source)
            yield folder

    return run


def _merge_by_sql(con: Any, folder: Path, _: Any) -> None:
    con.sql(_MERGE.format(table=folder))


def _merge_by_methods(_: Any, folder: Path, source: Any) -> None:
    from deltaarrow import DeltaTable

    merge_all(DeltaTable(folder), source)


# --- the pipeline ----------------------------------------------------------------------------------


def _pipeline(_: Path, scratch: Path, events: int) -> Iterator[Any]:
    import duckdb  # noqa: F401
    import sqlglot  # noqa: F401

    from deltaarrow.pipeline import OneNodeEngine

    yield
    yield from _batches(OneNodeEngine(), scratch, events)


def _on_spark(_: Path, scratch: Path, events: int) -> Iterator[Any]:
    from deltaarrow.pipeline import SparkEngine

    engine = SparkEngine(spark_session())
    yield
    yield from _batches(engine, scratch, events)


def _batches(engine: Any, scratch: Path, events: int) -> Iterator[Path]:
    """One batch after the other, each into a lake of its own."""
    from deltaarrow.pipeline import run_scripts

    for number in itertools.count():
        lake = scratch / str(number)
        list(run_scripts(engine, _PIPELINE, {"lake": lake, "events": events, "batch": 0}))
        yield lake


def _lake(lake: Path) -> dict[str, dict[str, str]]:
    return {table: describe_rows(lake / table) for table in _PIPELINE_TABLES}
