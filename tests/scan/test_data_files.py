"""Footers and deletion vectors are read once and cached within a limit."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.cache import set_cache_limit
from deltaarrow.scan.batches import BatchReader
from deltaarrow.scan.column_binding import Binding
from deltaarrow.scan.data_files import DataFiles
from deltaarrow.scan.plan import plan_scan
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

BINDING = Binding(pa.schema([]), (), frozenset(), frozenset())


@pytest.fixture
def builder(tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    files = [
        table.add_file(pa.table({"id": [n, n + 1, n + 2]}), deletion_vector=table.deletion_vector([1]))
        for n in range(0, 9, 3)
    ]
    table.commit(files)
    return table


def opened(files, tasks):
    vectors = files.vectors(tasks)
    return [files.open(task, vectors, lambda schema, path: BINDING) for task in tasks]


def test_what_was_opened_is_kept(builder):
    tasks = plan_scan(open_snapshot(builder.path)).tasks
    files = DataFiles(open_snapshot(builder.path).store)
    assert not files.has(tasks)
    first = opened(files, tasks)
    for path in [*builder.path.glob("*.parquet"), *builder.path.glob("*.bin")]:
        path.unlink()
    assert files.has(tasks)
    again = opened(files, tasks)
    assert [file.fragment for file in again] == [file.fragment for file in first]
    assert [file.num_rows() for file in again] == [2, 2, 2]


def test_without_room_nothing_is_kept(builder):
    store = open_snapshot(builder.path).store
    tasks = plan_scan(open_snapshot(builder.path)).tasks
    set_cache_limit(0)
    try:
        files = DataFiles(store)
        assert [file.num_rows() for file in opened(files, tasks)] == [2, 2, 2]
        assert not any(files.has([task]) for task in tasks)
    finally:
        set_cache_limit()


def test_a_file_that_is_missing_is_named(builder):
    tasks = plan_scan(open_snapshot(builder.path)).tasks
    (builder.path / tasks[1].path).unlink()
    with pytest.raises(CorruptDataFileError, match=tasks[1].path):
        opened(DataFiles(open_snapshot(builder.path).store), tasks)


def test_datasets_keep_them_from_scan_to_scan_and_filtered_ones_share_them(builder):
    dataset = DeltaTable(builder.path).to_pyarrow_dataset()
    assert dataset.count_rows() == 6
    for path in builder.path.glob("*.bin"):
        path.unlink()
    assert sorted(dataset.to_table()["id"].to_pylist()) == [0, 2, 3, 5, 6, 8]
    assert dataset.filter(pc.field("id") > 5).to_table()["id"].to_pylist() == [6, 8]


def test_readers_pickle_without_them(builder):
    plan = plan_scan(open_snapshot(builder.path))
    reader = BatchReader(plan.layout, ("id",), kept_files=DataFiles(plan.store))
    list(reader.read(plan.tasks))
    again = pickle.loads(pickle.dumps(reader))
    assert again.kept_files is None
    assert not again.files.has(plan.tasks)
    assert sum(batch.num_rows for batch in again.read(plan.tasks)) == 6
