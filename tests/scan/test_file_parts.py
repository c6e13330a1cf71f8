"""Files read in parts by several tasks: every row is in exactly one part."""

from dataclasses import replace

import pyarrow as pa
import pytest
from pyroaring import BitMap64

import deltaarrow as da
from deltaarrow.expressions import Column, Compare, Literal
from deltaarrow.scan import BatchReader, plan_scan

ROWS = 5000


@pytest.fixture(params=[False, True], ids=["clean", "deleted rows"])
def table(tmp_path, request):
    """One file of five row groups, with rows deleted in all of them or without."""
    data = pa.table({"id": range(ROWS), "p": ["x"] * ROWS})
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
    }
    da.write_deltalake(
        tmp_path,
        data,
        partition_by=["p"],
        configuration=properties,
        writer_properties=da.WriterProperties(max_row_group_size=1000),
    )
    found = da.DeltaTable(tmp_path)
    if request.param:
        with found.transaction("DELETE") as transaction:
            [file] = transaction.read_files().to_pylist(maps_as_pydicts="strict")
            transaction.remove_rows(file, BitMap64(range(0, ROWS, 10)))
    return found


def read_parts(table, columns, size, predicate=None):
    plan = plan_scan(table.snapshot, predicate, columns)
    [task] = plan.tasks
    parts = task.parts(size)
    reader = BatchReader(plan.layout, tuple(columns), predicate)
    return [pa.Table.from_batches(reader.read([part]), schema=reader.schema) for part in parts]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("columns", [["id"], ["p"], ["id", "_metadata.row_id"], ["_metadata.row_id"]])
def test_parts_hold_every_row_once(table, columns, count):
    [whole] = read_parts(table, columns, 1 << 40)
    [task] = plan_scan(table.snapshot).tasks
    parts = read_parts(table, columns, -(-task.size // count))
    assert len(parts) == count
    assert sum(part.num_rows > 0 for part in parts) == min(count, 5) or count < 7
    together = pa.concat_tables(parts)
    assert together.sort_by(columns[0]).equals(whole.sort_by(columns[0]))


def test_parts_are_filtered_like_the_whole(table):
    predicate = Compare(">=", Column(("id",)), Literal(3500))
    [task] = plan_scan(table.snapshot).tasks
    parts = read_parts(table, ["id"], task.size // 4, predicate)
    found = pa.concat_tables(parts)["id"].to_pylist()
    [whole] = read_parts(table, ["id"], 1 << 40, predicate)
    assert sorted(found) == sorted(whole["id"].to_pylist())
    assert 1500 * 0.9 <= sum(number >= 3500 for number in found) <= len(found) < ROWS * 0.5


def test_parts_are_counted(table):
    plan = plan_scan(table.snapshot, None, ["id"])
    [task] = plan.tasks
    reader = BatchReader(plan.layout, ("id",))
    assert sum(reader.count([part]) for part in task.parts(task.size // 3)) == table.count()


def test_size_that_the_log_has_wrong_loses_no_row(table):
    plan = plan_scan(table.snapshot, None, ["id"])
    reader = BatchReader(plan.layout, ("id",))
    for size in (10, 1 << 40):
        task = replace(plan.tasks[0], size=size)
        rows = sum(batch.num_rows for part in task.parts(-(-size // 4)) for batch in reader.read([part]))
        assert rows == table.count()
