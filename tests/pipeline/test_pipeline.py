"""The pipeline of ``sql/pipeline``: on Spark, followed on one node, and both at once."""

import itertools
import threading
import time
from pathlib import Path

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import InvalidPredicateError, TableNotFoundError
from deltaarrow.pipeline import ExecutorsEngine, OneNodeEngine, SparkEngine, run_scripts
from tests.support.pipeline import SCRIPTS, follow

EVENTS = 600

TABLES = ["bronze/events", "silver/orders", "gold/daily_sales"]
MAINTENANCE = ("OPTIMIZE", "VACUUM START", "VACUUM END")
RECOMPUTED = """
SELECT order_date, product, count(*) AS orders, sum(CAST(quantity AS BIGINT)) AS quantity,
  CAST(sum(quantity * price) AS DECIMAL(28, 2)) AS revenue
FROM delta.`{silver}` GROUP BY order_date, product
"""


def gold_rows(lake):
    found = DeltaTable(lake / "gold/daily_sales").to_pyarrow_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def silver_rows(lake):
    return sorted(map(str, DeltaTable(lake / "silver/orders").to_pyarrow_table().to_pylist()))


def recomputed(spark, lake):
    return sorted(map(tuple, spark.sql(RECOMPUTED.format(silver=lake / "silver/orders")).collect()))


def scripts(spark, lake, batch, first=None):
    variables = {"lake": lake, "events": EVENTS, "batch": batch}
    return run_scripts(SparkEngine(spark), SCRIPTS, variables, first=first)


class Follower:
    """Follows in a thread until it is left."""

    def __init__(self, lake):
        self.lake = lake
        self.reports = []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.follow)

    def follow(self):
        while not self.stopped.is_set():
            self.reports.append(follow(self.lake))
            time.sleep(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stopped.set()
        self.thread.join()


def told(table):
    """What has to be the same of a table in two lakes."""
    rows = table.to_pyarrow_table()
    known = table.metadata()
    operations = [commit["operation"] for commit in reversed(table.history())]
    return {
        "columns": table.schema().to_json(),
        "partitioned by": known.partition_columns,
        "settings": {key: value for key, value in known.configuration.items() if "materialized" not in key},
        # Spark commits a VACUUM that deletes nothing, and has more files to compact.
        "operations": [name for name in operations if name not in MAINTENANCE],
        "rows": sorted(str(tuple(row.values())) for row in rows.to_pylist()),
    }


@pytest.mark.spark
def test_spark_and_one_node_make_the_same_bronze(spark, tmp_path):
    """The everyday part of `test_spark_and_one_node_make_the_same_lake`."""
    lakes = {"spark": (SparkEngine(spark), tmp_path / "s"), "one node": (OneNodeEngine(), tmp_path / "n")}
    found = {}
    for name, (engine, lake) in lakes.items():
        variables = {"lake": lake, "events": EVENTS, "batch": 0}
        report = next(run_scripts(engine, SCRIPTS, variables))
        assert report.name == "01_bronze"
        assert report.rows[str(lake / TABLES[0])] > EVENTS
        found[name] = told(DeltaTable(lake / TABLES[0]))
    assert found["one node"] == found["spark"]


@pytest.mark.spark
def test_statements_by_executors_change_rows_and_say_what_they_did(spark, tmp_path):
    table, engine = f"delta.`{tmp_path / 't'}`", ExecutorsEngine(spark)
    assert engine.run(f"CREATE TABLE {table} USING delta AS SELECT id FROM range(10)") is None
    source = "(SELECT id + 5 AS id FROM range(10))"
    merge = engine.run(
        f"MERGE INTO {table} AS t USING {source} AS s ON t.id = s.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    assert merge.metrics["num_target_rows_inserted"] == merge.metrics["num_target_rows_deleted"] == 5
    assert sorted(DeltaTable(tmp_path / "t").to_pyarrow_table()["id"].to_pylist()) == [
        *range(5),
        *range(10, 15),
    ]
    with pytest.raises(InvalidPredicateError):
        engine.run(f"DELETE FROM {table} WHERE id + 1")
    assert not engine.is_conflict(ValueError())


@pytest.mark.slow
@pytest.mark.spark
def test_executors_make_the_lake_that_one_node_makes(spark, tmp_path):
    lakes = {
        "executors": (ExecutorsEngine(spark), tmp_path / "e"),
        "one node": (OneNodeEngine(), tmp_path / "n"),
    }
    found, said = {}, {}
    for name, (engine, lake) in lakes.items():
        steps = list(run_scripts(engine, SCRIPTS, {"lake": lake, "events": 300, "batch": 0}))
        said[name] = [[(Path(path).name, rows) for path, rows in step.rows.items()] for step in steps]
        found[name] = {table: told(DeltaTable(lake / table)) for table in TABLES}
    assert said["executors"] == said["one node"]
    assert found["executors"] == found["one node"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("batches", [1, 2])
def test_spark_and_one_node_make_the_same_lake(spark, tmp_path, batches):
    """Batches by each, of which the last is not maintained."""
    lakes = {"spark": (SparkEngine(spark), tmp_path / "s"), "one node": (OneNodeEngine(), tmp_path / "n")}
    found = {}
    for name, (engine, lake) in lakes.items():
        for batch in range(batches):
            variables = {"lake": lake, "events": EVENTS, "batch": batch}
            steps = itertools.islice(
                run_scripts(engine, SCRIPTS, variables), 3 if batch == batches - 1 else 4
            )
            names = [each.name for each in steps]
        assert names == ["01_bronze", "02_silver", "03_gold"]
        with pytest.raises(Exception, match="batches have numbers from 0 on"):
            next(run_scripts(engine, SCRIPTS, {**variables, "batch": -1}))
        found[name] = {table: told(DeltaTable(lake / table)) for table in TABLES}
    for table in TABLES:
        assert found["one node"][table] == found["spark"][table], table
    node = tmp_path / "n"
    assert gold_rows(node) == recomputed(spark, node)
    assert len(gold_rows(node)) > 100
    version = DeltaTable(node / TABLES[2]).version()
    follow(node)
    assert {row["operation"] for row in DeltaTable(node / TABLES[2]).history(1)} == {"MERGE"}
    assert (DeltaTable(node / TABLES[2]).version(), gold_rows(node)) == (
        version + 1,
        gold_rows(tmp_path / "s"),
    )


@pytest.mark.slow
@pytest.mark.spark
def test_batches_are_run_on_spark_and_followed_on_one_node_at_once(spark, tmp_path):
    with pytest.raises(TableNotFoundError):
        follow(tmp_path)
    reports = list(scripts(spark, tmp_path, 0))
    assert [report.name for report in reports] == ["01_bronze", "02_silver", "03_gold", "04_maintenance"]
    assert reports[0].title == "Bronze: raw shop events as they arrive, every column a text"
    assert reports[0].rows[str(tmp_path / "bronze/events")] > EVENTS
    assert reports[1].rows[str(tmp_path / "silver/orders")] == DeltaTable(tmp_path / "silver/orders").count()
    assert all(min(report.files.values()) > 0 for report in reports[:3])
    assert all(report.seconds > 0 for report in reports)
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
    with Follower(tmp_path) as follower:
        for report in scripts(spark, tmp_path, 1):
            if report.name == "03_gold":
                break
    assert follow(tmp_path).metrics is None or follower.reports
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
    assert any(report.metrics is not None for report in follower.reports)
    # What was run before comes to the same, on either side.
    known = silver_rows(tmp_path)
    for batch in (1, 0):
        assert next(scripts(spark, tmp_path, batch, "02")).name == "02_silver"
        assert silver_rows(tmp_path) == known
    assert (follow(tmp_path).metrics or {"num_source_rows": 0})["num_source_rows"] == 0
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
    silver = DeltaTable(tmp_path / "silver/orders")
    assert silver.verify(deep=True).ok
    assert silver.metadata().configuration["delta.constraints.quantity_is_positive"] == "quantity > 0"
    with pytest.raises(Exception, match="quantity_is_positive"):
        spark.sql(f"UPDATE delta.`{tmp_path}/silver/orders` SET quantity = -1")


@pytest.mark.slow
@pytest.mark.spark
def test_spark_writes_silver_while_one_node_does_gold_and_maintenance(spark, tmp_path):
    list(scripts(spark, tmp_path, 0))
    stopped, reports = threading.Event(), []

    def work():
        engine = OneNodeEngine()
        while not stopped.is_set():
            reports.extend(
                run_scripts(engine, SCRIPTS, {"lake": tmp_path, "events": 1, "batch": 0}, first="03")
            )

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for batch in (1, 2):
            steps = [report.name for report in itertools.islice(scripts(spark, tmp_path, batch), 2)]
            assert steps == ["01_bronze", "02_silver"]
    finally:
        stopped.set()
        thread.join()
    assert {report.name for report in reports} == {"03_gold", "04_maintenance"}
    assert any(report.rows.get(str(tmp_path / TABLES[2])) for report in reports)
    list(run_scripts(OneNodeEngine(), SCRIPTS / "03_gold.sql", {"lake": tmp_path}))
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
    for name in TABLES:
        assert DeltaTable(tmp_path / name).verify(deep=True).ok


@pytest.mark.slow
@pytest.mark.spark
def test_gold_follows_a_batch_that_spark_has_left_at_silver(spark, tmp_path):
    list(scripts(spark, tmp_path, 0))
    follow(tmp_path)
    batch = scripts(spark, tmp_path, 1)
    assert [next(batch).name, next(batch).name] == ["01_bronze", "02_silver"]
    assert gold_rows(tmp_path) != recomputed(spark, tmp_path)
    report = follow(tmp_path)
    assert report.metrics["num_target_rows_updated"] > 0
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
