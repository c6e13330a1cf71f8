"""Tables with files in or from other places: clones, converted, restored and moved tables."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.errors import CorruptDataFileError, CorruptDeletionVectorError
from deltaarrow.transaction import AddAction, RemoveAction
from tests.support.spark import check_engines, create_table, delta_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture
def without_retention(spark):
    key = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(key, "false")
    yield
    spark.conf.unset(key)


def make_source(spark, path, mapped):
    """A table with deletion vectors at an odd place, and odd texts in its partitions."""
    properties = {"enableDeletionVectors": "true", "columnMapping__mode": mapped}
    name = create_table(spark, path, "id BIGINT, p STRING, v STRING", "PARTITIONED BY (p)", **properties)
    spark.sql(f"INSERT INTO {name} SELECT id, concat('a b=', id % 3, '%é'), 'v' FROM range(0, 60, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    return name


def test_files_that_a_caller_wrote_and_removes(spark, tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": pa.array([1, 2], pa.int64())}))
    table = da.DeltaTable(tmp_path)
    (tmp_path / "new folder").mkdir()
    file = tmp_path / "new folder" / "rows%.parquet"
    pq.write_table(pa.table({"id": pa.array([3], pa.int64())}), file)
    actions = [RemoveAction(each, True, 0) for each in table.get_add_actions()["path"].to_pylist()]
    actions.append(AddAction("new folder/rows%.parquet", file.stat().st_size, {}, 0, True, "{}"))
    table.create_write_transaction(actions, "append", table.schema())
    assert check_engines(spark, tmp_path)["id"].to_pylist() == [3]


@pytest.mark.slow
@pytest.mark.feature("deletionVectors")
def test_shallow_clones(spark, tmp_path):
    """Paths of files and of deletion vectors are absolute, in clones of clones as well."""
    source, clone, second = (tmp_path / part for part in ("source é %20", "clone", "second"))
    name = make_source(spark, source, "none")
    spark.sql(f"CREATE TABLE {delta_table(clone)} SHALLOW CLONE {name}")
    vectors = da.DeltaTable(clone).snapshot.files()["deletion_vector"].to_pylist()
    assert {vector["storage_type"] for vector in vectors} == {"p"}
    spark.sql(f"DELETE FROM {delta_table(clone)} WHERE id = 7")
    spark.sql(f"INSERT INTO {delta_table(clone)} VALUES (100, 'n', 'w')")
    spark.sql(f"CREATE TABLE {delta_table(second)} SHALLOW CLONE {delta_table(clone)}")
    check_engines(spark, clone)
    check_engines(spark, second)
    source.rename(tmp_path / "moved")
    check_engines(spark, tmp_path / "moved")
    with pytest.raises(CorruptDeletionVectorError, match=r"source é %20.* does not exist"):
        da.DeltaTable(clone).to_pyarrow_table()


@pytest.mark.slow
@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize("mapped", ["none", "name"])
@pytest.mark.usefixtures("without_retention")
def test_clones_and_their_source_change_apart(spark, tmp_path, mapped):
    source, clone, second = (tmp_path / part for part in ("source é %20", "clone", "second"))
    name = make_source(spark, source, mapped)
    spark.sql(f"CREATE TABLE {delta_table(clone)} SHALLOW CLONE {name}")
    spark.sql(f"DELETE FROM {delta_table(clone)} WHERE id = 7")
    spark.sql(f"CREATE TABLE {delta_table(second)} SHALLOW CLONE {delta_table(clone)}")
    spark.sql(f"UPDATE {delta_table(second)} SET v = 'u' WHERE id % 7 = 1")
    check_engines(spark, second)
    check_engines(spark, second, 0)
    spark.sql(f"RESTORE TABLE {delta_table(clone)} TO VERSION AS OF 0")
    spark.sql(f"REORG TABLE {name} APPLY (PURGE)")
    assert da.DeltaTable(source).snapshot.files()["deletion_vector"].null_count > 0
    spark.sql(f"OPTIMIZE {delta_table(second)}")
    spark.sql(f"VACUUM {delta_table(second)} RETAIN 0 HOURS")
    for path in (source, clone, second):
        check_engines(spark, path)


@pytest.mark.slow
def test_tables_that_were_converted(spark, tmp_path):
    """Files without statistics, and partition values that are in the names of folders alone."""
    path = tmp_path / "é"
    text = "CASE WHEN id % 4 > 0 THEN concat('a b/', id % 4, '=%') END AS t"
    rows = spark.range(0, 50, 1, 1).selectExpr("id", "id / 2D AS x", "CAST(id % 3 AS INT) AS k", text)
    rows.write.partitionBy("k", "t").parquet(str(path))
    spark.sql(f"CONVERT TO DELTA parquet.`{path}` NO STATISTICS PARTITIONED BY (k INT, t STRING)")
    table = da.DeltaTable(path)
    assert table.snapshot.files()["stats"].null_count == len(table.file_uris())
    check_engines(spark, path)
    assert table.count() == 50
    name = delta_table(path)
    spark.sql(f"INSERT INTO {name} VALUES (99, 1.5, 7, 'z')")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {name} WHERE id % 6 = 0")
    check_engines(spark, path)
    assert len(da.DeltaTable(path).file_uris(file_pruning_predicate="t IS NULL")) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("without_retention")
def test_vacuum_and_a_move(spark, tmp_path):
    name = create_table(spark, tmp_path / "t", "id INT", enableDeletionVectors="true")
    spark.sql(f"INSERT INTO {name} SELECT id FROM range(0, 30, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id < 5")
    spark.sql(f"INSERT INTO {name} VALUES (30)")
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"DELETE FROM {name} WHERE id = 20")
    spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    shutil.move(tmp_path / "t", tmp_path / "moved é")
    check_engines(spark, tmp_path / "moved é")
    with pytest.raises(CorruptDataFileError, match="not in storage"):
        da.DeltaTable(tmp_path / "moved é", version=1).to_pyarrow_table()
