"""Conversion of Parquet folders: which files count, what folders mean, how columns merge, and refusals."""

import datetime as dt
import decimal
import json
import os

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow
from deltaarrow import DeltaTable, Field, Schema, convert_to_deltalake
from deltaarrow.errors import (
    CorruptDataFileError,
    CorruptLogError,
    SchemaMismatchError,
    UnsupportedFeatureError,
    VersionExistsError,
)
from deltaarrow.operations.convert import NewTableOptions, commit_conversion, plan_conversion
from deltaarrow.storage import open_store
from tests.support.commits import commit


def put(folder, name, data, **options):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    table = data if isinstance(data, pa.Table) else pa.table(data)
    pq.write_table(table, path, **options)
    return path


def adds(folder):
    found = [action["add"] for action in commit(folder, 0) if "add" in action]
    return {add["path"]: add for add in found}


def test_a_folder_becomes_a_table_of_its_files(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1, 2], "s": ["x", None]})
    put(tmp_path, "sub/b c.parquet", {"id": [3]})
    plan = convert_to_deltalake(
        tmp_path, name="n", description="d", configuration={"delta.appendOnly": "true"}
    )
    assert (plan.num_files, plan.num_rows) == (2, 3)
    table = DeltaTable(tmp_path)
    assert sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "s": "x"},
        {"id": 2, "s": None},
        {"id": 3, "s": None},
    ]
    assert table.metadata().name == "n"
    assert set(adds(tmp_path)) == {"a.parquet", "sub/b%20c.parquet"}
    assert json.loads(adds(tmp_path)["sub/b%20c.parquet"]["stats"]) == {
        "numRecords": 1,
        "minValues": {"id": 3},
        "maxValues": {"id": 3},
        "nullCount": {"id": 0, "s": 1},
    }
    assert table.verify(deep=True).ok


def test_hidden_files_and_files_without_rows_are_left_out(tmp_path):
    for name in ("a.parquet", "_b.parquet", ".c.parquet", "_d/e.parquet", "f/.g/h.parquet"):
        put(tmp_path, name, {"id": [1]})
    put(tmp_path, "empty.parquet", {"id": pa.array([], pa.int64()), "more": pa.array([], pa.string())})
    assert convert_to_deltalake(tmp_path).num_files == 1
    assert DeltaTable(tmp_path).schema().to_arrow().names == ["id", "more"]


def test_partitions_are_found_and_typed_by_their_values(tmp_path):
    for folder in (
        "n=1/big=9999999999/day=2026-01-31/text=007",
        "n=-5/big=1/day=2026-02-01/text=8",
        "n=__HIVE_DEFAULT_PARTITION__/big=2/day=2026-02-02/text=a%2Fb",
    ):
        put(tmp_path, f"{folder}/a.parquet", {"id": [1]})
    convert_to_deltalake(tmp_path)
    table = DeltaTable(tmp_path)
    types = {field.name: field.type for field in table.schema().fields}
    assert [str(types[name]) for name in ("n", "big", "day", "text")] == [
        'PrimitiveType("integer")',
        'PrimitiveType("long")',
        'PrimitiveType("date")',
        'PrimitiveType("string")',
    ]
    rows = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["big"])
    assert rows[1] == {"id": 1, "n": None, "big": 2, "day": dt.date(2026, 2, 2), "text": "a/b"}


@pytest.mark.parametrize(
    "given",
    [
        Schema([Field("P", "short")]),
        [Field("P", "short")],
        {"P": "short"},
        pa.schema([("P", pa.int16())]),
    ],
)
def test_a_given_schema_wins_and_names_compare_without_case(tmp_path, given):
    put(tmp_path, "p=03/a.parquet", {"id": [1]})
    convert_to_deltalake(tmp_path, partition_by=given)
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"id": 1, "P": 3}]
    (add,) = adds(tmp_path).values()
    assert add["partitionValues"] == {"P": "03"}


def test_folders_may_name_values_alone(tmp_path):
    put(tmp_path, "2026/1/a.parquet", {"id": [1]})
    given = {"year": "integer", "month": "integer"}
    convert_to_deltalake(tmp_path, partition_by=given, partition_strategy="directory")
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"id": 1, "year": 2026, "month": 1}]


def test_a_column_in_files_and_folders_has_the_value_of_the_folder(tmp_path):
    put(tmp_path, "p=1/a.parquet", {"p": [7], "id": [1]})
    convert_to_deltalake(tmp_path)
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"p": 1, "id": 1}]


@pytest.mark.parametrize(
    ("folders", "given", "error"),
    [
        (["p=1", ""], {"p": "integer"}, "NUM_PARTITION_COLUMNS"),
        (["p=1", "q=1"], None, "UNEXPECTED_PARTITION_COLUMN"),
        (["p=1/q=1"], {"q": "integer", "p": "integer"}, "UNEXPECTED_PARTITION_COLUMN"),
        (["p=1", "p=x"], {"p": "integer"}, "value 'x' of the partition column 'p'"),
        (["p=300"], {"p": "byte"}, "which is no byte"),
        (["p="], {"p": "integer"}, "value '' of the partition column"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(tmp_path, folders, given, error):
    for folder in folders:
        put(tmp_path, f"{folder}/a.parquet" if folder else "a.parquet", {"id": [1]})
    with pytest.raises(SchemaMismatchError, match=error):
        convert_to_deltalake(tmp_path, partition_by=given)
    assert not (tmp_path / "_delta_log").exists()


def test_columns_of_all_files_merge_without_case(tmp_path):
    put(tmp_path, "a.parquet", {"id": pa.array([1], pa.int16()), "s": [{"x": 1}]})
    put(tmp_path, "b.parquet", {"ID": pa.array([70_000], pa.int32()), "s": [{"X": 2, "y": "q"}], "n": [1.5]})
    convert_to_deltalake(tmp_path)
    table = DeltaTable(tmp_path)
    rows = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
    assert rows == [
        {"id": 1, "s": {"x": 1, "y": None}, "n": None},
        {"id": 70_000, "s": {"x": 2, "y": "q"}, "n": 1.5},
    ]
    stats = json.loads(adds(tmp_path)["b.parquet"]["stats"])
    assert stats["minValues"]["s"] == {"x": 2, "y": "q"}
    assert stats["maxValues"]["id"] == 70_000


@pytest.mark.parametrize("other", [pa.int64(), pa.string(), pa.list_(pa.int32())])
def test_types_that_do_not_go_together_are_named(tmp_path, other):
    put(tmp_path, "a.parquet", {"s": pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))})
    put(tmp_path, "b.parquet", {"s": pa.array([{"x": None}], pa.struct([("x", other)]))})
    with pytest.raises(
        SchemaMismatchError, match=r"column s\.x .*b\.parquet.*DELTA_FAILED_MERGE_SCHEMA_FILE"
    ):
        convert_to_deltalake(tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1], pa.timestamp("ns", "UTC")),
        pa.array([1], pa.uint64()),
        pa.array([1], pa.time64("us")),
        pa.array(["{}"], pa.json_()),
        pa.array([[1]], pa.list_(pa.timestamp("ns"))),
    ],
)
def test_a_type_that_delta_has_not_is_refused(tmp_path, values):
    put(tmp_path, "a.parquet", {"id": [1], "t": values})
    with pytest.raises(UnsupportedFeatureError, match=r"\bt\b"):
        convert_to_deltalake(tmp_path)


def test_types_of_parquet_are_those_of_spark(tmp_path):
    columns = {
        "u8": pa.array([200], pa.uint8()),
        "u32": pa.array([4_000_000_000], pa.uint32()),
        "ms": pa.array([5], pa.timestamp("ms", "UTC")),
        "ntz": pa.array([5], pa.timestamp("us")),
        "d": pa.array([decimal.Decimal("-1.50")], pa.decimal128(30, 2)),
        "f": pa.array([1.5], pa.float32()),
        "b": [b"x"],
        "l": [[1]],
        "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    }
    put(tmp_path, "a.parquet", columns)
    convert_to_deltalake(tmp_path)
    table = DeltaTable(tmp_path)
    assert [field.type.type for field in table.schema().fields[:6]] == [
        "short",
        "long",
        "timestamp",
        "timestamp_ntz",
        "decimal(30,2)",
        "float",
    ]
    assert table.to_pyarrow_table().column("u32").to_pylist() == [4_000_000_000]
    stats = json.loads(adds(tmp_path)["a.parquet"]["stats"], parse_float=str)
    assert stats["minValues"] == {
        "u8": 200,
        "u32": 4_000_000_000,
        "ms": "1970-01-01T00:00:00.005Z",
        "ntz": "1970-01-01T00:00:00.000",
        "d": "-1.50",
        "f": "1.5",
    }
    assert "f" not in stats["maxValues"]  # it may have a NaN
    assert table.verify(deep=True).ok


def test_int96_has_no_bounds(tmp_path):
    data = {"t": pa.array([5_000], pa.timestamp("ns"))}
    put(tmp_path, "a.parquet", data, use_deprecated_int96_timestamps=True)
    convert_to_deltalake(tmp_path)
    assert DeltaTable(tmp_path).schema().field("t").type.type == "timestamp"
    (add,) = adds(tmp_path).values()
    assert json.loads(add["stats"]) == {"numRecords": 1, "nullCount": {}}


def test_nan_is_found_by_a_filter_although_the_footer_hides_it(tmp_path):
    put(tmp_path, "a.parquet", {"x": [1.0, float("nan")]})
    put(tmp_path, "b.parquet", {"x": [1.0]})
    convert_to_deltalake(tmp_path)
    assert DeltaTable(tmp_path).count() == 2 + 1
    assert DeltaTable(tmp_path).to_pyarrow_table(filters="x > 5").num_rows == 1


def test_statistics_may_be_left_out(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1]})
    convert_to_deltalake(tmp_path, collect_stats=False)
    (add,) = adds(tmp_path).values()
    assert "stats" not in add
    assert DeltaTable(tmp_path).to_pyarrow_table(filters="id = 1").num_rows == 1


def test_a_dry_run_commits_nothing(tmp_path):
    put(tmp_path, "p=1/a.parquet", {"id": [1]})
    seen = []
    plan = convert_to_deltalake(tmp_path, dry_run=True, progress=lambda *each: seen.append(each))
    assert (plan.num_files, plan.partition_columns, seen) == (1, ["p"], [(1, 1)])
    assert os.listdir(tmp_path) == ["p=1"]


def test_an_existing_table_is_refused_or_left_as_it_is(tmp_path):
    deltaarrow.write_deltalake(tmp_path, pa.table({"id": [1]}))
    with pytest.raises(VersionExistsError):
        convert_to_deltalake(tmp_path)
    assert convert_to_deltalake(tmp_path, mode="ignore") is None
    assert DeltaTable(tmp_path).version() == 0


def test_a_folder_without_files_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SchemaMismatchError, match="DELTA_EMPTY_DIRECTORY"):
            convert_to_deltalake(folder)


def test_a_table_below_the_folder_is_refused(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1]})
    deltaarrow.write_deltalake(tmp_path / "sub" / "t", pa.table({"id": [1]}))
    with pytest.raises(UnsupportedFeatureError, match="sub/t"):
        convert_to_deltalake(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PAR1" + b"\xff" * 20 + b"PAR1", b"PAR1\xff\xff\0\0PAR1"]
)
def test_a_file_that_is_not_parquet_is_named(tmp_path, content):
    put(tmp_path, "a.parquet", {"id": [1]})
    (tmp_path / "b.txt").write_bytes(content)
    with pytest.raises(CorruptDataFileError, match=r"b\.txt"):
        convert_to_deltalake(tmp_path)


def test_a_stream_of_spark_tells_which_files_count(tmp_path):
    for name in "abcd":
        put(tmp_path, f"{name}.parquet", {"id": [ord(name)]})
    log = tmp_path / "_spark_metadata"
    log.mkdir()

    def line(name, action="add"):
        return json.dumps({"path": f"file://{tmp_path}/{name}.parquet", "action": action})

    (log / "0").write_text(f"v1\n{line('d')}")
    (log / "1.compact").write_text(f"v1\n{line('a')}\n{line('b')}")
    (log / "2").write_text(f"v1\n{line('c')}\n{line('b', 'delete')}")
    assert convert_to_deltalake(tmp_path, dry_run=True).num_files == 2
    (log / "4").write_text("v1\n")
    with pytest.raises(CorruptLogError, match="lacks a batch"):
        convert_to_deltalake(tmp_path)


def with_id(name, data_type, number):
    return pa.field(name, data_type, metadata={"PARQUET:field_id": str(number)})


def test_columns_may_be_mapped_by_the_ids_of_the_files(tmp_path):
    fields = [with_id("a b", pa.int64(), 3), with_id("s", pa.struct([with_id("x", pa.int64(), 7)]), 5)]
    data = pa.Table.from_pylist([{"a b": 1, "s": {"x": 2}}], schema=pa.schema(fields))
    put(tmp_path, "p=1/a.parquet", data)
    convert_to_deltalake(tmp_path, configuration={"delta.columnMapping.mode": "id"})
    table = DeltaTable(tmp_path)
    assert table.to_pyarrow_table().to_pylist() == [{"a b": 1, "s": {"x": 2}, "p": 1}]
    assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == "8"
    table.alter.rename_column("a b", "c")
    deltaarrow.write_deltalake(
        table, pa.table({"c": [9], "s": [{"x": 3}], "p": pa.array([2], pa.int32())}), mode="append"
    )
    assert sorted(table.to_pyarrow_table().column("c").to_pylist()) == [1, 9]


def test_columns_may_be_mapped_by_name(tmp_path):
    put(tmp_path, "a.parquet", {"a b": [1], "id": [2]})
    with pytest.raises(SchemaMismatchError, match="columnMapping"):
        convert_to_deltalake(tmp_path)
    convert_to_deltalake(tmp_path, configuration={"delta.columnMapping.mode": "name"})
    assert DeltaTable(tmp_path).to_pyarrow_table(filters="`a b` = 1").to_pylist() == [{"a b": 1, "id": 2}]


def test_ids_that_do_not_tell_columns_apart_are_refused(tmp_path):
    one = pa.schema([with_id("a", pa.int64(), 1), with_id("b", pa.int64(), 2)])
    for number, (names, ids) in enumerate(
        [(("a", "b"), (1, 1)), (("a", "b"), (2, 1)), (("a", "b"), (1, None))]
    ):
        folder = tmp_path / str(number)
        put(folder, "a.parquet", pa.table({"a": [1], "b": [2]}, schema=one))
        fields = [
            pa.field(name, pa.int64()) if each is None else with_id(name, pa.int64(), each)
            for name, each in zip(names, ids, strict=True)
        ]
        put(folder, "b.parquet", pa.table({"a": [1], "b": [2]}, schema=pa.schema(fields)))
        with pytest.raises(SchemaMismatchError, match="field id"):
            convert_to_deltalake(folder, configuration={"delta.columnMapping.mode": "id"})


@pytest.mark.parametrize("name", ["delta.constraints.c", "delta.enableIcebergCompatV2"])
def test_a_property_that_files_may_break_is_refused(tmp_path, name):
    put(tmp_path, "a.parquet", {"id": [1]})
    with pytest.raises(UnsupportedFeatureError, match=name):
        convert_to_deltalake(tmp_path, configuration={name: "true"})


def test_rows_get_ids_where_the_property_asks_for_them(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1, 2]})
    convert_to_deltalake(tmp_path, configuration={"delta.enableRowTracking": "true"})
    rows = DeltaTable(tmp_path).to_pyarrow_table(columns=["_metadata.row_id"])
    assert rows.column(0).to_pylist() == [0, 1]


@pytest.mark.parametrize(("argument", "value"), [("mode", "overwrite"), ("partition_strategy", "hash")])
def test_an_unknown_argument_is_refused(tmp_path, argument, value):
    with pytest.raises(ValueError, match=value):
        convert_to_deltalake(tmp_path, **{argument: value})


def test_a_folder_of_another_store_is_converted(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1, 2]})
    memory = fsspec.filesystem("memory")
    memory.pipe("/converted/p=1/a.parquet", (tmp_path / "a.parquet").read_bytes())
    convert_to_deltalake("memory://converted")
    rows = DeltaTable("memory://converted").to_pyarrow_table().to_pylist()
    assert rows == [{"id": 1, "p": 1}, {"id": 2, "p": 1}]


def test_a_writer_that_is_first_wins(tmp_path):
    put(tmp_path, "a.parquet", {"id": [1]})
    store = open_store(tmp_path)
    plan = plan_conversion(store, NewTableOptions())
    deltaarrow.write_deltalake(tmp_path, pa.table({"id": [2]}))
    with pytest.raises(VersionExistsError):
        commit_conversion(store, plan)
    assert DeltaTable(tmp_path).to_pyarrow_table().column("id").to_pylist() == [2]
    assert (tmp_path / "a.parquet").exists()
