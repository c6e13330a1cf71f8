"""Tables with column mapping that we create and write: logical names outside, physical ones in files."""

import json
import re
import tempfile
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from deltaarrow import DeltaTable, Schema, write_deltalake
from deltaarrow.errors import CorruptLogError, InvalidTablePropertyError, SchemaMismatchError
from deltaarrow.schema import ArrayType, Field, MapType, StructType, conform, merge_schemas
from deltaarrow.schema.metadata_keys import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from tests.support.engines import ENGINES, open_snapshot
from tests.support.examples import examples
from tests.support.rows import assert_same_rows
from tests.support.schemas import pairs, sample_rows
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("columnMapping")

NAME = {"delta.columnMapping.mode": "name"}
MODES = ["name", "id"]
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
INNER = pa.struct([("x", pa.int64()), ("y,z", pa.string())])
ODD = pa.table(
    {
        "a b": pa.array([1, 2, 3, None], pa.int64()),
        "s": pa.array([{"x": 1, "y,z": "k"}, None, {"x": None, "y,z": "l"}, None], INNER),
        "xs": pa.array([[{"x": 1, "y,z": "k"}], [], None, [None]], pa.list_(INNER)),
        "m": pa.array([[("k", {"x": 5, "y,z": None})], None, [], None], pa.map_(pa.string(), INNER)),
        "p=q.r": ["u", "v", "v", None],
    }
)


def fields_of(data_type):
    """Every field in a type, outer ones first."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                yield field
                yield from fields_of(field.type)
        case ArrayType():
            yield from fields_of(data_type.element_type)
        case MapType():
            yield from fields_of(data_type.key_type)
            yield from fields_of(data_type.value_type)


def names_in(data_type):
    return {field.name for field in fields_of(data_type)}


def commit(path, version):
    text = (path / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def adds(path, version):
    return [action["add"] for action in commit(path, version) if "add" in action]


def check(path, wanted):
    """Every engine reads the rows under logical names, and the table is sound."""
    snapshot = open_snapshot(path)
    for read in ENGINES.values():
        table = read(snapshot, None, None)
        assert_same_rows(table, wanted)
        assert names_in(Schema.from_arrow(table.schema)) == names_in(Schema.from_arrow(wanted.schema))
    assert [str(finding) for finding in DeltaTable(path).verify(deep=True)] == []


def check_files(path):
    """Every file in the log has physical names and ids alone, and lies in a folder of a random name."""
    snapshot = open_snapshot(path)
    ids = {
        field.metadata[PHYSICAL_NAME_KEY]: field.metadata[FIELD_ID_KEY]
        for field in fields_of(snapshot.schema)
    }
    for row in snapshot.files(columns=["path", "stats", "partition_values"]).to_pylist():
        assert re.fullmatch(rf"[A-Za-z0-9]{{2}}/part-\d{{5}}-{UUID}[.-]c000\.snappy\.parquet", row["path"])
        assert {name for name, _ in row["partition_values"]} <= ids.keys()
        found = re.findall(
            r"field_id=(-?\d+) (\S+?)(?: \(.*\))?[;{ ]*$",
            str(pq.ParquetFile(path / row["path"]).schema),
            re.MULTILINE,
        )
        inside = {"schema", "list", "element", "key_value", "key", "value"}
        assert {name: int(number) for number, name in found if name not in inside}.items() <= ids.items()
        assert {int(number) for number, name in found if name in inside} <= {-1}
        statistics = json.loads(row["stats"])
        for kind in ("minValues", "maxValues", "nullCount"):
            assert set(re.findall(r'"([^"]+)":', json.dumps(statistics.get(kind, {})))) <= ids.keys()


@pytest.mark.parametrize("mode", MODES)
def test_a_new_table_gets_ids_and_physical_names_at_every_level(tmp_path, mode):
    table = DeltaTable.create(
        tmp_path, ODD.schema, partition_by="p=q.r", configuration={"delta.columnMapping.mode": mode}
    )
    fields = list(fields_of(table.schema()))
    assert [field.name for field in fields] == [
        "a b",
        "s",
        *["x", "y,z"],
        "xs",
        *["x", "y,z"],
        "m",
        *["x", "y,z"],
        "p=q.r",
    ]
    assert [field.metadata[FIELD_ID_KEY] for field in fields] == list(range(1, len(fields) + 1))
    physical = [field.metadata[PHYSICAL_NAME_KEY] for field in fields]
    assert len(set(physical)) == len(fields)
    assert all(re.fullmatch(f"col-{UUID}", name) for name in physical)
    assert list(table.metadata().configuration.items()) == [
        ("delta.columnMapping.mode", mode),
        ("delta.columnMapping.maxColumnId", "11"),
    ]
    assert table.metadata().partition_columns == ["p=q.r"]
    assert commit(tmp_path, 0)[2]["protocol"] == {
        "minReaderVersion": 2,
        "minWriterVersion": 7,
        "writerFeatures": ["columnMapping", "invariants", "appendOnly"],
    }


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("mode", MODES)
def test_every_way_of_writing(tmp_path, mode, vectors):
    configuration = {"delta.columnMapping.mode": mode, "delta.enableDeletionVectors": vectors}
    write_deltalake(tmp_path, ODD, partition_by="p=q.r", configuration=configuration)
    check(tmp_path, ODD)
    check_files(tmp_path)
    write_deltalake(tmp_path, ODD.slice(0, 1), mode="append")
    write_deltalake(tmp_path, ODD.slice(1, 1), mode="overwrite", predicate="`a b` = 2")
    check(tmp_path, pa.concat_tables([ODD, ODD.slice(0, 1)]))
    check_files(tmp_path)
    write_deltalake(tmp_path, ODD.slice(2, 1), mode="overwrite", predicate="`p=q.r` = 'v'")
    check(tmp_path, pa.concat_tables([ODD.slice(0, 1), ODD.slice(0, 1), ODD.slice(2, 2)]))
    write_deltalake(tmp_path, ODD.slice(0, 1), mode="overwrite", partition_overwrite_mode="dynamic")
    check(tmp_path, pa.concat_tables([ODD.slice(0, 1), ODD.slice(2, 2)]))
    DeltaTable(tmp_path).create_checkpoint()
    check(tmp_path, pa.concat_tables([ODD.slice(0, 1), ODD.slice(2, 2)]))
    more = pa.table({"a b": [7], "new;": [8], "s": [{"w": 9}], "p=q.r": ["u"]})
    write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    table = DeltaTable(tmp_path)
    assert table.metadata().configuration["delta.columnMapping.maxColumnId"] == "13"
    assert table.to_pyarrow_table(filters=[("a b", "=", 7)]).select(["new;", "s"]).to_pylist() == [
        {"new;": 8, "s": {"x": None, "y,z": None, "w": 9}}
    ]
    check_files(tmp_path)
    write_deltalake(tmp_path, more, mode="overwrite", schema_mode="overwrite", partition_by=[])
    check(tmp_path, more)
    check_files(tmp_path)
    assert set(open_snapshot(tmp_path).files(columns=["partition_values"])[0].to_pylist()[0]) == set()


def test_one_row_of_a_file_is_replaced(tmp_path):
    """The other rows are written again, from files of before a merge as well."""
    write_deltalake(tmp_path, ODD, configuration=NAME)
    more = ODD.slice(0, 1).append_column("late", [[1]])
    write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    write_deltalake(tmp_path, more.slice(0, 0), mode="overwrite", predicate="`a b` = 2")
    left = pa.concat_tables([ODD.slice(0, 1), ODD.slice(2, 2), more], promote_options="default")
    check(tmp_path, left)
    check_files(tmp_path)


def test_data_of_another_mapped_table_brings_no_ids_along(tmp_path):
    write_deltalake(tmp_path / "first", ODD, configuration=NAME)
    first = DeltaTable(tmp_path / "first")
    mapped = first.schema().to_arrow()
    assert b"delta.columnMapping.id" in mapped.field("s").metadata
    data = pa.table(ODD.columns, schema=mapped)
    write_deltalake(tmp_path / "second", data, configuration=NAME)
    DeltaTable.create(tmp_path / "third", first.schema(), configuration=NAME)
    known = {field.metadata[PHYSICAL_NAME_KEY] for field in fields_of(first.schema())}
    for name in ("second", "third"):
        others = list(fields_of(DeltaTable(tmp_path / name).schema()))
        assert known.isdisjoint(field.metadata[PHYSICAL_NAME_KEY] for field in others)


def test_a_plain_table_made_by_the_schema_of_a_mapped_one_is_plain(tmp_path):
    data = pa.table({"id": [1]})
    write_deltalake(tmp_path / "mapped", data, configuration=NAME)
    schema = DeltaTable(tmp_path / "mapped").schema()
    plain = DeltaTable.create(tmp_path / "plain", schema)
    assert plain.schema().to_json() == Schema.from_arrow(data.schema).to_json()


@pytest.mark.parametrize(
    ("configuration", "error", "message"),
    [
        ({"delta.columnMapping.mode": "index"}, InvalidTablePropertyError, "none, name, id"),
        (NAME | {"delta.columnMapping.maxColumnId": "5"}, InvalidTablePropertyError, "set by the engine"),
        ({"delta.columnMapping.mode": "none"}, SchemaMismatchError, "'a b' contains one of the characters"),
        ({"delta.feature.columnMapping": "supported"}, SchemaMismatchError, "'a b' contains one of"),
    ],
)
def test_what_spark_refuses_is_refused(tmp_path, configuration, error, message):
    with pytest.raises(error, match=message):
        DeltaTable.create(tmp_path, ODD.schema, configuration=configuration)
    with pytest.raises(error, match=message):
        write_deltalake(tmp_path, ODD, configuration=configuration)
    assert not list(tmp_path.iterdir())


def test_odd_names_turn_on_mapping_in_a_new_table(tmp_path):
    write_deltalake(tmp_path / "written", ODD)
    DeltaTable.create(tmp_path / "created", ODD.schema)
    for name in ("written", "created"):
        table = DeltaTable(tmp_path / name)
        assert table.metadata().configuration["delta.columnMapping.mode"] == "name"
        told = json.loads(table.history()[0]["operationParameters"]["properties"])
        assert told["delta.columnMapping.mode"] == "name"
    write_deltalake(tmp_path / "created", ODD, mode="append")
    assert DeltaTable(tmp_path / "created").to_pyarrow_table().equals(ODD)
    assert DeltaTable(tmp_path / "written").to_pyarrow_table().equals(ODD)


@pytest.mark.parametrize("column", ["s", "xs", "m"])
def test_odd_names_within_a_type_turn_on_mapping(tmp_path, column):
    write_deltalake(tmp_path, ODD.select([column]))
    assert DeltaTable(tmp_path).metadata().configuration["delta.columnMapping.mode"] == "name"
    assert DeltaTable(tmp_path).to_pyarrow_table().equals(ODD.select([column]))


def test_plain_names_turn_on_nothing(tmp_path):
    write_deltalake(tmp_path, pa.table({"a.b": [1], "ä": [2], "a-b": [3]}))
    assert DeltaTable(tmp_path).metadata().configuration == {}
    assert "properties" not in DeltaTable(tmp_path).history()[0]["operationParameters"]


def test_a_table_of_deltalake_with_odd_names_is_read_and_changed(tmp_path):
    rows = ODD.select(["a b", "p=q.r"])
    deltalake.write_deltalake(tmp_path, rows)
    write_deltalake(tmp_path, rows, mode="append")
    table = DeltaTable(tmp_path)
    assert "delta.columnMapping.mode" not in table.metadata().configuration
    table.update({"`a b`": "`a b` + 1"}, predicate="`p=q.r` = 'u'")
    assert sorted(table.to_pyarrow_table()["a b"].drop_null().to_pylist()) == [2, 2, 2, 2, 3, 3]
    theirs = deltalake.DeltaTable(tmp_path).to_pyarrow_table()
    assert_same_rows(theirs, table.to_pyarrow_table())


def test_a_table_that_only_supports_mapping_is_written_without(tmp_path):
    data = pa.table({"id": [1]})
    write_deltalake(tmp_path, data, configuration={"delta.feature.columnMapping": "supported"})
    (add,) = adds(tmp_path, 0)
    assert "/" not in add["path"]
    assert pq.read_schema(tmp_path / add["path"]).equals(pa.schema([("id", pa.int64())]))


def mapped(name, number, physical, data_type="long"):
    return Field(name, data_type, metadata={FIELD_ID_KEY: number, PHYSICAL_NAME_KEY: physical})


@pytest.mark.parametrize(
    ("fields", "mode", "message"),
    [
        ([mapped("a", 1, "x"), mapped("b", 1, "y")], "name", "'a' and 'b' share the id 1"),
        (
            [mapped("a", 1, "x"), mapped("s", 2, "y", StructType([mapped("b", 1, "x")]))],
            "id",
            "'a' and 'b' share the id 1",
        ),
        ([mapped("a", 1, "x"), mapped("b", 2, "x")], "name", "'a' and 'b' share the physical name 'x'"),
        ([Field("a", "long", metadata={FIELD_ID_KEY: 1})], "name", "column 'a' has no"),
        ([Field("a", "long", metadata={PHYSICAL_NAME_KEY: "x"})], "id", "by id, but its column 'a'"),
    ],
)
def test_a_table_whose_columns_cannot_be_told_apart_is_not_written_to(tmp_path, fields, mode, message):
    table = TableBuilder(tmp_path).protocol(2, 7, None, ["columnMapping"])
    table.metadata(Schema(fields).to_json(), configuration={"delta.columnMapping.mode": mode}).commit()
    with pytest.raises(CorruptLogError, match=message):
        write_deltalake(tmp_path, pa.table({"a": [1]}), mode="append")
    assert not list(tmp_path.rglob("*.parquet"))


@settings(deadline=None, max_examples=examples(4), suppress_health_check=[HealthCheck.too_slow])
@given(pairs(), st.sampled_from(MODES))
def test_any_schema_and_what_is_merged_into_it_comes_back(pair, mode):
    old, data = pair
    try:
        new = merge_schemas(old, data, widen=True)
    except SchemaMismatchError:
        return
    configuration = {
        "delta.columnMapping.mode": mode,
        "delta.enableTypeWidening": "true",
        "delta.feature.timestampNtz": "supported",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_deltalake(path, sample_rows(old), configuration=configuration)
        before = {f.metadata[FIELD_ID_KEY]: f for f in fields_of(open_snapshot(path).schema)}
        write_deltalake(path, sample_rows(data), mode="append", schema_mode="merge")
        snapshot = open_snapshot(path)
        after = {f.metadata[FIELD_ID_KEY]: f for f in fields_of(snapshot.schema)}
        for number, field in before.items():
            assert after[number].metadata[PHYSICAL_NAME_KEY] == field.metadata[PHYSICAL_NAME_KEY]
        assert snapshot.configuration["delta.columnMapping.maxColumnId"] == str(max(after))
        check_files(path)
        parts = [conform(sample_rows(each), new.to_arrow()) for each in pair]
        wanted = pa.Table.from_batches(parts)
        for read in ENGINES.values():
            table = read(snapshot, None, None)
            assert_same_rows(table, wanted)
            assert names_in(Schema.from_arrow(table.schema)) == names_in(new)
