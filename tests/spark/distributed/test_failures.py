"""Operations on executors that die, and tasks that are tried again after they have written their files."""

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.distributed import EVERYTHING, Twins, tracked
from tests.support.rows import assert_same_rows
from tests.support.spark_process import SparkProcess

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SCRIPT = """
from functools import partial
import pyarrow as pa
from pyspark import TaskContext
import deltaarrow as da
from deltaarrow.runtime.executors import using
from deltaarrow.spark import SparkExecutor


def executor():
    # The process that runs this task: the parent of the daemon that is the parent of this worker.
    daemon = os.getppid()
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


def run(task, number, name, marks):
    result = task()
    if number == 0 and name in FAILING and not (marks / name).exists():
        (marks / name).touch()
        if IS_KILLED:
            os.kill(executor(), 9)
        raise OSError("the first attempt fails after its files")
    return result


class Failing(SparkExecutor):
    def run(self, tasks, limits, discard=lambda result: None):
        tasks = [partial(run, task, number, OPERATION, marks) for number, task in enumerate(tasks)]
        yield from super().run(tasks, limits, discard)


table = da.DeltaTable(path)
news = pa.table({"id": [*range(0, 990, 3)], "n": [0] * 330, "p": ["p"] * 330})
merger = table.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
merger = merger.when_matched_update_all().when_not_matched_insert_all()
operations = {
    "delete": lambda: table.delete("id % 10 = 3"),
    "merge": lambda: merger.execute(),
    "clone": lambda: table.clone(str(path) + "_clone", shallow=False),
    "update": lambda: table.update({"n": "n + id"}, predicate="id % 5 = 1"),
    "compact": lambda: table.optimize.compact(),
    "z_order": lambda: table.optimize.z_order(["n"]),
}
# Tasks pickle this name with them, not the functions of this script.
for OPERATION, operation in operations.items():
    with using(Failing(spark)):
        operation()
spark.stop()
"""


@pytest.mark.parametrize(
    ("failing", "master"),
    [
        (("delete", "merge", "clone", "update", "compact", "z_order"), "local[2,4]"),
        (("update", "merge"), "local-cluster[2,1,1024]"),
    ],
    ids=["attempts fail", "an executor is killed"],
)
def test_a_task_that_is_run_again_changes_each_row_once(tmp_path, failing, master):
    twins = Twins(tmp_path, EVERYTHING, files=9)
    twins.there.rename(tmp_path / "table")
    script = f"FAILING, IS_KILLED = {failing}, {'cluster' in master}\n{SCRIPT}"
    with SparkProcess(script, tmp_path, master=master, executor_memory="1g") as spark:
        spark.finish()
    assert {file.name for file in spark.marks.iterdir()} == set(failing)
    here, there = da.DeltaTable(twins.here), da.DeltaTable(spark.table)
    here.delete("id % 10 = 3")
    news = pa.table({"id": [*range(0, 990, 3)], "n": [0] * 330, "p": ["p"] * 330})
    merger = here.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    merged = here.to_pyarrow_table()
    here.update({"n": "n + id"}, predicate="id % 5 = 1")
    here.optimize.compact()
    here.optimize.z_order(["n"])
    assert there.version() == here.version() == 13
    assert_same_rows(there.to_pyarrow_table(), here.to_pyarrow_table())
    # Inserted rows are in files of their own, and so have other ids than on one node.
    assert_same_rows(*(_old(tracked(path)) for path in (spark.table, twins.here)))
    clone = da.DeltaTable(f"{spark.table}_clone")
    assert_same_rows(clone.to_pyarrow_table(), merged)
    assert clone.verify(deep=True).ok
    assert there.verify(deep=True).ok
    named = {path.rpartition("/")[2] for version in range(14) for path in _files(spark.table, version)}
    left = {file.name for file in spark.table.rglob("part-*.parquet")} - named
    # DELETE leaves none: the driver writes its vectors. A second attempt of a clone finds the copies.
    assert len(left) >= len({*failing} - {"delete", "clone"})


def _old(rows):
    """The rows that no MERGE has inserted."""
    return rows.filter(pa.array([id < 900 and id % 10 != 3 for id in rows["id"].to_pylist()]))


def _files(table, version):
    return da.DeltaTable(table, version=version).file_uris()
