"""Tables that Spark creates with one feature each: our engines read the same rows as Spark."""

import datetime
import os
import time

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import VersionNotFoundError
from deltaarrow.log import list_segment
from deltaarrow.storage import open_store
from tests.support.engines import ENGINES
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_log_files, spark_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


# --- the log ---------------------------------------------------------------------------------------


@pytest.mark.feature("inCommitTimestamp")
@pytest.mark.slow
@pytest.mark.parametrize("enabled_at", [0, 2])
def test_time_travel_by_in_commit_timestamps(spark, tmp_path, enabled_at):
    """The times of files, which say otherwise, do not count from the enablement on."""
    properties = {} if enabled_at else {"enableInCommitTimestamps": "true"}
    name = create_table(spark, tmp_path, "id INT", **properties)
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    if enabled_at:
        on = "'delta.enableInCommitTimestamps' = 'true'"
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({on})")
    for number in (2, 3):
        spark.sql(f"INSERT INTO {name} VALUES ({number})")
    commits = delta_log_files(tmp_path, "*.json")
    for version, file in enumerate(commits):
        if version >= enabled_at:
            os.utime(tmp_path / "_delta_log" / file, (10**9, 10**9 - version))
    history = spark.sql(f"DESCRIBE HISTORY {name}").selectExpr("version", "unix_millis(timestamp)")
    times = dict(history.collect())
    assert len(times) == len(commits)
    for version, written in times.items():
        for moment in (written, written - 1):
            if not times[0] <= moment <= max(times.values()):
                continue
            stamp = datetime.datetime.fromtimestamp(moment / 1000, datetime.UTC)
            said = stamp.strftime("%Y-%m-%d %H:%M:%S.%f")
            wanted = spark_rows(spark.sql(f"SELECT * FROM {name} TIMESTAMP AS OF '{said}'"))
            table = da.DeltaTable(tmp_path, version=stamp)
            assert_same_rows(table.to_pyarrow_table(), wanted)
            assert table.version() == (version if moment >= written else version - 1)


@pytest.mark.slow
def test_log_compaction(spark, tmp_path):
    """Delta Kernel writes the compaction; Spark and we read it in place of the commits it covers."""
    name = create_table(spark, tmp_path, "id INT, p INT", "PARTITIONED BY (p)", enableDeletionVectors="true")
    for number in range(3):
        spark.sql(
            f"INSERT INTO {name} SELECT id, id % 2 FROM range({number * 100}, {number * 100 + 100}, 1, 1)"
        )
    spark.sql(f"DELETE FROM {name} WHERE id % 3 = 0")
    spark.sql(f"DELETE FROM {name} WHERE p = 1 AND id > 200")
    spark.sql(f"INSERT INTO {name} VALUES (1000, 1)")
    compact(spark, tmp_path, 1, 5)
    assert delta_log_files(tmp_path, "*.compacted.json")
    segment = list_segment(open_store(tmp_path))
    assert [delta.name.split("/")[-1][20:] for delta in segment.deltas] == [
        ".json",
        f".{5:020d}.compacted.json",
        ".json",
    ]
    check_engines(spark, tmp_path)
    held = da.DeltaTable(tmp_path)
    spark.sql(f"DELETE FROM {name} WHERE id = 1000")
    held.update_incremental()
    assert_same_rows(held.to_pyarrow_table(), check_engines(spark, tmp_path))


def compact(spark, path, first, last):
    """Have Delta Kernel write a log compaction of versions `first` to `last`."""
    jvm = spark.sparkContext._jvm
    kernel = jvm.io.delta.kernel
    folder = [kernel.internal.fs.Path(f"file:{part}") for part in (path, path / "_delta_log")]
    writer = kernel.internal.compaction.LogCompactionWriter(*folder, first, last, 0)
    engine = kernel.defaults.engine.DefaultEngine.create(spark.sparkContext._jsc.hadoopConfiguration())
    writer.writeLogCompactionFile(engine)


CHECKPOINTS = {
    "struct": {"checkpoint__writeStatsAsJson": "false", "checkpoint__writeStatsAsStruct": "true"},
    "json": {"checkpoint__writeStatsAsJson": "true", "checkpoint__writeStatsAsStruct": "false"},
    "v2": {"checkpointPolicy": "v2", "checkpoint__writeStatsAsStruct": "true"},
}


@pytest.mark.feature("v2Checkpoint")
@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize(
    ("kind", "mapped"),
    [
        pytest.param("struct", "name", marks=pytest.mark.slow),
        pytest.param("json", "none", marks=pytest.mark.slow),
        ("v2", "name"),
    ],
)
def test_a_checkpoint_alone(spark, tmp_path, kind, mapped):
    """Rows, and files skipped, come from the checkpoint; the commits before it are gone."""
    columns = "id INT, s STRUCT<at: TIMESTAMP, d: DECIMAL(10,2)>, t STRING, p DATE"
    settings = CHECKPOINTS[kind] | {"columnMapping__mode": mapped, "checkpointInterval": "4"}
    name = create_table(spark, tmp_path, columns, "PARTITIONED BY (p)", **settings)
    for number in range(4):
        at = f"named_struct('at', TIMESTAMP '202{number}-01-01 00:00:00.123', 'd', {number}.25)"
        row = f"({number}, {at}, 't{number}', DATE '2026-01-0{number % 2 + 1}')"
        spark.sql(f"INSERT INTO {name} VALUES {row}, (NULL, NULL, NULL, NULL)")
    for file in delta_log_files(tmp_path, "0*.json"):
        if ".checkpoint." not in file and not file.startswith(f"{4:020d}"):
            (tmp_path / "_delta_log" / file).unlink()
    check_engines(spark, tmp_path)
    table = da.DeltaTable(tmp_path)
    for where in ("id = 2", "t = 't2'", "s.d = 2.25", "s.at > '2021-06-01' AND s.at < '2022-06-01'"):
        assert len(table.file_uris(file_pruning_predicate=f"p IS NOT NULL AND {where}")) == 1
        for engine in ("dataset", "duckdb"):
            found = ENGINES[engine](table.snapshot, ["id"], where)
            assert found["id"].to_pylist() == [2]
    assert len(table.file_uris(file_pruning_predicate="p = '2026-01-01'")) == 2


@pytest.mark.feature("v2Checkpoint")
@pytest.mark.feature("deletionVectors")
@pytest.mark.slow
@pytest.mark.parametrize("top", ["json", "parquet"])
def test_checkpoints_with_sidecars(spark, tmp_path, top):
    """Spark makes a sidecar for every few files; the commits that they cover are gone."""
    settings = {
        "spark.databricks.delta.checkpointV2.topLevelFileFormat": top,
        "spark.databricks.delta.checkpoint.partSize": "3",
    }
    properties = {"checkpointPolicy": "v2", "checkpointInterval": "4", "enableDeletionVectors": "true"}
    name = create_table(spark, tmp_path, "id INT, p INT", "PARTITIONED BY (p)", **properties)
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        for start in (0, 10, 20):
            spark.sql(f"INSERT INTO {name} SELECT id, id % 3 FROM range({start}, {start + 10}, 1, 1)")
        spark.sql(f"DELETE FROM {name} WHERE id % 4 = 0")
    finally:
        for key in settings:
            spark.conf.unset(key)
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    assert len(delta_log_files(tmp_path, f"{4:020d}.checkpoint.*.{top}")) == 1
    assert len(delta_log_files(tmp_path, "_sidecars/*.parquet")) > 2
    check_engines(spark, tmp_path)
    for version in range(4):
        (tmp_path / "_delta_log" / f"{version:020d}.json").unlink()
    check_engines(spark, tmp_path)
    assert len(da.DeltaTable(tmp_path).file_uris(file_pruning_predicate="p = 1")) == 3


@pytest.mark.slow
def test_a_log_that_was_cleaned_up(spark, tmp_path):
    """Spark removes expired commits; what remains is read, what is gone is refused with what remains."""
    retention = {"logRetentionDuration": "interval 2 days", "deletedFileRetentionDuration": "interval 1 days"}
    name = create_table(
        spark, tmp_path, "id INT", enableDeletionVectors="true", checkpointInterval="3", **retention
    )
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT) FROM range(0, 9, 1, 1)")
    for number in range(4):
        spark.sql(f"DELETE FROM {name} WHERE id = {number}")
    days_ago = time.time() - 5 * 86400
    for file in delta_log_files(tmp_path, "0*"):
        if int(file[:20]) < 5:
            os.utime(tmp_path / "_delta_log" / file, (days_ago, days_ago + int(file[:20])))
    spark.sql(f"DELETE FROM {name} WHERE id = 4")
    assert delta_log_files(tmp_path, "0*.json")[0] == f"{3:020d}.json"
    check_engines(spark, tmp_path)
    check_engines(spark, tmp_path, 5)
    with pytest.raises(VersionNotFoundError, match="versions 3 to 6"):
        da.DeltaTable(tmp_path, version=2)
    month_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=30)
    with pytest.raises(VersionNotFoundError, match="from version 3"):
        da.DeltaTable(tmp_path, version=month_ago)


# --- columns ---------------------------------------------------------------------------------------


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize("mode", [pytest.param("name", marks=pytest.mark.slow), "id"])
def test_nested_columns_renamed_dropped_and_added_again(spark, tmp_path, mode):
    """A column that has the name of a dropped one is another column, at every depth."""
    columns = (
        "id INT, l ARRAY<STRUCT<a: INT, b: STRING>>,"
        " m MAP<STRUCT<k: INT, j: INT>, STRUCT<v: INT, w: STRING, deep: ARRAY<STRUCT<x: INT, y: INT>>>>"
    )
    name = create_table(spark, tmp_path, columns, columnMapping__mode=mode)
    deep = "array(named_struct('x', 5, 'y', 6))"
    value = "array(named_struct('{a}', 1, 'b', {b})), map(named_struct('{k}', 1, 'j', 2), named_struct({v}))"
    first = value.format(a="a", b="'old'", k="k", v=f"'v', 3, 'w', 'old', 'deep', {deep}")
    spark.sql(f"INSERT INTO {name} SELECT 1, {first}")
    for renamed in ("id TO nid", "l.element.a TO aa", "m.key.k TO kk", "m.value.v TO vv"):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {renamed}")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN m.value.deep.element.x TO xx")
    spark.sql(f"ALTER TABLE {name} DROP COLUMNS (l.element.b, m.value.w, m.value.deep.element.y)")
    check_engines(spark, tmp_path)
    added = "l.element.b INT, m.value.w INT, m.value.deep.element.y STRING, id STRING"
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({added})")
    check_engines(spark, tmp_path)
    deep = "array(named_struct('xx', 5, 'y', 'new'))"
    second = value.format(a="aa", b="9", k="kk", v=f"'vv', 3, 'deep', {deep}, 'w', 10")
    spark.sql(f"INSERT INTO {name} SELECT 2, {second}, 'new'")
    wanted = check_engines(spark, tmp_path)
    assert "old" not in str(wanted.to_pylist())


@pytest.mark.feature("columnMapping")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_renamed_and_in_another_order(spark, tmp_path, mode):
    """Files have their columns in the order of their time; files are skipped under the new names."""
    columns = "id INT, p STRING, s STRUCT<a: INT, b: STRING>, x INT, y STRING"
    name = create_table(spark, tmp_path, columns, "PARTITIONED BY (p)", columnMapping__mode=mode)
    old = (
        "(1, 'u', named_struct('a', 1, 'b', 'x'), 5, 'yy'), (2, 'v', named_struct('a', 2, 'b', 'y'), 6, 'zz')"
    )
    spark.sql(f"INSERT INTO {name} VALUES {old}")
    for change in (
        "RENAME COLUMN p TO q",
        "RENAME COLUMN x TO xx",
        "DROP COLUMN y",
        "ADD COLUMN y INT AFTER id",
        "ALTER COLUMN xx FIRST",
        "ALTER COLUMN s.b FIRST",
    ):
        spark.sql(f"ALTER TABLE {name} {change}")
    new = "(7, 3, 9, 'w', named_struct('b', 'q', 'a', 4)), (8, NULL, NULL, NULL, NULL)"
    spark.sql(f"INSERT INTO {name} (xx, id, y, q, s) VALUES {new}")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.a TO aa")
    wanted = check_engines(spark, tmp_path)
    assert wanted.column_names == ["xx", "id", "y", "q", "s"]
    table = da.DeltaTable(tmp_path)
    for where, files in {
        "xx = 5": 1,
        "s.aa = 4": 1,
        "s.b >= 'y'": 1,
        "q = 'u'": 1,
        "q IS NULL": 1,
        "y = 9": 3,  # of the old files, which have no such column, nothing is known
    }.items():
        assert len(table.file_uris(file_pruning_predicate=where)) == files, where
        rows = spark_rows(spark.sql(f"SELECT id FROM {name} WHERE {where}"))
        for engine, read in ENGINES.items():
            found = read(table.snapshot, ["id"], where)
            assert found["id"].to_pylist() == rows["id"].to_pylist(), (engine, where)


@pytest.mark.feature("clustering")
@pytest.mark.feature("domainMetadata")
@pytest.mark.parametrize("mode", [pytest.param("none", marks=pytest.mark.slow), "name"])
def test_clustering(spark, tmp_path, mode):
    properties = {} if mode == "none" else {"columnMapping__mode": mode}
    name = create_table(
        spark, tmp_path, "id INT, s STRUCT<x: INT>, z STRING", "CLUSTER BY (id, s.x)", **properties
    )
    spark.sql(f"INSERT INTO {name} SELECT id, named_struct('x', id % 7), 'z' || id FROM range(100)")
    if mode == "name":
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO nid")
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.x TO xx")
    spark.sql(f"OPTIMIZE {name}")
    check_engines(spark, tmp_path)
    wanted = spark.sql(f"DESCRIBE DETAIL {name}").select("clusteringColumns").collect()[0][0]
    assert da.DeltaTable(tmp_path).detail()["clusteringColumns"] == wanted
    assert wanted == (["id", "s.x"] if mode == "none" else ["nid", "s.xx"])
    spark.sql(f"ALTER TABLE {name} CLUSTER BY NONE")
    assert da.DeltaTable(tmp_path).detail()["clusteringColumns"] == []


@pytest.mark.feature("collations")
def test_collations(spark, tmp_path):
    """Statistics of a text are about its bytes, filters of ours as well; Spark's `=` is not asked."""
    key = "spark.databricks.delta.schema.typeCheck.enabled"
    spark.conf.set(key, "false")
    try:
        name = create_table(
            spark, tmp_path, "id INT, s STRING COLLATE UTF8_LCASE, l ARRAY<STRING COLLATE UNICODE_CI>"
        )
        spark.sql(f"INSERT INTO {name} VALUES (1, 'a', array('X')), (2, 'B', NULL)")
    finally:
        spark.conf.unset(key)
    check_engines(spark, tmp_path)
    assert da.DeltaTable(tmp_path).to_pyarrow_table(filters=[("s", "=", "B")])["id"].to_pylist() == [2]
    assert da.DeltaTable(tmp_path).schema().to_arrow().field("s").type == pa.string()
