"""CONVERT beside Spark: the same commit but for what only data tells, and Spark goes on with our table."""

import datetime as dt
import json
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, convert_to_deltalake
from tests.operations.convert.test_converting import put
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

COLUMNS = {
    "id": pa.array([1, None], pa.int64()),
    "u": pa.array([1, 200], pa.uint8()),
    "s": ["x" * 50, "é" * 40],
    "d": pa.array([dt.date(1999, 1, 1), dt.date(2020, 1, 1)]),
    "ts": pa.array([0, 1_234_567], pa.timestamp("us", "UTC")),
    "st": [{"x": 1}, None],
    "l": [[1], None],
}


def test_the_commit_is_that_of_spark(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    put(theirs, "p=03/Q=a%20b/a b.parquet", COLUMNS)
    put(theirs, "p=__HIVE_DEFAULT_PARTITION__/q=c/sub/b.parquet", {**COLUMNS, "more": [1.5, 2.5]})
    put(theirs, "p=5/Q=x/empty.parquet", {"id": pa.array([], pa.int64())})
    put(theirs, "_hidden/c.parquet", {"other": [1]})
    shutil.copytree(theirs, ours)
    spark.sql(f"CONVERT TO DELTA parquet.`{theirs}` PARTITIONED BY (p INT, Q STRING)")
    convert_to_deltalake(ours, partition_by={"p": "integer", "Q": "string"})
    found = []
    for folder in (theirs, ours):
        actions = commit(folder, 0)
        for action in actions:
            # Only Spark's commits of new tables have a read version.
            action.get("commitInfo", {}).pop("readVersion", None)
            if "add" in action:
                stats = json.loads(action["add"].pop("stats"))
                # Footers tell neither NaN nor how many lists are NULL.
                for name, part in (("maxValues", "more"), ("nullCount", "l")):
                    stats[name].pop(part, None)
                action["add"]["tags"] = {
                    "stats": json.dumps(stats, sort_keys=True),
                    "at": action["add"]["path"],
                }
        found.append(comparable(actions))
    assert found[0] == found[1]
    assert_same_rows(spark_table(spark, theirs), spark_table(spark, ours))
    assert_same_rows(DeltaTable(ours).to_pyarrow_table(), spark_table(spark, ours))
    spark.sql(f"DELETE FROM {delta_table(ours)} WHERE id = 1")
    assert DeltaTable(ours).count() == 2


def test_columns_mapped_by_the_ids_of_files_are_read_by_spark(spark, tmp_path):
    fields = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})
        for name, number in (("a b", 4), ("c", 2))
    ]
    put(tmp_path, "p=1/a.parquet", pa.table({"a b": [1], "c": [2]}, schema=pa.schema(fields)))
    convert_to_deltalake(tmp_path, configuration={"delta.columnMapping.mode": "id"})
    spark.sql(f"ALTER TABLE {delta_table(tmp_path)} RENAME COLUMN c TO d")
    spark.sql(f"INSERT INTO {delta_table(tmp_path)} VALUES (5, 6, 7)")
    assert_same_rows(DeltaTable(tmp_path).to_pyarrow_table(), spark_table(spark, tmp_path))
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table().column("d").to_pylist()) == [2, 6]


def test_manifests_are_those_of_spark(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    columns = "id INT, p STRING, d DATE, t TIMESTAMP"
    enabled = "TBLPROPERTIES ('delta.compatibility.symlinkFormatManifest.enabled' = 'true')"
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} ({columns}) USING delta PARTITIONED BY (p, d, t) {enabled}"
    )
    rows = "(1, 'a b/c', DATE'2020-01-01', TIMESTAMP'2020-01-01 01:02:03.5'), (2, NULL, NULL, NULL)"
    spark.sql(f"INSERT INTO {delta_table(theirs)} VALUES {rows}")
    shutil.copytree(theirs, ours)
    shutil.rmtree(ours / "_symlink_format_manifest")
    DeltaTable(ours).generate()

    def found(path):
        texts = {
            str(file.relative_to(path)): file.read_text() for file in path.rglob("_symlink*/**/manifest")
        }
        return {name: text.replace(str(path), "") for name, text in texts.items()}

    assert found(ours) == found(theirs)
    assert len(found(ours)) == 2
    DeltaTable(ours).delete("p IS NULL")
    spark.sql(f"DELETE FROM {delta_table(theirs)} WHERE p IS NULL")
    assert found(ours) == found(theirs)
    assert len(found(ours)) == 1
