"""Log maintenance compared with Spark's on the same table, and read by Spark."""

import datetime as dt
import functools
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable
from deltaarrow.log import clean_up_log
from deltaarrow.operations import create_checkpoint
from deltaarrow.storage import open_store
from tests.support.spark import delta_log_files, delta_table, spark_table

pytestmark = pytest.mark.spark

COLUMNS = (
    "i INT, l LONG, sh SHORT, by BYTE, f FLOAT, d DOUBLE, s STRING, bo BOOLEAN, bi BINARY, da DATE,"
    " ts TIMESTAMP, tn TIMESTAMP_NTZ, d1 DECIMAL(7,2), d2 DECIMAL(15,3), d3 DECIMAL(30,5),"
    " st STRUCT<x: INT, y: STRUCT<z: STRING, w: TIMESTAMP>>, ar ARRAY<INT>, ma MAP<STRING, INT>"
)
PARTITIONS = "i, l, sh, by, f, d, s, bo, bi, da, ts, tn, d1, d2, d3"
VALUES = (
    "{n}, {n}L, {n}S, {n}Y, float('{f}'), double('{f}'), 'é {n}', true, X'6162', DATE'2024-01-0{n}',"
    " TIMESTAMP'2024-01-0{n} 03:04:05.123456', TIMESTAMP_NTZ'2024-01-0{n} 03:04:05.123456', 1.25, 2.125,"
    " 123456789012345678901234.00001, named_struct('x', {n}, 'y', named_struct('z', 'q', 'w',"
    " TIMESTAMP'1969-12-31 23:59:59.9999')), array(1), map('a', 1)"
)
NOTHING = ", ".join(["null"] * 18)


def make(spark, path, *, partitioned: bool) -> None:
    """Versions 0 to 5: files with and without deletion vectors, NULLs, tombstones, transactions."""
    table = delta_table(path)
    clause = f"PARTITIONED BY ({PARTITIONS})" if partitioned else "CLUSTER BY (i, s)"
    spark.sql(
        f"CREATE TABLE {table} ({COLUMNS}) USING delta {clause}"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name')"
    )
    rows = [VALUES.format(n=n, f=f) for n, f in ((1, "NaN"), (2, "1.5"), (3, "-Infinity"))]
    spark.sql(f"INSERT INTO {table} {' UNION ALL '.join(f'SELECT {row}' for row in rows)}")
    spark.sql(f"INSERT INTO {table} SELECT {VALUES.format(n=4, f='Infinity')} UNION ALL SELECT {NOTHING}")
    spark.sql(f"DELETE FROM {table} WHERE l = 2")
    application = {"txnAppId": "etl", "txnVersion": "7"}
    for key, value in application.items():
        spark.conf.set(f"spark.databricks.delta.write.{key}", value)
    spark.sql(f"INSERT INTO {table} SELECT {VALUES.format(n=5, f='0.5')}")
    for key in application:
        spark.conf.unset(f"spark.databricks.delta.write.{key}")
    spark.sql(f"DELETE FROM {table} WHERE l IS NULL")


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """Makes a table once, with Spark's own checkpoint of the newest version."""
    folder = tmp_path_factory.mktemp("upkeep")

    @functools.cache
    def make_table(name):
        make(spark, folder / name, partitioned=name == "partitioned")
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
            spark._jsparkSession, str(folder / name)
        ).checkpoint()
        return folder / name

    return make_table


def copy(source, target):
    """A table without its checkpoints and without the checksums of Hadoop."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.checkpoint*", "_last_*", ".*.crc"))
    return target


def rely_on_checkpoint(path, version):
    """Take away all that could tell Spark what is in the checkpoint."""
    for name in delta_log_files(path, "*.json") + delta_log_files(path, "*.crc"):
        if "checkpoint" not in name and int(name[:20]) < version:
            (path / "_delta_log" / name).unlink()
    (path / "_delta_log" / f"{version:020d}.crc").unlink()


def rows_in_spark(spark, path):
    """Every row as a text, since NaN is not equal to itself."""
    return sorted(map(str, spark_table(spark, path).to_pylist()))


def comparable(value):
    """A value of a checkpoint without what is said otherwise: NULL members, zones, the order of a map."""
    if isinstance(value, dict):
        return {k: comparable(v) for k, v in value.items() if v is not None and k != "maxRowIndex"}
    if isinstance(value, list):
        return sorted(map(str, value))
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat()[:26]
    return str(value)


def described(data_type):
    """A type as JSON, with Spark's INT96 as what it stands for."""
    if pa.types.is_struct(data_type):
        return {each.name: described(each.type) for each in data_type if each.name != "maxRowIndex"}
    if pa.types.is_timestamp(data_type) and data_type.unit == "ns":
        return str(pa.timestamp("us", "UTC"))
    return "map" if pa.types.is_map(data_type) else str(data_type).replace("array", "element")


def content(file):
    table = pq.read_table(file)
    rows = [comparable(row) for row in table.to_pylist()]
    return json.dumps({f.name: described(f.type) for f in table.schema}), sorted(map(str, rows))


@pytest.mark.parametrize("name", [pytest.param("clustered", marks=pytest.mark.slow), "partitioned"])
def test_a_classic_checkpoint_is_the_one_that_spark_writes(made, tmp_path, name):
    path = copy(made(name), tmp_path / "t")
    written = create_checkpoint(open_store(path), 5)
    assert content(path / written) == content(made(name) / written)
    ours, theirs = (json.loads((p / "_delta_log/_last_checkpoint").read_text()) for p in (path, made(name)))
    assert list(ours) == list(theirs)
    assert [ours[key] for key in ("version", "size", "numOfAddFiles")] == [
        theirs[key] for key in ("version", "size", "numOfAddFiles")
    ]


@pytest.mark.parametrize(
    ("name", "properties", "manifest_format"),
    [
        pytest.param("partitioned", {}, "parquet", marks=pytest.mark.slow),
        pytest.param("clustered", {"delta.checkpointPolicy": "v2"}, "parquet", marks=pytest.mark.slow),
        (
            "partitioned",
            {"delta.checkpointPolicy": "v2", "delta.checkpoint.writeStatsAsJson": "false"},
            "json",
        ),
    ],
)
def test_spark_reads_and_changes_what_our_checkpoint_holds(
    spark, made, tmp_path, name, properties, manifest_format
):
    path = copy(made(name), tmp_path / "t")
    version = 5
    if properties:
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(f"ALTER TABLE {delta_table(path)} SET TBLPROPERTIES ({listed})")
        path, version = copy(path, tmp_path / "altered"), 6
    written = create_checkpoint(open_store(path), version, manifest_format=manifest_format)
    assert written.endswith(manifest_format)
    rely_on_checkpoint(path, version)
    assert rows_in_spark(spark, path) == rows_in_spark(spark, made(name))
    assert (
        spark.read.format("delta").load(str(path)).where("ts > '2024-01-03' AND d3 > 1 AND i = 5").count()
        == 1
    )
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE l = 3")
    detail = spark.sql(f"DESCRIBE DETAIL {delta_table(path)}").collect()[0]
    assert detail["numFiles"] == DeltaTable(path).get_add_actions().num_rows
    assert sorted(DeltaTable(path).to_pyarrow_table(columns=["l"]).column("l").to_pylist()) == [1, 4, 5]
    if name == "clustered":
        assert DeltaTable(path).snapshot.domains
        assert DeltaTable(path).transaction_version("etl") == 7


def test_spark_reads_compactions_and_what_is_left_of_a_log(spark, made, tmp_path):
    path = copy(made("partitioned"), tmp_path / "t")
    create_checkpoint(open_store(path), 1)
    store = open_store(path)
    deleted = clean_up_log(store, now_ms=4_000_000_000_000, retention_ms=0)
    assert any(name.endswith("00000000000000000000.json") for name in deleted)
    DeltaTable(path).compact_logs(2, 4)
    for name in delta_log_files(path, "*.crc"):
        (path / "_delta_log" / name).unlink()
    # A commit that the compaction stands for is not read.
    (path / "_delta_log" / "00000000000000000003.json").write_text("not a commit")
    rows = rows_in_spark(spark, path)
    assert rows == rows_in_spark(spark, made("partitioned"))
    assert DeltaTable(path).to_pyarrow_table().num_rows == len(rows)
