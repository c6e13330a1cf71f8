"""Operations whose executors or driver die, and whose tasks run twice."""

import shutil

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.distributed import EVERYTHING, Twins, tracked
from tests.support.leftovers import files_of_log, files_of_version, files_on_disk
from tests.support.rows import assert_same_rows
from tests.support.spark_process import SPECULATING, SparkProcess, StandaloneCluster
from tests.support.vacuum import put, stored, vacuum

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


NEWS = pa.table({"id": [*range(0, 990, 3)], "n": [0] * 330, "p": ["p"] * 330})


def upsert(table):
    merger = table.merge(NEWS, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


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
    upsert(here)
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


SPECULATION = """
from functools import partial
import pyarrow as pa
from pyspark import TaskContext
import deltaarrow as da
from deltaarrow.runtime.executors import using
from deltaarrow.spark import SparkExecutor


def hesitate(task, number, name, marks):
    result = task()
    attempt = TaskContext.get().attemptNumber()
    if number == 0:
        (marks / f"{name} {attempt}").touch()
        while not (marks / f"{name} 1").exists():
            time.sleep(0.05)
    return result


class Hesitating(SparkExecutor):
    def run(self, tasks, limits, discard=lambda result: None):
        tasks = [partial(hesitate, task, number, OPERATION, marks) for number, task in enumerate(tasks)]
        yield from super().run(tasks, limits, discard)

    def parts(self, sizes):
        # Spark copies no task before half of the others are done.
        return [[*range(len(sizes))[first : first + 2]] for first in range(0, len(sizes), 2)]


table = da.DeltaTable(path)
news = pa.table({"id": [*range(0, 990, 3)], "n": [0] * 330, "p": ["p"] * 330})
merger = table.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
merger = merger.when_matched_update_all().when_not_matched_insert_all()
operations = {
    "delete": lambda: table.delete("id % 10 = 3"),
    "merge": lambda: merger.execute(),
    "update": lambda: table.update({"n": "n + id"}, predicate="id % 5 = 1"),
}
for OPERATION, operation in operations.items():
    with using(Hesitating(spark)):
        operation()
spark.stop()
"""


def test_a_speculative_copy_of_a_task_doubles_no_row(tmp_path):
    twins = Twins(tmp_path, EVERYTHING, files=9)
    twins.there.rename(tmp_path / "table")
    with (
        StandaloneCluster(tmp_path) as cluster,
        SparkProcess(SPECULATION, tmp_path, master=cluster.master, **SPECULATING) as spark,
    ):
        spark.finish()
    wanted = {f"{name} {attempt}" for name in ("delete", "merge", "update") for attempt in (0, 1)}
    assert wanted <= {file.name for file in spark.marks.iterdir()}
    here, there = da.DeltaTable(twins.here), da.DeltaTable(spark.table)
    here.delete("id % 10 = 3")
    upsert(here)
    here.update({"n": "n + id"}, predicate="id % 5 = 1")
    assert there.version() == here.version() == 11
    assert_same_rows(there.to_pyarrow_table(), here.to_pyarrow_table())
    assert_same_rows(*(_old(tracked(path)) for path in (spark.table, twins.here)))
    assert there.verify(deep=True).ok


NUMBERED = """
from functools import partial
import pyarrow as pa
from pyspark import TaskContext
import deltaarrow as da
from deltaarrow.runtime.executors import using
from deltaarrow.spark import SparkExecutor


def run(task, name, marks):
    result = task()
    if TaskContext.get().attemptNumber() == 0:
        (marks / name).touch()
        raise OSError("the first attempt fails after its files")
    return result


class Failing(SparkExecutor):
    jobs = 0

    def run(self, tasks, limits, discard=lambda result: None):
        Failing.jobs += 1
        names = [f"job {Failing.jobs} task {number}" for number in range(len(tasks))]
        tasks = [partial(run, task, name, marks) for task, name in zip(tasks, names)]
        yield from super().run(tasks, limits, discard)

    def parts(self, sizes):
        return [[place] for place in range(len(sizes))]


table = da.DeltaTable(path)
for first in (50, 100_000):
    news = pa.table({"id": [*range(first, first + 150_000)]})
    merger = table.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
    with using(Failing(spark)):
        merger.when_matched_update({"id": "-t.id"}).when_not_matched_insert({"id": "s.id"}).execute()
spark.stop()
"""


def test_tasks_that_are_run_again_give_each_number_once(tmp_path):
    """Two tasks have a file of the table each, and two insert rows; each of them is run twice."""
    identity = {"start": 5, "step": -1, "allowExplicitInsert": False}
    metadata = {f"delta.identity.{key}": value for key, value in identity.items()}
    fields = [da.Field("id", "long"), da.Field("number", "long", metadata=metadata)]
    here = da.DeltaTable.create(tmp_path / "table", da.Schema(fields))
    for first in (0, 100):
        da.write_deltalake(here, pa.table({"id": range(first, first + 100)}), mode="append")
    with SparkProcess(NUMBERED, tmp_path, master="local[2,4]") as spark:
        spark.finish()
    assert len(list(spark.marks.glob("job 2 task *"))) == len(list(spark.marks.glob("job 4 task *"))) == 2
    table = da.DeltaTable(spark.table)
    rows = table.to_pyarrow_table()
    ids = [*range(-150_049, -99_999), *range(-199, -49), *range(50), *range(200, 100_000)]
    assert sorted(rows["id"].to_pylist()) == [*ids, *range(150_050, 250_000)]
    numbers = rows["number"].to_pylist()
    assert len(set(numbers)) == len(numbers)
    assert table.snapshot.schema.field("number").metadata["delta.identity.highWaterMark"] == min(numbers)
    assert min(numbers) > 5 - 200 - 2 * 150_000 - 1
    assert table.verify(deep=True).ok


DRIVER = """
import pyarrow as pa
import deltaarrow as da
import deltaarrow.spark
from deltaarrow.transaction import FileSystemCommitter

commit = FileSystemCommitter.commit


def stopping(self, version, actions, lines=()):
    if AFTER:
        commit(self, version, actions, lines)
    mark("here")
    time.sleep(600)


FileSystemCommitter.commit = stopping
table = da.DeltaTable(path)
news = pa.table({"id": [*range(0, 990, 3)], "n": [0] * 330, "p": ["p"] * 330})
merger = table.merge(news, "t.id = s.id", source_alias="s", target_alias="t")
merger = merger.when_matched_update_all().when_not_matched_insert_all()
with deltaarrow.spark.on_executors(spark):
    {"merge": merger.execute, "z_order": lambda: table.optimize.z_order(["n"])}[OPERATION]()
"""


OPERATIONS = {"merge": upsert, "z_order": lambda table: table.optimize.z_order(["n"])}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_driver_killed_around_the_commit_leaves_the_table_whole(tmp_path, operation, after):
    twins = Twins(tmp_path, EVERYTHING, files=9)
    twins.there.rename(tmp_path / "table")
    before = da.DeltaTable(twins.here).to_pyarrow_table()
    script = f"AFTER, OPERATION = {after}, {operation!r}\n{DRIVER}"
    with SparkProcess(script, tmp_path, master="local[2]") as spark:
        spark.wait_for("here")
        spark.kill()
    table = da.DeltaTable(spark.table)
    assert table.version() == (9 if after else 8)
    left = files_on_disk(spark.table) - files_of_log(table)
    assert any(name.endswith(".parquet") for name in left) is not after
    # The driver deletes the source of a merge once it is through.
    assert any(name.endswith(".arrow") for name in left) is (operation == "merge")
    run, here = OPERATIONS[operation], da.DeltaTable(twins.here)
    run(here)
    wanted = here.to_pyarrow_table()
    assert_same_rows(table.to_pyarrow_table(), wanted if after else before)
    assert table.verify(deep=True).ok
    # Whoever runs it again has the same rows, and VACUUM takes what the dead driver has left.
    run(table)
    assert_same_rows(table.to_pyarrow_table(), wanted)
    table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert files_on_disk(spark.table) == files_of_version(table)
    assert_same_rows(da.DeltaTable(spark.table).to_pyarrow_table(), wanted)


LISTING = """
from functools import partial
import pyarrow as pa
import deltaarrow as da
from deltaarrow.operations import VacuumOptions, vacuum_files
from deltaarrow.runtime.executors import using
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark import SparkExecutor
from deltaarrow.storage import open_store


def executor():
    daemon = os.getppid()
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


def die_once(task, number, name, marks):
    result = task()
    if number == 0 and not (marks / name).exists():
        (marks / name).touch()
        os.kill(executor(), 9)
    return result


class Dying(SparkExecutor):
    jobs = 0

    def run(self, tasks, limits, discard=lambda result: None):
        Dying.jobs += 1
        mark(f"tasks {len(tasks)}")
        name = "listing" if Dying.jobs == 1 else "deleting"
        tasks = [partial(die_once, task, number, name, marks) for number, task in enumerate(tasks)]
        yield from super().run(tasks, limits, discard)


options = VacuumOptions(
    retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True, listed_here=0
)
with using(Dying(spark)):
    found = vacuum_files(Snapshot.load(open_store(path)), options)
(marks / "found.txt").write_text(chr(10).join(found.paths))
assert Dying.jobs == 2
spark.stop()
"""


def test_an_executor_killed_while_it_lists_or_deletes_changes_nothing_of_a_vacuum(tmp_path):
    here = tmp_path / "here"
    rows = pa.table({"id": range(80), "p": [id % 40 for id in range(80)]})
    da.write_deltalake(here, rows, partition_by="p", configuration={"delta.enableDeletionVectors": "true"})
    da.DeltaTable(here).delete("id IN (3, 4) OR p = 20")
    put(here, *(f"p={number}/deep/stray" for number in range(40)), "stray", "p=3/_hidden/f")
    shutil.copytree(here, tmp_path / "table")
    wanted = vacuum(here, 0, full=True, dry_run=False)
    with SparkProcess(LISTING, tmp_path, master="local-cluster[2,1,1024]", executor_memory="1g") as spark:
        spark.finish()
    marks = {file.name for file in spark.marks.iterdir()}
    assert {"listing", "deleting", "tasks 3", "tasks 1"} <= marks
    assert (spark.marks / "found.txt").read_text().splitlines() == wanted
    assert stored(spark.table) == stored(here)
    assert len(wanted) > 40
    assert_same_rows(da.DeltaTable(spark.table).to_pyarrow_table(), da.DeltaTable(here).to_pyarrow_table())
    assert da.DeltaTable(spark.table).verify(deep=True).ok
