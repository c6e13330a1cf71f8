"""Statements on one node: what a MERGE reports, which changes it follows, and what is refused by name."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    DeltaError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltaarrow.pipeline import OneNodeEngine, run_scripts
from deltaarrow.table.merger import TableMerger
from tests.support.pipeline import SCRIPTS

SET = "SET spark.databricks.delta.write.txnAppId = sums"


def numbers(*rows):
    return pa.table({"id": [id for id, _ in rows], "n": [n for _, n in rows]})


@pytest.fixture
def source(tmp_path):
    table = tmp_path / "source"
    feed = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    write_deltalake(table, numbers((1, 10), (2, 20)), configuration=feed)
    return table


@pytest.fixture
def target(tmp_path):
    write_deltalake(tmp_path / "target", numbers((1, 1), (9, 9)))
    return tmp_path / "target"


def rows(table):
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def merge(target, query, clauses, *, engine=None, on="t.id = s.id"):
    statement = f"MERGE INTO delta.`{target}` AS t USING ({query}) AS s ON {on} {clauses}"
    return (engine or OneNodeEngine()).run(statement)


ALL = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def test_report_on_a_merge_has_its_metrics(source, target):
    report = merge(target, f"SELECT * FROM delta.`{source}`", ALL)
    assert rows(target) == [(1, 10), (2, 20), (9, 9)]
    assert (report.table, report.changes) == (str(target), {})
    assert report.metrics["num_source_rows"] == 2


def test_query_reads_the_target_at_the_version_that_is_merged_into(source, target):
    joined = f"delta.`{source}` AS s JOIN delta.`{target}` AS t USING (id)"
    merge(target, f"SELECT id, (s.n + t.n)::BIGINT AS n FROM {joined}", ALL)
    assert rows(target) == [(1, 11), (9, 9)]


def test_query_alone_is_run_to_its_end(source):
    engine = OneNodeEngine()
    assert engine.run(f"SELECT * FROM delta.`{source}`") is None
    with pytest.raises(ConstraintViolationError, match="too many"):
        engine.run(f"SELECT assert_true(n < 20, 'too many') FROM delta.`{source}`")
    assert engine.run("SELECT 1") is None


FEED = "SELECT id, n FROM table_changes_by_path('{}'{}) WHERE _change_type IN ('insert', 'update_postimage')"


@pytest.mark.parametrize(
    ("versions", "found"),
    [(", 0", [1, 2, 3, 4]), (", 1", [3, 4]), (", 1, 1", [3]), (", 0, 1", [1, 2, 3])],
)
def test_change_data_feed_of_versions(source, target, versions, found):
    for number in (3, 4):
        write_deltalake(source, numbers((number, number)), mode="append")
    report = merge(
        target, FEED.format(source, versions), "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    assert report.metrics["num_source_rows"] == len(found)
    assert {id for id, _ in rows(target)} == {9, *found} - {1} | ({1} - {*found})
    assert DeltaTable(target).transaction_version("sums") is None


def test_changes_since_the_last_merge_begin_with_all_rows(source, target):
    columns = "_change_type AS change, _commit_version AS version, _commit_timestamp AS at"
    query = (
        f"SELECT id, n, {columns}, is_incremental() AS goes_on FROM table_changes_by_path('{source}') AS c"
    )
    clauses = "WHEN NOT MATCHED THEN INSERT *"
    log = target.with_name("log")
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("n", pa.int64()),
            ("change", pa.string()),
            ("version", pa.int64()),
            ("at", pa.timestamp("us", "UTC")),
            ("goes_on", pa.bool_()),
        ]
    )
    write_deltalake(log, schema.empty_table())
    write_deltalake(source, numbers((3, 30)), mode="append")
    engine = OneNodeEngine()
    assert engine.run(SET) is None
    first = merge(log, query, clauses, engine=engine, on="false")
    assert first.changes == {str(source): (0, 1)}
    DeltaTable(source).update({"n": "n + 1"}, predicate="id = 1")
    second = merge(log, query, clauses, engine=engine, on="false")
    assert second.changes == {str(source): (2, 2)}
    assert merge(log, query, clauses, engine=engine, on="false").metrics is None
    assert DeltaTable(log).transaction_version("sums") == 2
    found = DeltaTable(log).to_pyarrow_table().to_pylist()
    told = sorted((row["id"], row["n"], *list(row.values())[2:4], row["goes_on"]) for row in found)
    assert told == [
        (1, 10, "insert", 1, False),
        (1, 10, "update_preimage", 2, True),
        (1, 11, "update_postimage", 2, True),
        (2, 20, "insert", 1, False),
        (3, 30, "insert", 1, False),
    ]
    feed = DeltaTable(source).load_cdf(1).read_all().select(["_commit_version", "_commit_timestamp"])
    times = {row["_commit_version"]: row["_commit_timestamp"] for row in feed.to_pylist()}
    assert {row["version"]: row["at"].replace(tzinfo=None) for row in found} == {
        version: time.replace(tzinfo=None) for version, time in times.items()
    }


INTO = "MERGE INTO delta.`{t}` t USING "
ON = " s ON t.id = s.id WHEN MATCHED THEN DELETE"
REFUSED = {
    "CALL something()": "a statement or a query is expected",
    "SET spark.sql.shufle.partitions = 8": "spark.sql.shufle.partitions means nothing here",
    f"{INTO}(SELECT * FROM table_changes_by_path('{{s}}')){ON}": "put SET spark.*txnAppId = name",
    f"{INTO}(SELECT * FROM table_changes_by_path('{{s}}', 1 + 1)){ON}": "an argument that is not a literal",
    f"{INTO}(SELECT * FROM table_changes_by_path('{{s}}', 1, 2, 3)){ON}": "a first and possibly a last",
    f"{INTO}(SELECT 1 AS id WHERE is_incremental()){ON}": "the query does not read",
    f"{INTO}(SELECT 1 AS id WHERE is_incremental(1)){ON}": "IS_INCREMENTAL is not supported",
    "SELECT is_incremental()": "IS_INCREMENTAL is not supported",
    "SELECT * FROM table_changes_by_path('{s}')": "a first and possibly a last version follow",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_is_not_supported_is_refused_by_name(source, target, statement):
    before = DeltaTable(target).version()
    with pytest.raises(UnsupportedFeatureError, match=REFUSED[statement]):
        OneNodeEngine().run(statement.format(s=source, t=target))
    assert DeltaTable(target).version() == before


def test_changes_of_two_tables_are_refused(source, target):
    engine = OneNodeEngine()
    engine.run(SET)
    feeds = (f"SELECT id, n FROM table_changes_by_path('{table}')" for table in (source, target))
    with pytest.raises(UnsupportedFeatureError, match="the changes of one table, and not of 2"):
        merge(target, " UNION ALL ".join(feeds), ALL, engine=engine)
    feed = f"SELECT id, n FROM table_changes_by_path('{source}')"
    assert merge(target, feed, ALL, engine=engine).changes == {str(source): (0, 0)}


def test_statement_that_fails_leaves_the_connection_usable(source, target, monkeypatch):
    failed = []

    def fail(merger):
        failed.append(merger)
        raise ConcurrentAppendException("someone else was first")

    engine = OneNodeEngine()
    with monkeypatch.context() as patched:
        patched.setattr(TableMerger, "execute", fail)
        for _ in range(2):
            with pytest.raises(ConcurrentAppendException):
                merge(target, f"SELECT * FROM delta.`{source}`", ALL, engine=engine)
    assert (
        merge(target, f"SELECT * FROM delta.`{source}`", ALL, engine=engine).metrics["num_source_rows"] == 2
    )


def test_tables_and_columns_that_are_not_there(source, target):
    with pytest.raises(TableNotFoundError):
        merge(target.with_name("nothing"), "SELECT 1 AS id", ALL)
    with pytest.raises(TableNotFoundError):
        merge(target, f"SELECT * FROM delta.`{source}s`", ALL)
    with pytest.raises(DeltaError, match="nowhere"):
        merge(target, f"SELECT * FROM delta.`{source}`", "WHEN MATCHED AND nowhere = 1 THEN DELETE")


def test_query_reads_no_variable_of_python(source, target):
    numbers_of_python = numbers((1, 2))
    with pytest.raises(TableNotFoundError, match="numbers_of_python"):
        merge(target, "SELECT * FROM numbers_of_python", ALL)
    assert numbers_of_python.num_rows == 1


def test_scripts_of_the_pipeline_are_run_without_spark(tmp_path):
    def run(batch, first=None):
        variables = {"lake": tmp_path, "events": 300, "batch": batch}
        return [report.name for report in run_scripts(OneNodeEngine(), SCRIPTS, variables, first=first)]

    names = ["bronze/events", "silver/orders", "gold/daily_sales"]
    assert run(0) == run(1) == ["01_bronze", "02_silver", "03_gold", "04_maintenance"]
    lake = {name: rows(tmp_path / name) for name in names}
    assert min(map(len, lake.values())) > 50
    silver = DeltaTable(tmp_path / "silver/orders")
    assert silver.metadata().configuration["delta.constraints.quantity_is_positive"] == "quantity > 0"
    assert all(at.date() == day for *_, at, _, day in rows(tmp_path / "silver/orders"))
    assert sum(orders for _, _, orders, _, _ in lake["gold/daily_sales"]) == silver.count()
    # What was run before comes to the same.
    assert run(0, "02") == ["02_silver", "03_gold", "04_maintenance"]
    assert {name: rows(tmp_path / name) for name in names} == lake
    with pytest.raises(ConstraintViolationError, match="batches have numbers from 0 on"):
        run(-1)
