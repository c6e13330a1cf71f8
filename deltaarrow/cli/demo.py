"""The content of ``deltaarrow demo``: a small shop whose orders are written, changed, queried and compacted.

Every step runs the code that it shows and returns its real output.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.compute import quote_literal
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.engines import register, scan_delta
from deltaarrow.features import properties
from deltaarrow.runtime.optional import EXTRAS
from deltaarrow.scan import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.table import DeltaTable, write_deltalake

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
_LATE = f"""
    SELECT * REPLACE ('juice' AS product, 3.80::DECIMAL(10, 2) AS price) FROM orders WHERE order_id IN (2, 3)
    UNION ALL BY NAME ({_ORDERS})
"""
_PROPERTIES = {
    properties.ENABLE_DELETION_VECTORS.name: "true",
    properties.ENABLE_CHANGE_DATA_FEED.name: "true",
    properties.ENABLE_ROW_TRACKING.name: "true",
}
_ACTIONS = """
    SELECT parse_filename(filename, true)::INT AS version, any_value(commitInfo->>'operation') AS operation,
           count("add") AS "add", count(remove) AS remove, count(cdc) AS cdc,
           count("add"->'deletionVector') AS vectors,
           sum(("add"->>'$.deletionVector.cardinality')::BIGINT)::BIGINT AS "rows marked in them"
    FROM read_json(getvariable('log'), filename = true, format = 'newline_delimited',
                   columns = {commitInfo: 'JSON', add: 'JSON', remove: 'JSON', cdc: 'JSON'})
    GROUP BY version ORDER BY version
"""
_BATCH = 8192

Progress = Callable[[int], None]
"""Called with the number of rows just added to the table."""


@dataclass(frozen=True)
class Step:
    """One step of the demo: its title, the code it ran, and the output."""

    title: str
    code: str
    result: pa.Table | None = None
    note: str = ""


def run_demo(path: str | Path, rows: int, progress: Progress = lambda count: None) -> Iterator[Step]:
    """Write the table at `path`, which must not exist yet: `rows` rows and two more.

    Five commits write and change rows, a sixth compacts the table. Yields each step when it is done. Raises
    `DeltaError` if the engine refuses one.
    """
    uri = str(path)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield _write(uri, rows, connection, progress)
        yield _append(uri, rows, connection, progress)
        yield _update(uri)
        yield _delete(uri)
        yield _merge(uri, rows, connection)
        yield _show_actions(uri, connection)
        yield _show_vectors(uri)
        yield _show_changes(uri)
        yield _follow_row(uri)
        yield _look_back(uri)
        yield _query_duckdb(uri, connection)
    yield _query_polars(uri)
    yield _compact(uri)
    yield _vacuum(uri)


def _write(uri: str, rows: int, connection: duckdb.DuckDBPyConnection, progress: Progress) -> Step:
    chosen = {"first": 1, "last": rows * 3 // 4, "first_day": 0, "days": 3}
    orders = _counted(connection.sql(_ORDERS, params=chosen), progress)
    write_deltalake(uri, orders, partition_by=["day"], configuration=_PROPERTIES)
    return Step(
        "Write three days of orders, partitioned by day, from a stream",
        f'da.write_deltalake(path, orders, partition_by=["day"], configuration={_PROPERTIES})',
        _state(uri),
    )


def _append(uri: str, rows: int, connection: duckdb.DuckDBPyConnection, progress: Progress) -> Step:
    chosen = {"first": rows * 3 // 4 + 1, "last": rows, "first_day": 3, "days": 1}
    write_deltalake(uri, _counted(connection.sql(_ORDERS, params=chosen), progress), mode="append")
    return Step("Append the fourth day", 'da.write_deltalake(path, orders, mode="append")', _state(uri))


def _update(uri: str) -> Step:
    metrics = DeltaTable(uri).update({"price": "price - 0.20"}, predicate="product = 'tea'")
    return Step(
        "Tea was priced wrongly: update it",
        'table.update({"price": "price - 0.20"}, predicate="product = \'tea\'")',
        _state(uri, {"rows updated": metrics["num_updated_rows"], "rows copied": metrics["num_copied_rows"]}),
    )


def _delete(uri: str) -> Step:
    metrics = DeltaTable(uri).delete("order_id % 50 = 1")
    return Step(
        "Every 50th order was a test: delete them",
        'table.delete("order_id % 50 = 1")',
        _state(uri, {"rows deleted": metrics["num_deleted_rows"], "rows copied": metrics["num_copied_rows"]}),
    )


def _merge(uri: str, rows: int, connection: duckdb.DuckDBPyConnection) -> Step:
    register(connection, "orders", DeltaTable(uri))
    chosen = {"first": rows + 1, "last": rows + 2, "first_day": 3, "days": 1}
    late = connection.sql(_LATE, params=chosen).to_arrow_table()
    merger = DeltaTable(uri).merge(late, "t.order_id = s.order_id", source_alias="s", target_alias="t")
    metrics = merger.when_matched_update_all().when_not_matched_insert_all().execute()
    return Step(
        "Four orders came late, two of which change earlier ones: merge them",
        'table.merge(late, "t.order_id = s.order_id", source_alias="s", target_alias="t")'
        ".when_matched_update_all().when_not_matched_insert_all().execute()",
        _state(
            uri,
            {
                "rows updated": metrics["num_target_rows_updated"],
                "rows inserted": metrics["num_target_rows_inserted"],
                "files read": metrics["num_target_files_scanned"],
                "files skipped": metrics["num_target_files_skipped_during_scan"],
            },
        ),
    )


def _show_actions(uri: str, connection: duckdb.DuckDBPyConnection) -> Step:
    connection.execute(f"SET VARIABLE log = {quote_literal(f'{uri}/_delta_log/*.json')}")
    return Step(
        "What the commits hold: rows that go are marked, and only new rows are written",
        f'con.sql("{" ".join(_ACTIONS.split())}")',
        connection.sql(_ACTIONS).to_arrow_table(),
    )


def _show_vectors(uri: str) -> Step:
    snapshot = DeltaTable(uri).snapshot
    found: dict[str, list[int]] = {}
    for each in snapshot.files(columns=["deletion_vector"])["deletion_vector"].to_pylist():
        name = None if each is None else DeletionVectorDescriptor(**each).file_name()
        if name is not None:
            found.setdefault(name, []).append(each["cardinality"])
    return Step(
        "The deletion vectors of a commit share one file",
        'table.snapshot.files(columns=["deletion_vector"])',
        pa.table(
            {
                "file": pa.array(list(found), pa.string()),
                "bytes": pa.array([snapshot.store.size(name) for name in found], pa.int64()),
                "vectors in use": pa.array([len(counts) for counts in found.values()], pa.int64()),
                "rows marked": pa.array([sum(counts) for counts in found.values()], pa.int64()),
            }
        ),
    )


def _show_changes(uri: str) -> Step:
    table = DeltaTable(uri)
    columns = ["_change_type", "order_id", "customer", "product", "price"]
    changes = table.load_cdf(starting_version=table.version()).read_all().select(columns)
    return Step(
        "The change data feed of the merge, with rows as they were and as they are",
        "table.load_cdf(starting_version=table.version())",
        changes.sort_by([("order_id", "ascending"), ("_change_type", "descending")]),
    )


def _follow_row(uri: str) -> Step:
    table = DeltaTable(uri)
    columns = ["order_id", "product", "price", ROW_ID, ROW_COMMIT_VERSION]
    found = []
    for version in range(table.version() + 1):
        table.load_as_version(version)
        (row,) = table.to_pyarrow_table(columns=columns, filters=[("order_id", "=", 2)]).to_pylist()
        found.append({"version": version, **row})
    return Step(
        "A row keeps its id, whatever becomes of it",
        f'table.to_pyarrow_table(columns={columns}, filters=[("order_id", "=", 2)])',
        pa.Table.from_pylist(found),
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


def _compact(uri: str) -> Step:
    table = DeltaTable(uri)
    metrics = table.optimize.compact()
    return Step(
        "Compact small files and files with deleted rows; no row changes",
        "table.optimize.compact()",
        pa.table(
            {
                "version": [table.version()],
                "files before": [metrics["numFilesRemoved"]],
                "files after": [metrics["numFilesAdded"]],
                "vectors folded in": [metrics["numDeletionVectorsRemoved"]],
                "rows": [table.count()],
            }
        ),
    )


def _vacuum(uri: str) -> Step:
    reasons = DeltaTable(uri).vacuum_report(full=True).column("reason").value_counts()
    return Step(
        "See what a vacuum would delete, and why each file stays; removed files stay for a week",
        "table.vacuum_report(full=True)",
        pa.table({"reason": reasons.field("values"), "files": reasons.field("counts")}).sort_by("reason"),
    )


def _state(uri: str, counted: Mapping[str, int] | None = None) -> pa.Table:
    """The newest version according to the log, with the counts of a change; no data file is read."""
    table = DeltaTable(uri)
    return pa.table(
        {
            "version": [table.version()],
            "files": [table.get_add_actions().num_rows],
            "rows": [table.count()],
            **{name: [count] for name, count in (counted or {}).items()},
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
