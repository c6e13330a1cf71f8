"""Z-order: narrow bounds in new files, with every row as it was; what is refused, and what is left alone."""

import datetime
import json
import pickle
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import deltaarrow.operations.optimize.sort_task as sort_task
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentDeleteReadException,
    InvalidPredicateError,
    MemoryLimitError,
    SchemaMismatchError,
)
from deltaarrow.operations.optimize import Rewriting, RewritingOptions, Selection, SortLimits, ZOrder
from deltaarrow.runtime.executors import using
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from deltaarrow.spark_sql import parse_condition
from deltaarrow.write import write_files
from tests.support.distributed import OnceExecutor
from tests.support.examples import examples
from tests.support.many_features import changed_table
from tests.support.rows import assert_same_rows

TRACKED = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}


def made(path, files=4, size=2000, configuration=None, **columns):
    """A table with numbers `x`, texts `y` and a place `n`, all of them in no order."""
    random = np.random.default_rng(1)
    for number in range(files):
        data = {
            "n": range(number * size, (number + 1) * size),
            "x": random.integers(0, 100_000, size),
            "y": [f"text {value:06}" for value in random.integers(0, 100_000, size)],
        }
        given = columns | {name: pa.array(values) for name, values in data.items()}
        write_deltalake(path, pa.table(given), mode="append", configuration=None if number else configuration)
    return DeltaTable(path)


def size_for(table, files):
    return sum(table.get_add_actions().column("size_bytes").to_pylist()) // files


def opened(table, condition):
    """How many files a query with a condition opens."""
    return table.snapshot.files(parse_condition(condition, table.snapshot.schema).predicate).num_rows


def test_a_condition_on_any_column_opens_few_files(tmp_path):
    table = made(tmp_path)
    before = table.to_pyarrow_table()
    metrics = table.optimize.z_order(["x", "y"], target_size=size_for(table, 16))
    assert metrics["numFilesAdded"] == 16
    assert opened(table, "x < 24000") == 4
    assert opened(table, "y >= 'text 076000'") == 4
    assert opened(table, "x < 24000 and y >= 'text 076000'") == 1
    assert_same_rows(table.to_pyarrow_table(), before)
    assert list(table.verify(deep=True)) == []


def test_rows_keep_their_ids_whatever_the_table_has(tmp_path):
    for number, (vectors, memory) in enumerate([("true", None), ("false", 10_000)]):
        table = changed_table(tmp_path / str(number), {"delta.enableDeletionVectors": vectors})
        names = [*table.snapshot.schema.names, ROW_ID, ROW_COMMIT_VERSION]
        before, version = table.to_pyarrow_table(columns=names), table.version()
        table.optimize.z_order(["day", "price", "at", "note", "id"], max_spill_size=memory)
        assert table.version() == version + 1
        assert_same_rows(table.to_pyarrow_table(columns=names), before)
        assert list(table.verify(deep=True)) == []
        changes = table.load_cdf(starting_version=version + 1).read_all()
        assert changes.num_rows == 0


def test_beyond_memory_the_result_is_the_same(tmp_path):
    first, second = made(tmp_path / "a"), made(tmp_path / "b")
    first.optimize.z_order(["x", "y"], target_size=size_for(first, 5))
    second.optimize.z_order(["x", "y"], target_size=size_for(second, 5), memory_limit="200KB")
    assert first.to_pyarrow_table().sort_by("n") == second.to_pyarrow_table().sort_by("n")
    for name in ("min", "max"):
        bounds = [
            sorted(map(str, each.get_add_actions().column(name).to_pylist())) for each in (first, second)
        ]
        assert bounds[0] == bounds[1]


def test_fewer_temporary_files_than_needed(tmp_path):
    table = made(tmp_path)
    files = {each.name for each in tmp_path.glob("*.parquet")}
    with pytest.raises(MemoryLimitError, match="max_temp_directory_size"):
        table.optimize.z_order(["x"], max_spill_size=1000, max_temp_directory_size=1000)
    assert {each.name for each in tmp_path.glob("*.parquet")} == files


def test_nothing_changed_nothing_done(tmp_path):
    table = made(tmp_path, configuration=TRACKED)
    target = size_for(table, 3)
    table.optimize.z_order(["x", "y"], target_size=target)
    version = table.version()
    metrics = table.optimize.z_order(["x", "y"], target_size=target)
    assert (table.version(), metrics["numFilesRemoved"], metrics["totalFilesSkipped"]) == (version, 0, 3)
    table.delete("n = 5")
    assert table.optimize.z_order(["x", "y"], target_size=target, dry_run=True).num_files == 0
    # Other columns, another size, new rows, or many deleted ones: it is done again.
    assert table.optimize.z_order(["y", "x"], target_size=target, dry_run=True).num_files == 3
    assert table.optimize.z_order(["x", "y"], target_size=target + 1, dry_run=True).num_files == 3
    table.delete("n % 10 = 5")
    assert table.optimize.z_order(["x", "y"], target_size=target, dry_run=True).num_files == 3


def test_new_rows_are_laid_out_with_the_old_ones(tmp_path):
    table = made(tmp_path, files=1)
    table.optimize.z_order(["x"])
    write_deltalake(table, pa.table({"n": [-1], "x": [5], "y": ["t"]}), mode="append")
    assert table.optimize.z_order(["x"])["numFilesRemoved"] == 2
    assert table.optimize.z_order(["x"])["numFilesRemoved"] == 0


def test_tags_say_what_was_done(tmp_path):
    table = made(tmp_path, files=1, size=100)
    table.optimize.z_order(["x"], target_size=2)
    tags = table.snapshot.files().column("tags").to_pylist(maps_as_pydicts="strict")
    assert len({each["deltaarrow.zOrder"] for each in tags}) == 1
    found = json.loads(tags[0]["deltaarrow.zOrder"])
    assert (found["columns"], found["targetSize"]) == ([["x"]], 2)


def test_a_renamed_column_is_still_the_same(tmp_path):
    table = made(tmp_path, files=1, configuration={"delta.columnMapping.mode": "name"})
    table.optimize.z_order(["x"])
    table.alter.rename_column("x", "z")
    assert table.optimize.z_order(["z"], dry_run=True).num_files == 0


def test_each_partition_by_itself(tmp_path):
    for day in (1, 1, 2):
        data = pa.table({"day": [day] * 50, "x": list(range(50))})
        write_deltalake(tmp_path, data, partition_by="day", mode="append")
    table = DeltaTable(tmp_path)
    metrics = table.optimize.z_order(["x"], partition_filters=[("day", "=", 1)])
    assert (metrics["numFilesRemoved"], metrics["partitionsOptimized"], metrics["numBatches"]) == (2, 1, 1)
    plan = table.optimize.z_order(["x"], predicate="day in (1, 2)", dry_run=True)
    assert [len(each) for each in plan.paths] == [1]
    done = []
    table.optimize.z_order(
        ["x"], min_commit_interval=datetime.timedelta(0), progress=lambda *each: done.append(each)
    )
    assert done[-1][0] == done[-1][1] == plan.num_bytes


def test_history_says_what_spark_says(tmp_path):
    table = made(tmp_path)
    table.optimize.z_order(["x", "y"])
    (commit,) = table.history(1)
    assert commit["operation"] == "OPTIMIZE"
    assert commit["operationParameters"] == {
        "predicate": "[]",
        "zOrderBy": '["x","y"]',
        "clusterBy": "[]",
        "auto": "false",
    }
    assert commit["operationMetrics"]["numRemovedFiles"] == "4"
    log = (tmp_path / "_delta_log" / f"{table.version():020d}.json").read_text().splitlines()
    files = [action for line in log for action in json.loads(line).values() if "path" in action]
    assert [each["dataChange"] for each in files] == [False] * 5


def test_metrics_are_those_of_deltalake(tmp_path):
    metrics = made(tmp_path).optimize.z_order(["x"])
    assert metrics["preserveInsertionOrder"] is False
    assert (metrics["numBatches"], metrics["totalConsideredFiles"], metrics["totalFilesSkipped"]) == (1, 4, 0)


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([], ValueError, "at least one"),
        ("x", ValueError, "list of columns"),
        (["nope"], SchemaMismatchError, "nope"),
        (["x", "X"], SchemaMismatchError, "twice"),
        (["day"], SchemaMismatchError, "partition column"),
        (["list"], SchemaMismatchError, "no order"),
        (["late"], SchemaMismatchError, "no statistics"),
        (["s"], SchemaMismatchError, "no order"),
    ],
)
def test_bad_columns_are_refused(tmp_path, columns, error, message):
    data = {"day": [1], "x": [1], "list": [[1]], "s": [{"a": 1}], "late": [1]}
    configuration = {"delta.dataSkippingNumIndexedCols": "3"}
    write_deltalake(tmp_path, pa.table(data), partition_by="day", configuration=configuration)
    table = DeltaTable(tmp_path)
    with pytest.raises(error, match=message):
        table.optimize.z_order(columns)
    assert DeltaTable(tmp_path).version() == 0


def test_other_arguments_are_refused(tmp_path):
    table = made(tmp_path, files=1)
    for argument in ({"target_size": 0}, {"max_spill_size": 0}, {"max_temp_directory_size": -1}):
        with pytest.raises(ValueError, match=next(iter(argument))):
            table.optimize.z_order(["x"], **argument)
    with pytest.raises(ValueError, match="memory limit"):
        table.optimize.z_order(["x"], memory_limit="much")
    with pytest.raises(InvalidPredicateError):
        table.optimize.z_order(["x"], predicate="x = 1")
    assert table.version() == 0


def test_a_clustered_table_takes_no_z_order(tmp_path):
    write_deltalake(tmp_path, pa.table({"x": [1], "y": [2]}), cluster_by=["x"])
    table = DeltaTable(tmp_path)
    with pytest.raises(SchemaMismatchError, match="clustered by x"):
        table.optimize.z_order(["y"])


def test_a_deletion_meanwhile_is_a_conflict(tmp_path):
    table = made(tmp_path, configuration=TRACKED)
    before = table.to_pyarrow_table()
    with pytest.raises(ConcurrentDeleteReadException):
        table.optimize.z_order(["x"], progress=lambda *_: DeltaTable(tmp_path).delete("n = 7"))
    left = DeltaTable(tmp_path)
    assert left.version() == table.version() + 1
    assert_same_rows(left.to_pyarrow_table(), before.filter(pa.compute.not_equal(before["n"], 7)))
    live = set(left.snapshot.files().column("path").to_pylist())
    assert {each.name for each in tmp_path.glob("*.parquet")} == live


def test_an_append_meanwhile_is_none(tmp_path):
    table = made(tmp_path)
    rows = pa.table({"n": [-1], "x": [5], "y": ["t"]})
    table.optimize.z_order(["x"], progress=lambda *_: write_deltalake(tmp_path, rows, mode="append"))
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 8001


def test_a_table_without_rows(tmp_path):
    write_deltalake(tmp_path, pa.table({"x": [1, 2]}), configuration=TRACKED)
    table = DeltaTable(tmp_path)
    table.delete("x = 1")
    path = table.snapshot.files().column("path").to_pylist()
    assert table.optimize.z_order(["x"])["numFilesAdded"] == 1
    assert table.snapshot.files().column("path").to_pylist() != path
    table.delete()
    assert table.optimize.z_order(["x"])["numFilesAdded"] == 0


def test_tasks_travel(tmp_path):
    table = made(tmp_path, files=2)
    order = ZOrder.by(table.snapshot, ["x"], None)
    plan = order.plan(Selection())
    sorting = order.sorting(SortLimits())
    work = Rewriting(table.snapshot, plan, "OPTIMIZE", {}, RewritingOptions(), sorting=sorting)
    (task,) = work.tasks
    (added,) = pickle.loads(pickle.dumps(task)).run().added
    assert json.loads(added.stats)["numRecords"] == 4000


def test_a_failure_leaves_no_file(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    table = made(tmp_path / "t")
    files = {each.name for each in (tmp_path / "t").glob("*.parquet")}
    calls = []

    def write(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 3:
            assert list(folder.iterdir())
            raise OSError("the disk is full")
        return write_files(*arguments, **options)

    monkeypatch.setattr(sort_task, "write_files", write)
    with pytest.raises(OSError, match="the disk is full"):
        table.optimize.z_order(["x"], target_size=size_for(table, 5), max_spill_size=10_000)
    assert {each.name for each in (tmp_path / "t").glob("*.parquet")} == files
    assert list(folder.iterdir()) == []
    assert DeltaTable(tmp_path / "t").version() == table.version()


EXAMPLES = given(
    st.lists(
        st.sampled_from(
            [
                "append",
                "delete",
                "update",
                "z_order",
                "divided",
                "other columns",
                "compact",
                "purge",
                "spill",
            ]
        ),
        min_size=3,
        max_size=8,
    )
)


@settings(max_examples=examples(3), deadline=None)
@EXAMPLES
def test_no_history_changes_rows(steps):
    check_history(steps)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@EXAMPLES
def test_no_history_changes_rows_in_many_examples(steps):
    check_history(steps)


def check_history(steps):
    """Rows, their ids and the change feed are what they are without the operations that only lay out."""
    with tempfile.TemporaryDirectory() as folder:
        table = made(folder, files=2, size=30, configuration=TRACKED | {"delta.enableChangeDataFeed": "true"})
        names = ["n", "x", "y", ROW_ID, ROW_COMMIT_VERSION]
        for number, step in enumerate(steps):
            before, version = table.to_pyarrow_table(columns=names), table.version()
            optimizer = table.optimize
            match step:
                case "append":
                    rows = pa.table({"n": [1000 + number, None], "x": [None, 7], "y": ["", None]})
                    write_deltalake(table, rows, mode="append")
                    table.update_incremental()
                case "delete":
                    table.delete(f"n % 5 = {number % 5}")
                case "update":
                    table.update({"x": "x + 1"}, predicate=f"n % 7 = {number % 7}")
                case "z_order":
                    optimizer.z_order(["x", "y"], target_size=600)
                case "divided":
                    with using(OnceExecutor(1)):
                        optimizer.z_order(["y", "x"], target_size=600)
                case "other columns":
                    optimizer.z_order(["y", "n"])
                case "spill":
                    optimizer.z_order(["x"], max_spill_size=1)
                case "compact":
                    optimizer.compact()
                case "purge":
                    optimizer.purge()
            if step in ("append", "delete", "update"):
                continue
            assert_same_rows(table.to_pyarrow_table(columns=names), before)
            assert_same_rows(DeltaTable(folder, version=version).to_pyarrow_table(columns=names), before)
            if table.version() > version:
                assert table.load_cdf(starting_version=version + 1).read_all().num_rows == 0
        assert list(table.verify(deep=True)) == []
