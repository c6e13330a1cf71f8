"""`table.inspect`: what the log says of a table, as Arrow tables."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow as da
from tests.support.examples import examples
from tests.support.tables import TableBuilder

MAPPED = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("p", pa.string()),
        ("num_files", pa.int32()),
        ("s", pa.struct([("x.y", pa.int32())])),
        ("m", pa.map_(pa.string(), pa.list_(pa.struct([("k", pa.date32())])))),
    ]
)


@pytest.fixture
def table(tmp_path):
    table = da.DeltaTable.create(tmp_path, SCHEMA, partition_by=["p", "num_files"], configuration=MAPPED)
    for part in ("a", "b", None):
        rows = {"id": [1, 2, 3], "p": [part] * 3, "num_files": pa.array([1] * 3, pa.int32())}
        da.write_deltalake(table, pa.table(rows), mode="append")
    return table


def test_files_and_partitions_tell_of_live_and_deleted_rows(table):
    table.delete("id = 2 AND p = 'a'")
    files = table.inspect.files()
    found = {each["partition"]["p"]: each for each in files.to_pylist()}
    assert files.num_rows == 3
    assert (found["a"]["num_records"], found["a"]["deleted_rows"]) == (3, 1)
    assert (found[None]["num_records"], found[None]["deleted_rows"]) == (3, 0)
    assert files.schema.field("modification_time").type == pa.timestamp("ms", "UTC")
    partitions = table.inspect.partitions()
    values = [each["p"] for each in partitions["partition"].to_pylist()]
    assert sorted(values, key=str) == [None, "a", "b"]
    assert partitions["num_files"].to_pylist() == [1, 1, 1]
    assert pc.sum(partitions["size_bytes"]) == pc.sum(files["size_bytes"])
    assert partitions["deleted_rows"].to_pylist().count(1) == 1
    (vector,) = table.inspect.deletion_vectors().to_pylist()
    assert (vector["path"], vector["cardinality"]) == (found["a"]["path"], 1)
    assert vector["num_records"] == 3


def test_columns_are_told_with_all_parts(table):
    table.alter.add_feature(da.TableFeatures.AllowColumnDefaults, True)
    table.alter.change_column("id", comment="key", default="7")
    rows = table.inspect.columns().to_pylist()
    assert [(row["path"], row["type"]) for row in rows] == [
        ("id", "long"),
        ("p", "string"),
        ("num_files", "integer"),
        ("s", "struct"),
        ("s.`x.y`", "integer"),
        ("m", "map"),
        ("m.key", "string"),
        ("m.value", "array"),
        ("m.value.element", "struct"),
        ("m.value.element.k", "date"),
    ]
    first, by_path = rows[0], {row["path"]: row for row in rows}
    assert (first["comment"], first["default"], first["nullable"], first["field_id"]) == (
        "key",
        "7",
        False,
        1,
    )
    assert first["physical_path"].startswith("col-")
    assert [path for path, row in by_path.items() if row["is_partition"]] == ["p", "num_files"]
    assert [path for path, row in by_path.items() if row["has_statistics"]] == ["id", "s.`x.y`", "m"]


def test_history_is_a_table_even_where_writers_recorded_odd_things(tmp_path):
    TableBuilder(tmp_path).protocol().metadata(SCHEMA).commit()
    odd = [
        {"operation": 7, "readVersion": "x", "operationParameters": {"a": ["x"], "b": False}},
        {"operationMetrics": "none", "isBlindAppend": "yes"},
    ]
    for version, info in enumerate(odd, 1):
        text = json.dumps({"commitInfo": info})
        (tmp_path / "_delta_log" / f"{version:020d}.json").write_text(text, encoding="utf-8")
    history = da.DeltaTable(tmp_path).inspect.history()
    assert history["version"].to_pylist() == [2, 1, 0]
    assert history["operation"].to_pylist()[:2] == [None, "7"]
    assert history["operationParameters"].to_pylist()[1] == [("a", '["x"]'), ("b", "false")]
    assert history["readVersion"].to_pylist()[1] is None
    with pytest.raises(ValueError, match="limit is -1"):
        da.DeltaTable(tmp_path).inspect.history(-1)
    assert da.DeltaTable(tmp_path).inspect.history(1).num_rows == 1


@pytest.mark.feature("clustering")
def test_clustering_columns_are_told_in_their_order(tmp_path):
    schema = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.date32())]))])
    table = da.DeltaTable.create(tmp_path, schema, cluster_by=["s.x", "a"])
    assert table.inspect.clustering().to_pylist() == [
        {"path": "s.x", "physical_path": "s.x", "type": "date"},
        {"path": "a", "physical_path": "a", "type": "integer"},
    ]
    assert da.DeltaTable.create(tmp_path / "none", schema).inspect.clustering().num_rows == 0


def test_tombstones_are_those_of_the_log_before_and_after_a_checkpoint(table):
    assert table.inspect.tombstones().num_rows == 0
    path = table.inspect.files()["path"].to_pylist()
    table.delete()
    found = table.inspect.tombstones()
    assert sorted(found["path"].to_pylist()) == sorted(path)
    assert found.schema.field("deletion_timestamp").type == pa.timestamp("ms", "UTC")
    table.create_checkpoint()
    again = da.DeltaTable(table.table_uri).inspect.tombstones()
    for name in ("path", "deletion_timestamp", "size_bytes"):
        assert sorted(again[name].to_pylist()) == sorted(found[name].to_pylist())
    assert table.inspect.files().num_rows == table.inspect.deletion_vectors().num_rows == 0


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 4), st.booleans()), max_size=6))
@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
def test_totals_are_those_of_the_rows(tmp_path_factory, steps):
    """Partitions, files and vectors add up to the rows that a scan finds."""
    folder = tmp_path_factory.mktemp("t")
    properties = {"delta.enableDeletionVectors": "true"}
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = da.DeltaTable.create(folder, schema, partition_by=["p"], configuration=properties)
    for part, count, deletes in steps:
        if deletes:
            table.delete(f"p = '{part}' AND id < {count}")
        else:
            rows = pa.table({"id": range(count), "p": [part] * count}, schema)
            da.write_deltalake(table, rows, mode="append")
    partitions, files = table.inspect.partitions(), table.inspect.files()
    for found in (partitions, files):
        live = sum(found["num_records"].to_pylist()) - sum(found["deleted_rows"].to_pylist())
        assert live == table.count()
    assert sum(partitions["num_files"].to_pylist()) == files.num_rows
    deleted = sum(files["deleted_rows"].to_pylist())
    assert sum(table.inspect.deletion_vectors()["cardinality"].to_pylist()) == deleted
