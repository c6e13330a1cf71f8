"""Mapped tables that Spark and we write in turns, and the output of each for the same statements."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.schema.metadata_keys import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, delta_table, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("columnMapping"),
]

COLUMNS = (
    "`a b` BIGINT, s STRUCT<x: BIGINT, `y,z`: STRING>, xs ARRAY<STRUCT<i: BIGINT>>, ys ARRAY<BIGINT>,"
    " m MAP<STRING, STRUCT<v: BIGINT>>, `p=q.r` STRING"
)
INNER = pa.struct([("x", pa.int64()), ("y,z", pa.string())])
ROWS = pa.table(
    {
        "a b": pa.array([1, 2, 3, None], pa.int64()),
        "s": pa.array([{"x": 1, "y,z": "k"}, None, {"x": None, "y,z": "l"}, None], INNER),
        "xs": pa.array([[{"i": 1}], [], None, [None]], pa.list_(pa.struct([("i", pa.int64())]))),
        "ys": pa.array([[1, None], [], None, None], pa.list_(pa.int64())),
        "m": pa.array(
            [[("k", {"v": 5})], None, [], None], pa.map_(pa.string(), pa.struct([("v", pa.int64())]))
        ),
        "p=q.r": ["u", "v", "v", None],
    }
)
BY_NATURE = {
    "commitInfo": {"timestamp", "engineInfo", "txnId", "operationMetrics"},
    "metaData": {"id", "createdTime"},
    "add": {"path", "size", "modificationTime"},
    "protocol": set(),
}


def numbered(path, text):
    """The text with ids in the place of physical names, which differ by nature."""
    schema = da.DeltaTable(path).schema().to_json()
    fields = re.findall(rf'"{FIELD_ID_KEY}":(\d+),"{PHYSICAL_NAME_KEY}":"([^"]+)"', schema)
    for number, name in fields:
        text = text.replace(name, f"column {number}")
    return text


def commit(path, version):
    """Kind and fields of the actions of a commit, but for what differs by nature."""
    text = (Path(path) / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
    found = []
    for line in numbered(path, text).splitlines():
        ((kind, fields),) = json.loads(line).items()
        values = {
            name: json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
            for name, value in fields.items()
            if name not in BY_NATURE[kind]
        }
        if kind == "commitInfo":
            values["operationParameters"].pop("properties", None)  # JSON in JSON, and again in metaData
        found.append((kind, sorted(fields), values))
    return sorted(found, key=repr)


def data_columns(path):
    """The columns of every data file, with their ids; those of Spark hold the partition column too."""
    files = sorted(Path(path).glob("[!_]*/*.parquet"))
    assert all(re.fullmatch(r"[A-Za-z0-9]{2}", file.parent.name) for file in files)
    partition = da.DeltaTable(path).schema().field("p=q.r").metadata[PHYSICAL_NAME_KEY]
    found = []
    for file in files:
        schema = str(pq.ParquetFile(file).schema).partition("\n")[2]
        lines = [line for line in schema.splitlines() if partition not in line]
        found.append(numbered(path, "\n".join(lines[1:])))
    return found


@pytest.mark.parametrize("mode", ["name", pytest.param("id", marks=pytest.mark.slow)])
def test_what_we_write_is_what_spark_writes(spark, tmp_path, mode):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} ({COLUMNS}) USING delta PARTITIONED BY (`p=q.r`)"
        f" TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')"
    )
    da.DeltaTable.create(
        ours, ROWS.schema, partition_by="p=q.r", configuration={"delta.columnMapping.mode": mode}
    )
    frame = spark.createDataFrame(ROWS).coalesce(1)
    more = pa.table({"a b": [7], "s": [{"w": 8}], "n;": [9], "p=q.r": ["u"]})
    merging = spark.createDataFrame(more).coalesce(1).write.format("delta").option("mergeSchema", "true")
    frame.write.format("delta").mode("append").save(str(theirs))
    da.write_deltalake(ours, ROWS, mode="append")
    assert data_columns(ours) == data_columns(theirs)
    merging.mode("append").save(str(theirs))
    da.write_deltalake(ours, more, mode="append", schema_mode="merge")
    for version in range(3):
        assert commit(ours, version) == commit(theirs, version), version
    # The other way round: each appends to the table of the other.
    da.write_deltalake(theirs, ROWS, mode="append")
    frame.write.format("delta").mode("append").save(str(ours))
    assert commit(ours, 3)[0][0] == commit(theirs, 3)[0][0] == "add"
    wanted = check_engines(spark, theirs)
    assert wanted.num_rows == 2 * ROWS.num_rows + 1
    assert wanted.column_names == [*ROWS.column_names, "n;"]
    assert_same_rows(check_engines(spark, ours), wanted)


def test_a_new_table_whose_names_need_mapping_is_one_for_spark(spark, tmp_path):
    da.write_deltalake(tmp_path, ROWS, partition_by=["p=q.r"])
    assert da.DeltaTable(tmp_path).metadata().configuration["delta.columnMapping.mode"] == "name"
    assert_same_rows(check_engines(spark, tmp_path), ROWS)
    spark.sql(f"INSERT INTO {delta_table(tmp_path)} TABLE {delta_table(tmp_path)}")
    spark.sql(f"ALTER TABLE {delta_table(tmp_path)} RENAME COLUMN `a b` TO `c d`")
    da.write_deltalake(tmp_path, ROWS.rename_columns({"a b": "c d"}), mode="append")
    assert check_engines(spark, tmp_path).num_rows == 3 * ROWS.num_rows


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "vectors"), [("name", "true"), ("id", "false")])
def test_spark_renames_drops_and_optimises_what_we_write(spark, tmp_path, mode, vectors):
    name = delta_table(tmp_path)
    configuration = {"delta.columnMapping.mode": mode, "delta.enableDeletionVectors": vectors}
    da.write_deltalake(tmp_path, ROWS, partition_by="p=q.r", configuration=configuration)
    for statement in (
        "ALTER TABLE {} RENAME COLUMN `a b` TO id",
        "ALTER TABLE {} RENAME COLUMN s.x TO `x x`",
        "ALTER TABLE {} RENAME COLUMN `p=q.r` TO p",
        "ALTER TABLE {} DROP COLUMN ys",
        "ALTER TABLE {} DROP COLUMN s.`y,z`",
        "ALTER TABLE {} ADD COLUMNS (ys STRING)",
    ):
        spark.sql(statement.format(name))
    rows = pa.table({"id": [5, 6], "s": [{"x x": 1}, None], "ys": ["new", None], "p": ["u", "w"]})
    da.write_deltalake(tmp_path, rows, mode="append")
    da.write_deltalake(tmp_path, rows.slice(0, 1), mode="overwrite", predicate="id = 5")
    da.write_deltalake(tmp_path, rows.slice(0, 0), mode="overwrite", predicate="id = 2")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    da.write_deltalake(tmp_path, rows.slice(1, 1), mode="overwrite", partition_overwrite_mode="dynamic")
    wanted = check_engines(spark, tmp_path)
    assert sorted(wanted["id"].to_pylist(), key=repr) == [1, 5, 6, None]
    assert sorted(wanted["ys"].to_pylist(), key=repr) == ["new", None, None, None]
    spark.sql(f"OPTIMIZE {name}")
    assert_same_rows(spark_table(spark, tmp_path), wanted)
    da.write_deltalake(tmp_path, rows, mode="overwrite", schema_mode="overwrite", partition_by=[])
    assert_same_rows(check_engines(spark, tmp_path), rows)
