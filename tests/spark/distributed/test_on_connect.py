"""Operations on executors of Spark Connect: the client plans and commits, the server has the tasks run."""

import importlib.util

import pytest

import deltaarrow as da
from tests.support.distributed import EVERYTHING, Twins, tracked
from tests.support.spark_process import SparkProcess

SCRIPT = """
import pyarrow as pa
import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.runtime.executors import using
from deltaarrow.spark import SparkExecutor
from deltaarrow.spark.tables import DeltaTable

assert "connect" in type(spark).__module__


class Counting(SparkExecutor):
    jobs = 0

    def run(self, tasks, limits, discard=lambda result: None):
        Counting.jobs += 1
        yield from super().run(tasks, limits, discard)


table = da.DeltaTable(path)
with using(Counting(spark)):
    table.delete("id % 10 = 3")
    news = pa.table({"id": [7, 8, 250, 5000], "n": [70, 80, 25, 50], "p": ["p1", "p0", "x", "y"]})
    merger = table.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    table.update({"n": "n + id"}, predicate="id % 5 = 1")
    table.optimize.compact()
assert Counting.jobs >= 4, Counting.jobs
with deltaarrow.spark.on_executors(spark):
    try:
        table.update({"id": "id + 1000000"}, predicate="id % 3 = 1")
    except ConstraintViolationError as error:
        assert "on an executor of Spark" in error.__notes__[0]
        mark("refused")
    table.optimize.z_order(["n"])
    DeltaTable.forPath(spark, path).delete("id = 1")
    con = da.connect(dialect="spark")
    con.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
mark("done")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio")
def test_operations_of_a_client_run_on_the_executors_of_its_server(tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=9)
    twins.there.rename(tmp_path / "table")
    with SparkProcess(SCRIPT, tmp_path, remote="local[2]") as spark:
        spark.finish()
    assert {"refused", "done"} <= {file.name for file in spark.marks.iterdir()}
    rows = tracked(twins.here).to_pylist()
    news = {7: (70, "p1"), 8: (80, "p0"), 250: (25, "x"), 5000: (50, "y")}
    wanted = {row["id"]: (row["n"], row["p"]) for row in rows if row["id"] % 10 != 3} | news
    wanted = {id: (n + id if id % 5 == 1 else n, p) for id, (n, p) in wanted.items() if id not in (1, 2)}
    found = tracked(spark.table).to_pylist()
    assert {row["id"]: (row["n"], row["p"]) for row in found} == wanted
    assert len(found) == len(wanted)
    assert da.DeltaTable(spark.table).verify(deep=True).ok
