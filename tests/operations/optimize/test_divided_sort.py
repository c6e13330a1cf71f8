"""Z-order and clustering divided among tasks: the rows and the files of one node, whatever the tasks do."""

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap64

import deltaarrow as da
from deltaarrow.deletion_vectors import inline_deletion_vector
from deltaarrow.errors import ConcurrentDeleteReadException
from deltaarrow.operations.optimize import Rewriting, RewritingOptions, Selection, SortLimits, ZOrder
from deltaarrow.operations.optimize.divided_sort import DivisionRules, RangeTask, in_pieces
from deltaarrow.runtime.executors import TaskLimits, Threads, using
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.spark_sql import parse_condition
from tests.support.distributed import OnceExecutor, TwiceExecutor
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows

TRACKED = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.columnMapping.mode": "name",
}


def rows(number, size):
    random = np.random.default_rng(number)
    return pa.table(
        {
            "n": range(number * size, (number + 1) * size),
            "x": random.integers(0, 100_000, size),
            "y": [f"text {value:06}" for value in random.integers(0, 100_000, size)],
            "few": [f"kind {value % 3}" for value in range(size)],
        }
    )


def made(folder, files=8, size=1000, configuration=TRACKED, deleted="n % 10 = 3", **given):
    """Two copies of one table, whose files are in no order and have deleted rows."""
    for number in range(files):
        create = {"configuration": configuration, **given} if not number else {}
        da.write_deltalake(folder / "here", rows(number, size), mode="append", **create)
    da.DeltaTable(folder / "here").delete(deleted)
    shutil.copytree(folder / "here", folder / "there")
    return [da.DeltaTable(folder / name) for name in ("here", "there")]


def size_for(table, files):
    return sum(table.get_add_actions().column("size_bytes").to_pylist()) // files


def everything(table):
    return table.to_pyarrow_table(columns=[*table.snapshot.schema.names, ROW_ID, ROW_COMMIT_VERSION])


def opened(table):
    """How many files queries with conditions on either column, and on both, open."""
    conditions = [f"x BETWEEN {low} AND {low + 4000}" for low in range(0, 100_000, 7000)]
    conditions += [f"y BETWEEN 'text {low:06}' AND 'text {low + 4000:06}'" for low in range(0, 100_000, 7000)]
    conditions += [f"x < {high} AND y < 'text {high:06}'" for high in range(7000, 100_000, 7000)]
    predicates = [parse_condition(each, table.snapshot.schema).predicate for each in conditions]
    return sum(table.snapshot.files(predicate).num_rows for predicate in predicates)


def between(folder):
    """The files in between that are left."""
    return sorted(folder.glob("deltaarrow-sort-*.arrow"))


def assert_same_tables(here, there):
    assert here.version() == there.version()
    assert_same_rows(everything(there), everything(here))
    assert there.load_cdf(starting_version=there.version()).read_all().num_rows == 0
    assert list(there.verify(deep=True)) == []


def test_a_divided_z_order_skips_files_as_on_one_node(tmp_path):
    here, there = made(tmp_path)
    before, target = everything(here), size_for(here, 16)
    said = [here.optimize.z_order(["x", "y"], target_size=target)]
    with using(executor := OnceExecutor()):
        said.append(there.optimize.z_order(["x", "y"], target_size=target))
    # Two old files a task in the first phases, about two new ones in the last.
    assert executor.runs == 4 + 4 + 7
    assert [each["numFilesAdded"] for each in said] == pytest.approx([14, 14], abs=2)
    assert {name: each for name, each in said[0].items() if not name.startswith(("filesA", "numFilesA"))} == {
        name: each for name, each in said[1].items() if not name.startswith(("filesA", "numFilesA"))
    }
    assert_same_rows(everything(there), before)
    assert_same_tables(here, there)
    assert opened(there) <= opened(here) * 1.1
    assert between(tmp_path / "there") == []
    tags = [file["tags"] for file in there.snapshot.files().to_pylist(maps_as_pydicts="strict")]
    assert len({each["deltaarrow.zOrder"] for each in tags}) == 1
    assert there.optimize.z_order(["x", "y"], target_size=target, dry_run=True).num_files == 0


def test_attempts_that_run_twice_neither_lose_nor_double_rows(tmp_path):
    here, there = made(tmp_path, cluster_by=["x", "y"])
    target = size_for(here, 6)
    here.optimize(target_size=target)
    with using(executor := TwiceExecutor()):
        there.optimize(target_size=target)
    assert executor.runs > 8
    assert_same_tables(here, there)
    files = there.snapshot.files().to_pylist(maps_as_pydicts="strict")
    assert {each["clustering_provider"] for each in files} == {"liquid"}
    assert len({each["tags"]["ZCUBE_ID"] for each in files}) == 1
    # The first attempts of the second phase.
    assert len(between(tmp_path / "there")) == 4
    there.vacuum(0, dry_run=False, full=True, enforce_retention_duration=False)
    assert between(tmp_path / "there") == []


@pytest.mark.parametrize("memory", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_rows_of_every_kind_come_back_as_they_were(tmp_path, memory):
    """Variants, decimals and times, in a table with nearly all features, whatever the memory."""
    table = changed_table(tmp_path, {"delta.enableDeletionVectors": "true"})
    for _ in range(3):
        rows = table.to_pyarrow_table(columns=["id", "variant", "day", "at"]).slice(0, 40)
        da.write_deltalake(table, rows, mode="append")
    table = da.DeltaTable(tmp_path)
    before, bins = everything(table), 3
    assert table.optimize.z_order(["id"], target_size=3000, dry_run=True).num_partitions == bins
    with using(executor := TwiceExecutor(1)):
        table.optimize.z_order(["day", "price", "at", "note", "id"], target_size=3000, max_spill_size=memory)
    assert executor.runs > 3 * bins
    assert_same_rows(everything(table), before)
    assert list(table.verify(deep=True)) == []


ODD = {
    "nulls": [None, None, 1.0],
    "nothing but nulls": [None],
    "no numbers": [float("nan"), -0.0, 0.0, float("-inf"), None, 7.5],
    "one value": [7.0],
    "one value in most rows": [*[7.0] * 20, 1.0, 9.0],
}


@pytest.mark.parametrize("name", ODD)
def test_equal_values_and_values_that_are_none(tmp_path, name):
    values = pa.array([ODD[name][id % len(ODD[name])] for id in range(2000)], pa.float64())
    for number in range(4):
        part = pa.table({"n": range(500), "x": values.slice(number * 500, 500)})
        da.write_deltalake(tmp_path, part, mode="append", configuration=None if number else TRACKED)
    table = da.DeltaTable(tmp_path)
    before = everything(table)
    with using(executor := OnceExecutor(1)):
        table.optimize.z_order(["x"], target_size=size_for(table, 4))
    # No key is in two ranges, so one value is one task, which writes several files.
    assert executor.runs >= 4 + 4 + 1
    assert 3 <= table.snapshot.files().num_rows <= 5
    assert_same_rows(everything(table), before)
    assert list(table.verify(deep=True)) == []


def test_only_a_partition_that_would_keep_others_waiting_is_divided(tmp_path):
    for number in range(8):
        part = rows(number, 1000).append_column("p", pa.array([number % 2] * 1000))
        small = rows(number, 10).append_column("p", pa.array([2 + number] * 10))
        # The even numbers are one large partition.
        part = part if not number % 2 else part.slice(0, 20)
        da.write_deltalake(tmp_path, pa.concat_tables([part, small]), partition_by="p", mode="append")
    table = da.DeltaTable(tmp_path)
    before = table.to_pyarrow_table()
    told = []
    with using(executor := OnceExecutor(1)):
        metrics = table.optimize.z_order(
            ["x"], target_size=size_for(table, 30), progress=lambda *each: told.append(each)
        )
    assert metrics["partitionsOptimized"] == metrics["numBatches"] == len(told) == 10
    assert told[-1][0] == told[-1][1]
    # Four files of the large partition twice, and then its new files and the other partitions.
    large = table.get_add_actions(flatten=True).column("partition.p").to_pylist().count(0)
    assert executor.runs == 4 + 4 + large + 9
    assert_same_rows(table.to_pyarrow_table(), before)


def test_one_new_file_and_a_bin_that_few_tasks_read_are_not_divided(tmp_path):
    _, there = made(tmp_path, files=4, size=100)
    with using(executor := OnceExecutor(2)):
        there.optimize.z_order(["y"], target_size=size_for(there, 4))
    assert executor.runs == 1
    with using(executor := OnceExecutor(1)):
        there.optimize.z_order(["x"])
    assert executor.runs == 1


def test_a_bin_without_rows(tmp_path):
    """Nobody has recorded how many rows the files have, and deletion vectors mark all of them."""
    configuration = {"delta.enableDeletionVectors": "true"}
    _, there = made(tmp_path, files=4, size=100, configuration=configuration, deleted="n < 0")
    added = there.snapshot.files().to_pylist(maps_as_pydicts="strict")
    vector = inline_deletion_vector(BitMap64(range(100)))
    actions = [
        {
            "add": {
                "path": each["path"],
                "partitionValues": {},
                "size": each["size"],
                "modificationTime": 0,
                "dataChange": True,
                "deletionVector": vector.to_json(),
            }
        }
        for each in added
    ]
    actions += [{"remove": {"path": each["path"], "dataChange": True}} for each in added]
    commit = tmp_path / "there" / "_delta_log" / f"{there.version() + 1:020d}.json"
    commit.write_text("\n".join(map(json.dumps, actions)))
    there.update_incremental()
    assert there.to_pyarrow_table().num_rows == 0
    with using(executor := OnceExecutor(1)):
        metrics = there.optimize.z_order(["x"], target_size=size_for(there, 4))
    assert executor.runs == 4 + 4
    assert (metrics["numFilesRemoved"], metrics["numFilesAdded"]) == (4, 0)
    assert there.snapshot.files().num_rows == 0


def test_large_files_are_divided_by_row_groups(tmp_path):
    properties = da.WriterProperties(max_row_group_size=500)
    da.write_deltalake(tmp_path, rows(1, 5000), configuration=TRACKED, writer_properties=properties)
    table = da.DeltaTable(tmp_path)
    table.delete("n % 3 = 0")
    before = everything(table)
    order = ZOrder.by(table.snapshot, ["x", "y"], size_for(table, 6))
    sorting = order.sorting(SortLimits())
    plan = order.plan(Selection())
    work = Rewriting(table.snapshot, plan, "OPTIMIZE", {}, RewritingOptions(), sorting=sorting)
    (task,) = work.tasks
    rules = DivisionRules(largest_span=size_for(table, 5), sampled_rows=500)
    with using(OnceExecutor(1)), in_pieces([task], TaskLimits(1, "test"), rules) as (pieces,):
        assert all(isinstance(each, RangeTask) for each in pieces)
        assert len({piece.name for each in pieces for piece in each.pieces}) > 3
        added = [file for each in pieces for file in each.run().added]
    assert len(pieces) >= 3
    with table.transaction() as transaction:
        transaction.rewrite(plan.scan.files, added)
    table.update_incremental()
    assert_same_rows(everything(table), before)


class LosingExecutor(OnceExecutor):
    """Loses the last piece of a file in between, as a task would that read other rows than before."""

    def run(self, tasks, limits, discard=lambda result: None):
        for place, result in super().run(tasks, limits, discard):
            if hasattr(result, "pieces"):
                result = replace(result, pieces=(*result.pieces[:-1], ()))
            yield place, result


def test_rows_that_get_lost_between_tasks_are_an_error(tmp_path):
    _, there = made(tmp_path, files=4, size=200)
    files = {*(tmp_path / "there").rglob("*.*")}
    with using(LosingExecutor(1)), pytest.raises(AssertionError, match="when they were sampled"):
        there.optimize.z_order(["x"], target_size=size_for(there, 4))
    assert {*(tmp_path / "there").rglob("*.*")} == files


class FailingExecutor(OnceExecutor):
    """Fails after so many tasks."""

    def __init__(self, after):
        super().__init__(1)
        self.after = after

    def run(self, tasks, limits, discard=lambda result: None):
        def guarded(task):
            if self.runs == self.after:
                raise OSError("the disk is full")
            return task()

        yield from super().run([lambda task=task: guarded(task) for task in tasks], limits, discard)


@pytest.mark.parametrize("after", [2, 6, 10])
def test_a_failure_in_any_phase_leaves_no_file(tmp_path, after):
    _, there = made(tmp_path, files=4, size=200)
    files = {*(tmp_path / "there").rglob("*.*")}
    with using(FailingExecutor(after)), pytest.raises(OSError, match="the disk is full"):
        there.optimize.z_order(["x"], target_size=size_for(there, 4))
    assert {*(tmp_path / "there").rglob("*.*")} == files


class MeanwhileExecutor(OnceExecutor):
    """Lets another writer in before the results of the last tasks come back one by one."""

    def __init__(self, meanwhile):
        super().__init__(1)
        self.meanwhile = meanwhile

    def run(self, tasks, limits, discard=lambda result: None):
        found = list(super().run(tasks, limits, discard))
        if self.runs > 8:
            with using(Threads()):
                self.meanwhile()
        yield from reversed(found)


def test_a_deletion_meanwhile_is_a_conflict(tmp_path):
    here, there = made(tmp_path, files=4, size=200)
    here.delete("n = 7")
    path, target = tmp_path / "there", size_for(there, 4)
    executor = MeanwhileExecutor(lambda: da.DeltaTable(path).delete("n = 7"))
    with using(executor), pytest.raises(ConcurrentDeleteReadException):
        there.optimize.z_order(["x"], target_size=target)
    assert_same_rows(everything(da.DeltaTable(path)), everything(here))
    live = {each.rpartition("/")[2] for each in da.DeltaTable(path).file_uris()}
    assert {each.name for each in path.rglob("*.parquet")} == live
    assert between(path) == []


def test_new_files_are_in_the_order_of_the_curve(tmp_path):
    """The tasks are done in another order."""
    _, there = made(tmp_path, files=4, size=200, configuration={})
    with using(MeanwhileExecutor(lambda: None)):
        there.optimize.z_order(["x"], target_size=size_for(there, 4))
    log = (tmp_path / "there" / "_delta_log" / f"{there.version():020d}.json").read_text().splitlines()
    added = [json.loads(json.loads(line)["add"]["stats"]) for line in log if line.startswith('{"add"')]
    bounds = [(each["minValues"]["x"], each["maxValues"]["x"]) for each in added]
    assert len(bounds) > 2
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(bounds))
