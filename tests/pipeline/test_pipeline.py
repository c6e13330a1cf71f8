"""The pipeline of ``sql/pipeline``: on Spark, followed on one node, and both at once."""

import os
import threading
import time

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import TableNotFoundError
from deltaarrow.pipeline import OneNodeEngine, SparkEngine, run_scripts
from tests.support.pipeline import SCRIPTS, follow
from tests.support.rows import assert_same_rows
from tests.support.spark import spark_table

EVENTS = 600

TABLES = ["bronze/events", "silver/orders", "gold/daily_sales"]
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


def maintain(lake):
    """Run the script of maintenance on one node."""
    (report,) = run_scripts(OneNodeEngine(), SCRIPTS / "04_maintenance.sql", {"lake": lake})
    return report


def versions(lake):
    return [DeltaTable(lake / name).version() for name in TABLES]


@pytest.mark.spark
def test_a_batch_is_run_on_spark_and_followed_and_maintained_on_one_node(spark, tmp_path):
    steps = scripts(spark, tmp_path, 0)
    assert [next(steps).name for _ in range(3)] == ["01_bronze", "02_silver", "03_gold"]
    gold, before = gold_rows(tmp_path), versions(tmp_path)
    assert gold == recomputed(spark, tmp_path)
    rows = {name: DeltaTable(tmp_path / name).to_pyarrow_table() for name in TABLES}
    stray = tmp_path / "gold/daily_sales/stray.parquet"
    stray.write_bytes(b"")
    os.utime(stray, (0, 0))
    report = maintain(tmp_path)
    assert not stray.exists()
    assert [each.operation for each in report.maintenance] == ["OPTIMIZE"] * 3 + ["VACUUM"] * 3
    assert report.maintenance[0].metrics["numFilesRemoved"] > 1
    rewritten = [each.metrics["numFilesRemoved"] > 0 for each in report.maintenance[:3]]
    vacuumed = [each.metrics["numDeletedFiles"] for each in report.maintenance[3:]]
    assert vacuumed == [0, 0, 1]
    # A VACUUM is two commits, here only if it deletes something, and in Spark always.
    ours = versions(tmp_path)
    assert ours == [
        first + is_new + 2 * is_vacuumed
        for first, is_new, is_vacuumed in zip(before, rewritten, vacuumed, strict=True)
    ]
    for name, each in rows.items():
        assert_same_rows(spark_table(spark, tmp_path / name), each)
    assert next(steps).name == "04_maintenance"
    assert [after - first for first, after in zip(ours, versions(tmp_path), strict=True)] == [2, 2, 2]
    assert maintain(tmp_path).is_idle
    follow(tmp_path)
    assert gold_rows(tmp_path) == gold
    with pytest.raises(Exception, match="batches have numbers from 0 on"):
        next(scripts(spark, tmp_path, -1))


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
def test_gold_follows_a_batch_that_spark_has_left_at_silver(spark, tmp_path):
    list(scripts(spark, tmp_path, 0))
    follow(tmp_path)
    batch = scripts(spark, tmp_path, 1)
    assert [next(batch).name, next(batch).name] == ["01_bronze", "02_silver"]
    assert gold_rows(tmp_path) != recomputed(spark, tmp_path)
    report = follow(tmp_path)
    assert report.metrics["num_target_rows_updated"] > 0
    assert gold_rows(tmp_path) == recomputed(spark, tmp_path)
