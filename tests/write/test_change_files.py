"""Change data files: names, layout, rows; and the files that remain after a failure."""

import datetime as dt
import decimal
import os
import re
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.actions import render_action
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.schema import ChangeType, Field, Schema, StructType
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import decode_path, open_store
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.variant import parse_json
from deltaarrow.write import ChangeFileWriter, WritePlan, with_change_type, write_change_files, write_inserts
from tests.support.rows import assert_same_rows

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
NAME = f"cdc-00000-{UUID}.c000.snappy.parquet"


def plan_for(root, schema, **options):
    if isinstance(schema, pa.Schema):
        schema = Schema.from_arrow(schema)
    return WritePlan(store=open_store(root), schema=schema, **options)


def files_in(root):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)


def changed(kind=ChangeType.DELETE, **columns):
    return with_change_type(pa.RecordBatch.from_pydict(columns), kind)


def test_a_file_is_named_as_spark_names_it(tmp_path):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64()}))
    rows = [changed(a=[1]), changed(ChangeType.UPDATE_PREIMAGE, a=[2])]
    (cdc,) = write_change_files(plan, rows)
    assert re.fullmatch(f"_change_data/{NAME}", cdc.path)
    assert render_action(cdc) == {
        "cdc": {
            "path": cdc.path,
            "partitionValues": {},
            "size": os.path.getsize(tmp_path / cdc.path),
            "dataChange": False,
        }
    }
    assert pq.read_table(tmp_path / cdc.path).to_pydict() == {
        "a": [1, 2],
        "_change_type": ["delete", "update_preimage"],
    }


def test_partitions_are_folders_below_the_one_of_changes(tmp_path):
    schema = pa.schema({"d": pa.date32(), "a": pa.int64(), "s": pa.string()})
    plan = plan_for(tmp_path, schema, partition_columns=("d", "s"))
    rows = changed(d=[dt.date(2020, 1, 1), None], a=[1, 2], s=["b/=%é", ""])
    first, second = write_change_files(plan, [rows])
    assert re.fullmatch(
        f"_change_data/d=2020-01-01/s=b%252F%253D%2525é/{NAME}", first.path.replace("cdc-00001", "cdc-00000")
    )
    assert first.partition_values == {"d": "2020-01-01", "s": "b/=%é"}
    assert second.partition_values == {"d": None, "s": None}
    file = pq.ParquetFile(tmp_path / decode_path(first.path))
    assert file.read().to_pydict() == {"a": [1], "_change_type": ["delete"]}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_the_type_of_a_change_is_not_mapped(tmp_path, mode):
    meta = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    plan = plan_for(tmp_path, Schema([Field("x y", "long", metadata=meta)]), mapping_mode=mode)
    (cdc,) = write_change_files(plan, [changed(**{"x y": [7]})])
    file = pq.ParquetFile(tmp_path / cdc.path)
    assert file.schema_arrow.names == ["col-1", "_change_type"]
    assert [field.metadata for field in file.schema_arrow] == [{b"PARQUET:field_id": b"1"}, None]


def test_no_rows_no_file(tmp_path):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64()}))
    assert write_change_files(plan, iter([])) == []
    assert write_change_files(plan, [changed(a=pa.array([], pa.int64()))]) == []
    assert files_in(tmp_path) == []


def test_a_row_without_a_type_is_refused(tmp_path):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64()}))
    with pytest.raises(ConstraintViolationError, match="'_change_type'"):
        write_change_files(plan, [pa.RecordBatch.from_pydict({"a": [1]})])
    with pytest.raises(SchemaMismatchError, match="'b'"):
        write_change_files(plan, [changed(b=[1])])
    assert files_in(tmp_path) == []


def test_a_failing_stream_leaves_nothing(tmp_path):
    seen = []

    def stream():
        for _ in range(20):
            yield changed(x=[os.urandom(1000) for _ in range(3000)])
            seen.extend(name for name in files_in(tmp_path) if name.endswith(".parquet"))
        raise KeyboardInterrupt

    plan = plan_for(tmp_path, pa.schema({"x": pa.binary()}), target_file_size=1)
    for write in (write_change_files, write_inserts):
        seen.clear()
        batches = stream() if write is write_change_files else (each.select(["x"]) for each in stream())
        with pytest.raises(KeyboardInterrupt):
            write(plan, batches)
        assert seen, "no file was finished before the failure: the test shows nothing"
        assert files_in(tmp_path) == []


def test_data_files_go_when_change_data_files_fail(tmp_path, monkeypatch):
    plan = plan_for(tmp_path, pa.schema({"x": pa.int64()}))

    def open_output(name, **options):
        if name.startswith("_change_data"):
            raise OSError("no space left")
        return type(plan.store).open_output(plan.store, name, **options)

    monkeypatch.setattr(plan.store, "open_output", open_output)
    with pytest.raises(OSError, match="no space left"):
        write_inserts(plan, [pa.RecordBatch.from_pydict({"x": [1]})])
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("finished", [False, True])
def test_a_writer_that_is_left_early_leaves_nothing(tmp_path, finished):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64()}))
    with ChangeFileWriter(plan) as writer:
        writer.write(changed(a=[1]))
        if finished:
            (cdc,) = writer.finish()
    assert files_in(tmp_path) == ([str(tmp_path / cdc.path)] if finished else [])
    with pytest.raises(RuntimeError, match="no"), ChangeFileWriter(plan) as writer:
        writer.write(changed(a=[2]))
        writer.finish()
        raise RuntimeError("no")
    assert len(files_in(tmp_path)) == finished


def test_rows_that_are_inserted_are_written_twice_and_read_once(tmp_path):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64(), "b": pa.string()}), data_change=True)
    adds, changes = write_inserts(plan, iter([pa.RecordBatch.from_pydict({"a": [1, 2]})]))
    (add,), (cdc,) = adds, changes
    rows = pq.read_table(tmp_path / add.path)
    assert rows.to_pydict() == {"a": [1, 2], "b": [None, None]}
    assert '"numRecords":2' in add.stats
    recorded = pq.read_table(tmp_path / cdc.path)
    assert recorded.drop_columns("_change_type").equals(rows)
    assert recorded["_change_type"].to_pylist() == ["insert", "insert"]


# --- read back -------------------------------------------------------------------------------------

TYPES = ["byte", "short", "integer", "long", "float", "double", "boolean", "binary", "string", "date"]
TYPES += ["timestamp", "timestamp_ntz", "decimal(9,2)", "decimal(38,4)"]
VALUES = {
    "byte": -1,
    "short": 300,
    "integer": 70_000,
    "long": 1 << 40,
    "float": float("inf"),
    "double": -0.5,
    "boolean": True,
    "binary": b"\0\xff",
    "string": "é",
    "date": dt.date(1969, 12, 31),
    "timestamp": dt.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
    "timestamp_ntz": dt.datetime(2020, 1, 1, 2, 3),
    "decimal(9,2)": decimal.Decimal("-1.25"),
    "decimal(38,4)": decimal.Decimal(10**30),
}
INSIDE = StructType([Field("in side", "long"), Field("w", "variant")])


def every_type():
    """A schema with each type, once as a data column and once as a partition column, and a row of it."""
    fields = [Field(f"c {kind}", kind) for kind in TYPES]
    fields += [Field("void", "void"), Field("v", "variant"), Field("s", INSIDE)]
    keys = [kind for kind in TYPES if kind not in ("float", "binary")]
    fields += [Field(f"p {kind}", kind) for kind in keys]
    schema = Schema(fields)
    row = {f"{part} {kind}": VALUES[kind] for part in "cp" for kind in TYPES if part == "c" or kind in keys}
    variant = parse_json(pa.array(['{"a": [1, null, "x"]}']))[0].as_py()
    row |= {"void": None, "v": variant, "s": {"in side": 3, "w": variant}}
    arrow = pa.schema([field.with_nullable(True) for field in schema.to_arrow()])
    full = pa.RecordBatch.from_pylist([row, dict.fromkeys(row)], schema=arrow)
    return schema, tuple(f"p {kind}" for kind in keys), full


@pytest.mark.feature("changeDataFeed")
@pytest.mark.parametrize(
    "configuration",
    [
        {"delta.columnMapping.mode": "name"},
        {"delta.columnMapping.mode": "id", "delta.enableVariantShredding": "true"},
    ],
    ids=["name", "id, shredded"],
)
def test_every_reader_of_feeds_reads_every_type(tmp_path, configuration):
    schema, partition_columns, rows = every_type()
    configuration = configuration | {"delta.enableChangeDataFeed": "true"}
    da.DeltaTable.create(tmp_path, schema, partition_by=list(partition_columns), configuration=configuration)
    snapshot = Snapshot.load(open_store(tmp_path))
    plan = WriteTarget.existing(snapshot).plan(snapshot.store)
    wanted = [with_change_type(rows, kind) for kind in ChangeType]
    with OptimisticTransaction(store=snapshot.store, snapshot=snapshot) as transaction:
        transaction.add_files(write_change_files(plan, wanted))
    table = da.DeltaTable(tmp_path)
    expected = pa.Table.from_batches(wanted)
    feed = table.load_cdf(1).read_all().drop_columns(["_commit_version", "_commit_timestamp"])
    assert_same_rows(feed, expected)
    dataset = table.change_data_feed(1)
    found = dataset.to_table(
        columns=expected.column_names, filter=pa.compute.field("_change_type") == "insert"
    )
    assert_same_rows(found, pa.Table.from_batches(wanted[:1]))
    without_void = [name for name in expected.column_names if name != "void"]
    polars = dataset.to_polars().select(without_void).collect()
    assert_same_rows(
        polars.to_arrow().cast(expected.select(without_void).schema), expected.select(without_void)
    )
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        da.register(connection, "feed", dataset)
        assert connection.sql("SELECT count(*), count(v) FROM feed").fetchall() == [(8, 4)]
        plain = [name for name in without_void if name not in ("v", "s")]
        listed = ", ".join(f'"{name}"' for name in plain)
        read = connection.sql(f"SELECT {listed} FROM feed").to_arrow_table()
        assert_same_rows(read.cast(expected.select(plain).schema), expected.select(plain))


def test_a_plan_with_hidden_columns_writes_them(tmp_path):
    plan = plan_for(tmp_path, pa.schema({"a": pa.int64()}))
    hidden = Field("_row-id", "long", metadata={"delta.columnMapping.physicalName": "_row-id"})
    (cdc,) = write_change_files(replace(plan, hidden_columns=(hidden,)), [changed(a=[1], **{"_row-id": [5]})])
    assert pq.read_table(tmp_path / cdc.path).to_pydict() == {
        "a": [1],
        "_row-id": [5],
        "_change_type": ["delete"],
    }
