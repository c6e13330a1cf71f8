"""Z-order and clustering divided among tasks of Spark: larger tables, and tasks that fail or run twice."""

import shutil

import numpy as np
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.runtime.executors import using
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.spark.executor import SparkExecutor
from deltaarrow.spark_sql import parse_condition
from tests.support.distributed import EVERYTHING, Twins, tracked
from tests.support.leftovers import files_of_version, files_on_disk
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_rows
from tests.support.spark_process import SPECULATING, SparkProcess, StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark]

FILES, ROWS = 48, 12_000
CONFIGURATION = {name: value for name, value in EVERYTHING.items() if "constraints" not in name}


def rows(number):
    random = np.random.default_rng(number)
    numbers = random.normal(size=ROWS)
    numbers[:: 7 + number] = np.nan
    return pa.table(
        {
            "id": range(number * ROWS, (number + 1) * ROWS),
            "x": pa.array(numbers, mask=np.arange(ROWS) % 11 == 5),
            "day": pa.array(random.integers(0, 3000, ROWS), pa.int32()).cast(pa.date32()),
            "kind": [f"kind {each}" for each in random.integers(0, 5, ROWS)],
            "text": [f"text {each:09}" for each in random.integers(0, 10**9, ROWS)],
            # One large partition, and two small ones.
            "p": [1] * 11_700 + [2] * 200 + [3] * 100,
        }
    )


def opened(table):
    conditions = [f"x BETWEEN {low / 4} AND {low / 4 + 0.1}" for low in range(-8, 8)]
    conditions += [f"day BETWEEN date'{year}-01-01' AND date'{year}-03-01'" for year in range(1970, 1978)]
    conditions += [f"x > {low / 4} AND day < date'{1974 + low}-01-01'" for low in range(-3, 4)]
    predicates = [parse_condition(each, table.snapshot.schema).predicate for each in conditions]
    return sum(table.snapshot.files(predicate).num_rows for predicate in predicates)


class Counting(SparkExecutor):
    """Counts its jobs."""

    jobs = 0

    def run(self, tasks, limits, discard=lambda result: None):
        self.jobs += 1
        yield from super().run(tasks, limits, discard)


@pytest.mark.parametrize("layout", [{}, {"partition_by": "p"}, {"cluster_by": ["x", "day"]}])
def test_files_are_as_narrow_as_on_one_node(spark, tmp_path, layout):
    for number in range(FILES):
        given = {"configuration": CONFIGURATION, **layout} if not number else {}
        da.write_deltalake(tmp_path / "here", rows(number), mode="append", **given)
    da.DeltaTable(tmp_path / "here").delete("id % 9 = 4")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    here, there = (da.DeltaTable(tmp_path / name) for name in ("here", "there"))
    target = sum(here.get_add_actions().column("size_bytes").to_pylist()) // 40

    def lay_out(table):
        if "cluster_by" in layout:
            return table.optimize(target_size=target)
        return table.optimize.z_order(["x", "day"], target_size=target)

    lay_out(here)
    with using(executor := Counting(spark)):
        lay_out(there)
    assert executor.jobs == 3
    assert there.version() == here.version()
    assert there.snapshot.files().num_rows == pytest.approx(here.snapshot.files().num_rows, abs=3)
    assert opened(there) <= opened(here) * 1.05
    names = [*here.snapshot.schema.names, ROW_ID, ROW_COMMIT_VERSION]
    assert_same_rows(there.to_pyarrow_table(columns=names), here.to_pyarrow_table(columns=names))
    query = f"SELECT * FROM {delta_table(tmp_path / 'there')}"
    assert_same_rows(spark_rows(spark.sql(query)), here.to_pyarrow_table())
    assert there.verify(deep=True).ok
    assert [*(tmp_path / "there").glob("*.arrow")] == []


DIVIDED = """
from functools import partial
import deltaarrow as da
from deltaarrow.runtime.executors import using
from deltaarrow.spark import SparkExecutor


class Divided(SparkExecutor):
    jobs = 0

    def parts(self, sizes):
        places = range(len(sizes))
        return [list(places[first : first + 2]) for first in places[::2]]

    def run(self, tasks, limits, discard=lambda result: None):
        name = f"job {self.jobs}"
        self.jobs += 1
        tasks = [partial(run, task, number, name, marks) for number, task in enumerate(tasks)]
        yield from super().run(tasks, limits, discard)


with using(Divided(spark)):
    da.DeltaTable(path).optimize.z_order(["n", "id"], target_size=2000)
spark.stop()
"""

FAILING = """
def run(task, number, name, marks):
    result = task()
    if number == 0 and not (marks / name).exists():
        (marks / name).touch()
        if IS_KILLED:
            # The process that runs this task: the parent of the daemon that is the parent of this worker.
            daemon = os.getppid()
            os.kill(int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]), 9)
        raise OSError("the first attempt fails after its files")
    return result
"""

HESITATING = """
from pyspark import TaskContext


def run(task, number, name, marks):
    result = task()
    attempt = TaskContext.get().attemptNumber()
    if number == 0:
        (marks / f"{name} {attempt}").touch()
        while not (marks / f"{name} 1").exists():
            time.sleep(0.05)
    return result
"""


def made(tmp_path):
    """Two copies of a table with deleted rows; one is where a driver in another process expects it."""
    twins = Twins(tmp_path, EVERYTHING, files=9)
    for path in (twins.here, twins.there):
        da.DeltaTable(path).delete("id % 10 = 3")
    twins.there.rename(tmp_path / "table")
    da.DeltaTable(twins.here).optimize.z_order(["n", "id"], target_size=2000)
    return twins.here


def assert_laid_out(here, there):
    table = da.DeltaTable(there)
    assert table.version() == da.DeltaTable(here).version()
    assert_same_rows(tracked(there), tracked(here))
    assert table.verify(deep=True).ok
    # The lost attempts of the second and of the third job.
    assert any(name.endswith(".arrow") for name in files_on_disk(there))
    table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert files_on_disk(there) == files_of_version(table)
    assert_same_rows(tracked(there), tracked(here))


@pytest.mark.parametrize(
    "master", ["local[2,4]", "local-cluster[2,1,1024]"], ids=["attempts fail", "an executor is killed"]
)
def test_attempts_that_fail_in_any_phase_neither_lose_nor_double_rows(tmp_path, master):
    here = made(tmp_path)
    script = f"IS_KILLED = {'cluster' in master}\n{FAILING}{DIVIDED}"
    with SparkProcess(script, tmp_path, master=master, executor_memory="1g") as spark:
        spark.finish()
    assert {file.name for file in spark.marks.iterdir()} == {"job 0", "job 1", "job 2"}
    assert_laid_out(here, spark.table)


def test_speculative_copies_in_any_phase_neither_lose_nor_double_rows(tmp_path):
    here = made(tmp_path)
    with (
        StandaloneCluster(tmp_path) as cluster,
        SparkProcess(HESITATING + DIVIDED, tmp_path, master=cluster.master, **SPECULATING) as spark,
    ):
        spark.finish()
    wanted = {f"job {job} {attempt}" for job in range(3) for attempt in (0, 1)}
    assert wanted <= {file.name for file in spark.marks.iterdir()}
    assert_laid_out(here, spark.table)
