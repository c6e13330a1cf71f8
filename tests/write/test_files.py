"""Data files: names, layout, rows, sizes; and the files that remain after a failure."""

import datetime as dt
import decimal
import errno
import gc
import itertools
import json
import os
import pickle
import re
import stat
import threading

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import (
    ConstraintViolationError,
    SchemaMismatchError,
    StorageError,
    StorageSystemError,
    UnsupportedFeatureError,
)
from deltaarrow.runtime.clock import system_clock
from deltaarrow.schema import ArrayType, Field, MapType, Schema, StructType
from deltaarrow.storage import decode_path, open_store
from deltaarrow.storage.local import _LocalOutput
from deltaarrow.write import WritePlan, write_files
from deltaarrow.write.file_layout import DATA_FILES, FileLayout
from deltaarrow.write.file_writer import FileWriter, added_files

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def plan_for(root, schema, **options):
    if isinstance(schema, pa.Schema):
        schema = Schema.from_arrow(schema)
    return WritePlan(store=open_store(root), schema=schema, **options)


def files_in(root):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)


def test_a_file_is_named_as_spark_names_it(tmp_path):
    table = pa.table({"a": [1]})
    (add,) = write_files(plan_for(tmp_path, table.schema), table.to_reader(), clock=lambda: 123)
    assert re.fullmatch(f"part-00000-{UUID}-c000.snappy.parquet", add.path)
    assert add.partition_values == {}
    assert (add.modification_time, add.data_change) == (123, True)
    assert add.size == os.path.getsize(tmp_path / add.path)
    assert add.stats == '{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}'


def test_partitions(tmp_path):
    table = pa.table(
        {
            "d": pa.array([dt.date(2020, 1, 1), None, dt.date(2020, 1, 1)]),
            "t": pa.array([1577840523500000, None, 1577840523500000], pa.timestamp("us", "UTC")),
            "a": [1, 2, 3],
            "s": ["a b/=%é", "", "a b/=%é"],
        }
    )
    plan = plan_for(tmp_path, table.schema, partition_columns=("d", "t", "s"), tight_bounds=True)
    first, second = write_files(plan, table.to_reader())
    name = f"part-0000[01]-{UUID}.c000.snappy.parquet"
    assert re.fullmatch(
        f"d=2020-01-01/t=2020-01-01%2001%253A02%253A03.5/s=a%20b%252F%253D%2525é/{name}", first.path
    )
    assert first.partition_values == {"d": "2020-01-01", "t": "2020-01-01T01:02:03.500000Z", "s": "a b/=%é"}
    null = "__HIVE_DEFAULT_PARTITION__"
    assert re.fullmatch(f"d={null}/t={null}/s={null}/{name}", second.path)
    assert second.partition_values == {"d": None, "t": None, "s": None}
    assert pq.ParquetFile(tmp_path / decode_path(first.path)).read().to_pydict() == {"a": [1, 3]}
    assert json.loads(first.stats) == {
        "numRecords": 2,
        "minValues": {"a": 1},
        "maxValues": {"a": 3},
        "nullCount": {"a": 0},
        "tightBounds": True,
    }


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_an_empty_value_is_refused_by_a_partition_column_that_is_not_null(tmp_path, kind):
    schema = Schema([Field("a", "long"), Field("p", "long"), Field("q", kind, nullable=False)])
    plan = plan_for(tmp_path, schema, partition_columns=("p", "q"))
    table = pa.table({"a": [1, 2], "p": [1, None], "q": ["x", ""]})
    table = table.set_column(2, "q", table["q"].cast(schema.to_arrow().field("q").type))
    with pytest.raises(ConstraintViolationError, match="'q'"):
        write_files(plan, table.to_reader())
    assert files_in(tmp_path) == []


def test_types_in_the_file_are_those_of_spark(tmp_path):
    schema = Schema(
        [
            *(
                Field(kind, kind)
                for kind in ("byte", "short", "integer", "long", "float", "double", "boolean")
            ),
            *(Field(kind, kind) for kind in ("binary", "date", "timestamp", "timestamp_ntz", "void")),
            *(Field(kind, kind) for kind in ("decimal(9,2)", "decimal(18,2)", "decimal(38,2)")),
            Field("needed", "string", nullable=False),
            Field("l", ArrayType(StructType([Field("x", "long")]), contains_null=False)),
            Field("m", MapType("string", "date")),
        ]
    )
    plan = plan_for(tmp_path, schema)
    (add,) = write_files(plan, [pa.RecordBatch.from_pydict({"needed": ["x"]})])
    file = pq.ParquetFile(tmp_path / add.path)
    columns = [file.schema.column(index) for index in range(len(file.schema))]
    found = {column.path: (column.physical_type, str(column.logical_type)) for column in columns}
    micros = (
        "Timestamp(isAdjustedToUTC={}, timeUnit=microseconds, "
        "is_from_converted_type=false, force_set_converted_type=false)"
    )
    assert found == {
        "byte": ("INT32", "Int(bitWidth=8, isSigned=true)"),
        "short": ("INT32", "Int(bitWidth=16, isSigned=true)"),
        "integer": ("INT32", "None"),
        "long": ("INT64", "None"),
        "float": ("FLOAT", "None"),
        "double": ("DOUBLE", "None"),
        "boolean": ("BOOLEAN", "None"),
        "binary": ("BYTE_ARRAY", "None"),
        "date": ("INT32", "Date"),
        "timestamp": ("INT64", micros.format("true")),
        "timestamp_ntz": ("INT64", micros.format("false")),
        "decimal(9,2)": ("INT32", "Decimal(precision=9, scale=2)"),
        "decimal(18,2)": ("INT64", "Decimal(precision=18, scale=2)"),
        "decimal(38,2)": ("FIXED_LEN_BYTE_ARRAY", "Decimal(precision=38, scale=2)"),
        "needed": ("BYTE_ARRAY", "String"),
        "l.list.element.x": ("INT64", "None"),
        "m.key_value.key": ("BYTE_ARRAY", "String"),
        "m.key_value.value": ("INT32", "Date"),
    }
    assert "required" not in str(file.schema).replace("required group field_id=-1 schema", "").replace(
        "required binary field_id=-1 key", ""
    )
    assert file.metadata.metadata is None
    assert json.loads(add.stats)["nullCount"]["void"] == 1


def test_no_bounds_in_the_footer_that_would_hide_nan(tmp_path):
    # Spark skips row groups by the footer; for it NaN is greater than every number.
    table = pa.table({"d": [1.0, float("nan")], "l": [[1.0], [2.0]], "i": [1, 2]})
    (add,) = write_files(plan_for(tmp_path, table.schema), table.to_reader())
    d, element, i = (pq.read_metadata(tmp_path / add.path).row_group(0).column(index) for index in range(3))
    assert (d.statistics, element.statistics) == (None, None)
    assert i.statistics.has_min_max
    assert json.loads(add.stats)["maxValues"] == {"d": "NaN", "i": 2}


def test_column_mapping(tmp_path):
    def mapped(name, kind, number):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return Field(name, kind, metadata=metadata)

    inner = StructType([mapped("x y", "long", 3)])
    schema = Schema([mapped("p", "string", 1), mapped("s", ArrayType(inner), 2), mapped("t", inner, 4)])
    plan = plan_for(tmp_path, schema, partition_columns=("p",), mapping_mode="name")
    batch = pa.RecordBatch.from_pydict({"p": ["q"], "s": [[{"x y": 7}]], "t": [{"x y": 8}]})
    (add,) = write_files(plan, [batch])
    assert re.fullmatch(f"[A-Za-z0-9]{{2}}/part-00000-{UUID}.c000.snappy.parquet", add.path)
    assert add.partition_values == {"col-1": "q"}
    assert json.loads(add.stats)["maxValues"] == {"col-4": {"col-3": 8}}
    read = pq.read_table(tmp_path / add.path, partitioning=None)
    assert read.to_pydict() == {"col-2": [[{"col-3": 7}]], "col-4": [{"col-3": 8}]}
    assert read.field("col-4").metadata == {b"PARQUET:field_id": b"4"}
    assert read.schema.field("col-2").type.value_type.field("col-3").metadata == {b"PARQUET:field_id": b"3"}


def test_random_prefixes(tmp_path):
    configuration = {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "5"}
    table = pa.table({"a": [1]})
    (add,) = write_files(plan_for(tmp_path, table.schema, configuration=configuration), table.to_reader())
    assert re.fullmatch(f"[A-Za-z0-9]{{5}}/part-00000-{UUID}-c000.snappy.parquet", add.path)


def test_no_rows_no_file(tmp_path):
    table = pa.table({"a": pa.array([], pa.int64()), "p": pa.array([], pa.string())})
    for partition_columns in ((), ("p",)):
        plan = plan_for(tmp_path, table.schema, partition_columns=partition_columns)
        assert write_files(plan, table.to_reader()) == []
        assert write_files(plan, iter([])) == []
    assert files_in(tmp_path) == []


def test_columns_are_found_by_name_and_cast(tmp_path):
    schema = Schema([Field("a", "long"), Field("b", "string"), Field("c", "decimal(5,2)")])
    batch = pa.RecordBatch.from_pydict(
        {"C": [decimal.Decimal("1.5")], "b": pa.array(["x"], pa.string_view())}
    )
    (add,) = write_files(plan_for(tmp_path, schema), [batch])
    assert pq.read_table(tmp_path / add.path).to_pydict() == {
        "a": [None],
        "b": ["x"],
        "c": [decimal.Decimal("1.50")],
    }


def test_target_file_size_closes_files(tmp_path):
    table = pa.table({"a": [os.urandom(100) for _ in range(60_000)], "row": range(60_000)})
    plan = plan_for(tmp_path, table.schema, target_file_size=1 << 20)
    for threads in (1, 3):
        adds = write_files(plan, table.to_reader(), threads=threads)
        assert len(adds) >= 5
        assert all(add.size < 2.5 * (1 << 20) for add in adds)
        assert [int(add.path[5:10]) for add in adds] == list(range(len(adds)))
        assert sum(json.loads(add.stats)["numRecords"] for add in adds) == 60_000
        rows = pads.dataset([str(tmp_path / add.path) for add in adds]).to_table(columns=["row"])
        assert sorted(rows.column(0).to_pylist()) == list(range(60_000))


def test_one_thread_keeps_the_order_of_rows(tmp_path):
    table = pa.table({"row": range(300_000)})
    adds = write_files(plan_for(tmp_path, table.schema), table.to_reader(max_chunksize=1000), threads=1)
    rows = itertools.chain.from_iterable(
        pq.read_table(tmp_path / add.path)["row"].to_pylist() for add in adds
    )
    assert list(rows) == list(range(300_000))


def test_more_partitions_than_open_files(tmp_path):
    table = pa.table({"p": [row % 7 for row in range(2000)], "row": range(2000)})
    plan = plan_for(tmp_path, table.schema, partition_columns=("p",))
    layout = FileLayout(plan, DATA_FILES, system_clock)
    with FileWriter(layout, waiting_bytes=1000, max_open=2) as writer:
        for batch in table.to_batches(max_chunksize=100):
            writer.write(batch)
        adds = added_files(plan, writer.finish())
    found = {}
    for add in adds:
        rows = pq.ParquetFile(tmp_path / add.path).read()["row"].to_pylist()
        assert json.loads(add.stats)["numRecords"] == len(rows)
        found.setdefault(add.partition_values["p"], []).extend(rows)
    assert {p: sorted(rows) for p, rows in found.items()} == {
        str(p): list(range(p, 2000, 7)) for p in range(7)
    }


def test_a_store_in_memory(tmp_path):
    table = pa.table({"p": ["a", "b"], "x": [1, 2]})
    root = f"memory://write/{tmp_path.name}"
    adds = write_files(plan_for(root, table.schema, partition_columns=("p",)), table.to_reader())
    store = open_store(root)
    assert sorted(add.size for add in adds) == sorted(entry.size for entry in store.list_recursive())


def test_a_failing_stream_leaves_nothing(tmp_path):
    def stream():
        for number in range(4):
            yield pa.RecordBatch.from_pydict(
                {"p": [number % 2] * 50_000, "x": os.urandom(50_000).hex().split("0")[:1] * 50_000}
            )
        raise RuntimeError("the source is gone")

    schema = pa.schema({"p": pa.int64(), "x": pa.string()})
    plan = plan_for(tmp_path, schema, partition_columns=("p",), target_file_size=1)
    with pytest.raises(RuntimeError, match="the source is gone"):
        write_files(plan, stream())
    assert files_in(tmp_path) == []


def test_published_files_of_a_failed_write_are_deleted(tmp_path):
    seen = []

    def stream():
        for _ in range(20):
            yield pa.RecordBatch.from_pydict({"x": [os.urandom(1000) for _ in range(3000)]})
            seen.extend(name for name in files_in(tmp_path) if name.endswith(".parquet"))
        raise KeyboardInterrupt

    plan = plan_for(tmp_path, pa.schema({"x": pa.binary()}), target_file_size=1)
    with pytest.raises(KeyboardInterrupt):
        write_files(plan, stream())
    assert seen, "no file was finished before the failure: the test shows nothing"
    assert files_in(tmp_path) == []


def test_a_failing_store_fails_the_write(tmp_path, monkeypatch):
    table = pa.table({"p": [1, 2, 3], "x": [1, 2, 3]})
    plan = plan_for(tmp_path, table.schema, partition_columns=("p",))
    opened = []

    def open_output(name, **options):
        opened.append(name)
        if len(opened) == 2:
            raise OSError("no space left")
        return type(plan.store).open_output(plan.store, name, **options)

    monkeypatch.setattr(plan.store, "open_output", open_output)
    with pytest.raises(OSError, match="no space left"):
        write_files(plan, table.to_reader())
    assert files_in(tmp_path) == []


def test_not_null_is_enforced(tmp_path):
    plan = plan_for(tmp_path, Schema([Field("a", "long", nullable=False)]))
    with pytest.raises(ConstraintViolationError, match="'a'"):
        write_files(plan, [pa.RecordBatch.from_pydict({"a": [1, None]})])
    assert files_in(tmp_path) == []


def test_data_that_does_not_fit(tmp_path):
    plan = plan_for(tmp_path, Schema([Field("a", "byte")]))
    with pytest.raises(SchemaMismatchError, match="'b'"):
        write_files(plan, [pa.RecordBatch.from_pydict({"b": [1]})])
    with pytest.raises(SchemaMismatchError, match="'a'"):
        write_files(plan, [pa.RecordBatch.from_pydict({"a": [1000]})])


def test_plans_are_checked(tmp_path):
    schema = Schema([Field("p", "string")])
    with pytest.raises(SchemaMismatchError, match="partition column 'q' is not in the schema"):
        plan_for(tmp_path, schema, partition_columns=("q",))
    with pytest.raises(SchemaMismatchError, match="needs a column"):
        plan_for(tmp_path, schema, partition_columns=("p",))
    with pytest.raises(SchemaMismatchError, match="void"):
        write_files(plan_for(tmp_path, Schema([Field("v", "void")])), iter([]))
    with pytest.raises(UnsupportedFeatureError, match=r"'a\.element' is a void"):
        write_files(plan_for(tmp_path, Schema([Field("a", ArrayType("void"))])), iter([]))
    nested = Schema([Field("a", ArrayType("long")), Field("b", "long")])
    with pytest.raises(UnsupportedFeatureError, match="partition column 'a'"):
        write_files(plan_for(tmp_path, nested, partition_columns=("a",)), iter([]))


def test_a_plan_pickles(tmp_path):
    table = pa.table({"p": [1], "x": [1]})
    plan = plan_for(
        tmp_path, table.schema, partition_columns=("p",), configuration={"delta.appendOnly": "true"}
    )
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    (add,) = write_files(again, table.to_reader())
    assert files_in(tmp_path) == [str(tmp_path / add.path)]


def test_a_small_file_reaches_the_store_in_one_write_and_is_closed_at_once(tmp_path, monkeypatch):
    writes, opened, most = [], set(), []
    write, publish = _LocalOutput.write, _LocalOutput._publish

    def count(output, data):
        writes.append(len(data))
        opened.add(output)
        most.append(len(opened))
        return write(output, data)

    def close(output):
        opened.discard(output)
        publish(output)

    monkeypatch.setattr(_LocalOutput, "write", count)
    monkeypatch.setattr(_LocalOutput, "_publish", close)
    table = pa.table({"p": [0, 1, 2] * 20, **{f"c{number}": range(60) for number in range(20)}})
    adds = write_files(
        plan_for(tmp_path, table.schema, partition_columns=("p",)), table.to_reader(), threads=1
    )
    assert writes == [each.size for each in adds]
    assert max(most) == 1
    assert pads.dataset(tmp_path, partitioning="hive").count_rows() == 60


def test_a_disk_that_fills_up_leaves_nothing_and_nothing_on_the_terminal(tmp_path, monkeypatch, capfd):
    def fail(output, data):
        raise StorageSystemError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(_LocalOutput, "write", fail)
    table = pa.table({"p": [1, 2, 3], "a": [1, 2, 3]})
    with pytest.raises(StorageError, match="no space left"):
        write_files(plan_for(tmp_path, table.schema, partition_columns=("p",)), table.to_reader())
    gc.collect()
    assert files_in(tmp_path) == []
    assert capfd.readouterr() == ("", "")


def test_many_partitions_are_flushed_while_others_are_written(tmp_path, monkeypatch):
    """Each file and each folder is flushed before the write ends, and a failure to flush ends the write."""
    count = 150
    table = pa.table({"p": range(count), "a": range(count)})
    plan = plan_for(tmp_path / "t", table.schema, partition_columns=("p",))
    flushed, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_mode))
    assert len(write_files(plan, table.to_reader())) == count
    assert sum(map(stat.S_ISREG, flushed)) == count
    assert sum(map(stat.S_ISDIR, flushed)) >= count + 2

    def fail(descriptor):
        if len(flushed) == 20:
            raise OSError(errno.EIO, "broken")
        flushed.append(0)
        real(descriptor)

    flushed.clear()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="broken"):
        write_files(plan_for(tmp_path / "u", table.schema, partition_columns=("p",)), table.to_reader())
    assert files_in(tmp_path / "u") == []


@pytest.mark.parametrize(("count", "thread"), [(16, "MainThread"), (17, "deltaarrow-write")])
def test_many_small_files_are_written_by_threads(tmp_path, monkeypatch, count, thread):
    names, write = set(), _LocalOutput.write

    def note(output, data):
        names.add(threading.current_thread().name.partition("_")[0])
        return write(output, data)

    monkeypatch.setattr(_LocalOutput, "write", note)
    table = pa.table({"p": range(count), "a": range(count)})
    plan = plan_for(tmp_path, table.schema, partition_columns=("p",))
    assert len(write_files(plan, table.to_reader(), threads=2)) == count
    assert names == {thread}
