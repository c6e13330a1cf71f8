"""Rows gathered by partition before they are written: one file a partition, rows in their order."""

import tempfile

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.runtime.clock import system_clock
from deltaarrow.schema import Schema
from deltaarrow.storage import open_store
from deltaarrow.write import WritePlan
from deltaarrow.write.file_layout import DATA_FILES, FileLayout
from deltaarrow.write.file_writer import FileWriter, added_files

PARTITIONS = 30


def batches(count=20, rows=3 * PARTITIONS):
    """Batches each of which has rows of all partitions, among them NULL."""
    for number in range(count):
        ids = range(number * rows, (number + 1) * rows)
        yield pa.record_batch(
            {"id": list(ids), "p": [None if id % PARTITIONS == 7 else id % PARTITIONS for id in ids]}
        )


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def written(root, memory=1 << 20, fewest_files=True, source=None):
    source = list(batches()) if source is None else source
    plan = WritePlan(
        store=open_store(root),
        schema=Schema.from_arrow(source[0].schema),
        partition_columns=("p",),
        fewest_files=fewest_files,
    )
    layout = FileLayout(plan, DATA_FILES, system_clock)
    with FileWriter(layout, waiting_bytes=2000, max_open=3, gathered_bytes=memory) as writer:
        for batch in source:
            writer.write(batch)
        return added_files(plan, writer.finish())


@pytest.mark.parametrize("memory", [1, 20_000, 1 << 30])
def test_each_partition_has_one_file_with_its_rows_in_order(tmp_path, temporary, memory):
    import pyarrow.parquet as pq

    files = written(tmp_path / "t", memory)
    assert len(files) == PARTITIONS
    found = {}
    for file in files:
        found[file.partition_values["p"]] = (
            pq.read_table(tmp_path / "t" / file.path, partitioning=None).column("id").to_pylist()
        )
    every = range(20 * 3 * PARTITIONS)
    assert found == {
        None if place == 7 else str(place): [id for id in every if id % PARTITIONS == place]
        for place in range(PARTITIONS)
    }
    assert list(temporary.iterdir()) == []


def test_without_it_partitions_have_many(tmp_path):
    assert len(written(tmp_path, fewest_files=False)) > 2 * PARTITIONS


def test_a_write_that_fails_leaves_nothing(tmp_path, temporary):
    def failing():
        yield from batches()
        assert list(temporary.iterdir()), "rows are beyond memory"
        raise OSError("the source is gone")

    plan_source = list(batches(1))
    schema = Schema.from_arrow(plan_source[0].schema)
    plan = WritePlan(
        store=open_store(tmp_path / "t"), schema=schema, partition_columns=("p",), fewest_files=True
    )
    layout = FileLayout(plan, DATA_FILES, system_clock)
    with pytest.raises(OSError, match="gone"), FileWriter(layout, gathered_bytes=1) as writer:
        for batch in failing():
            writer.write(batch)
    assert list(temporary.iterdir()) == []
    assert not list(tmp_path.glob("t/**/*.parquet"))


def test_large_row_groups_do_not_begin_another_file(tmp_path):
    rows = pa.table({"id": range(5_000_000)})
    for name, wanted in (("gathered", {"optimizeWrite": True}), ("usual", None)):
        write_deltalake(tmp_path / name, rows, options=wanted)
    counts = [len(DeltaTable(tmp_path / name).file_uris()) for name in ("gathered", "usual")]
    assert counts[0] == 1 <= counts[1]


def spread(count=300):
    """Rows of more partitions than files may be open, a row group of each at a time."""
    for number in range(3):
        yield pa.record_batch(
            {"id": [number] * count, "p": list(range(count)), "text": ["x" * 150_000] * count}
        )


def test_an_option_goes_before_the_property(tmp_path):
    counts = []
    for text, off in (("true", "false"), ("false", "true")):
        path, on = tmp_path / text, {"delta.autoOptimize.optimizeWrite": off}
        stream = pa.RecordBatchReader.from_batches(next(spread()).schema, spread())
        write_deltalake(path, stream, partition_by="p", configuration=on, options={"optimizeWrite": text})
        counts.append(len(DeltaTable(path).file_uris()))
    assert counts[0] == 300 < counts[1]


def test_rules_hold(tmp_path):
    on = {"delta.autoOptimize.optimizeWrite": "true"}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.int64())])
    table = DeltaTable.create(tmp_path, schema, partition_by=["p"], configuration=on)
    with pytest.raises(ConstraintViolationError, match="id"):
        write_deltalake(table, pa.table({"id": [1, None], "p": [1, 2]}), mode="append")
    assert not list(tmp_path.glob("p=*/*"))
