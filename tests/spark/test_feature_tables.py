"""Tables that Spark makes with one feature each: every engine of ours reads the rows that Spark reads."""

import datetime
import json
import os

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.log import list_segment
from deltaarrow.storage import open_store
from deltaarrow.variant import VARIANT_TYPE, to_json
from tests.support.engines import ENGINES
from tests.support.rows import READERS, assert_same_rows
from tests.support.spark import delta_log_files, delta_table, spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def create(spark, path, columns, clauses="", **properties):
    """Make an empty table; ``__`` in the names of properties stands for a dot."""
    listed = ", ".join(f"'delta.{key.replace('__', '.')}' = '{text}'" for key, text in properties.items())
    given = f"TBLPROPERTIES ({listed})" if listed else ""
    spark.sql(f"CREATE TABLE {delta_table(path)} ({columns}) USING delta {clauses} {given}")
    return delta_table(path)


def check(spark, path):
    """Every engine reads what Spark reads; return it."""
    wanted = spark_table(spark, path)
    for read in READERS.values():
        assert_same_rows(read(path), wanted)
    return wanted


# --- variants --------------------------------------------------------------------------------------

VARIANTS = """
    SELECT 1 AS id, parse_json('{"a": 1, "b": ["x", 2, null], "c": {"d": 1.5}}') AS v
    UNION ALL SELECT 2, parse_json('{"a": "text", "b": [], "e": true}')
    UNION ALL SELECT 3, parse_json('null')
    UNION ALL SELECT 4, NULL
    UNION ALL SELECT 5, parse_json('[1, 2.25, 1e300, 9223372036854775807]')
    UNION ALL SELECT 6, to_variant_object(named_struct('a', 7L, 'at', TIMESTAMP '2026-01-01 00:00:01.5'))
    UNION ALL SELECT 7, CAST(DATE '1582-01-01' AS VARIANT)
    UNION ALL SELECT 8, CAST(CAST(-1.05 AS DECIMAL(38, 20)) AS VARIANT)
"""


@pytest.mark.feature("variantType")
@pytest.mark.feature("variantShredding")
@pytest.mark.parametrize(("shredded", "mapped"), [(False, "none"), (True, "name")])
def test_variants(spark, tmp_path, shredded, mapped):
    columns = "id INT, v VARIANT, s STRUCT<w: VARIANT>, l ARRAY<VARIANT>, m MAP<STRING, VARIANT>"
    properties = {"enableVariantShredding": "true"} if shredded else {}
    deleted = {"enableDeletionVectors": "true", "columnMapping__mode": mapped}
    name = create(spark, tmp_path, columns, **properties, **deleted)
    settings = ("spark.sql.variant.writeShredding.enabled", "spark.sql.variant.inferShreddingSchema")
    before = {key: spark.conf.get(key) for key in settings}
    nested = "SELECT id, v, named_struct('w', v), array(v, NULL), map('k', v)"
    try:
        for key in settings:
            spark.conf.set(key, str(shredded).lower())
        spark.sql(f"INSERT INTO {name} {nested} FROM ({VARIANTS})")
        spark.sql(f"INSERT INTO {name} {nested} FROM (SELECT /*+ COALESCE(1) */ * FROM ({VARIANTS}))")
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
    spark.sql(f"DELETE FROM {name} WHERE id = 2")
    texts = "id, to_json(v) AS v, to_json(s.w) AS s, to_json(l[0]) AS l, to_json(m['k']) AS m"
    wanted = [tuple(row) for row in spark.sql(f"SELECT {texts} FROM {name}").collect()]
    wanted = sorted((row[0], *map(canonical, row[1:])) for row in wanted)
    for way in ("arrow", "dataset", "polars"):
        rows = READERS[way](tmp_path).to_pylist()
        variants = [[row["v"], row["s"]["w"], row["l"][0], dict(row["m"])["k"]] for row in rows]
        found = sorted((row["id"], *texts_of(values)) for row, values in zip(rows, variants, strict=True))
        assert found == wanted, way
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        da.register(con, "t", da.DeltaTable(tmp_path))
        # To DuckDB, the variant null of row 3 is NULL.
        count = con.sql("SELECT count(*), count(v), count(v.a), count(s.w), count(l[1]) FROM t").fetchall()
        assert count == [(len(wanted), 10, 4, 10, 10)]


def texts_of(variants):
    return map(canonical, to_json(pa.array(variants, VARIANT_TYPE)).to_pylist())


def canonical(found):
    return None if found is None else repr(json.loads(found, parse_float=float))


# --- the log ---------------------------------------------------------------------------------------


@pytest.mark.feature("inCommitTimestamp")
@pytest.mark.parametrize("enabled_at", [0, 2])
def test_time_travel_by_in_commit_timestamps(spark, tmp_path, enabled_at):
    """The times of files, which say otherwise, do not count from the enablement on."""
    properties = {} if enabled_at else {"enableInCommitTimestamps": "true"}
    name = create(spark, tmp_path, "id INT", **properties)
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
    for version, time in times.items():
        for moment in (time, time - 1):
            if not times[0] <= moment <= max(times.values()):
                continue
            stamp = datetime.datetime.fromtimestamp(moment / 1000, datetime.UTC)
            said = stamp.strftime("%Y-%m-%d %H:%M:%S.%f")
            wanted = spark_rows(spark.sql(f"SELECT * FROM {name} TIMESTAMP AS OF '{said}'"))
            table = da.DeltaTable(tmp_path, version=stamp)
            assert_same_rows(table.to_pyarrow_table(), wanted)
            assert table.version() == (version if moment >= time else version - 1)


def test_log_compaction(spark, tmp_path):
    """Delta Kernel writes the compaction; Spark and we read it in place of the commits it covers."""
    name = create(spark, tmp_path, "id INT, p INT", "PARTITIONED BY (p)", enableDeletionVectors="true")
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
    check(spark, tmp_path)
    held = da.DeltaTable(tmp_path)
    spark.sql(f"DELETE FROM {name} WHERE id = 1000")
    held.update_incremental()
    assert_same_rows(held.to_pyarrow_table(), check(spark, tmp_path))


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
@pytest.mark.parametrize(("kind", "mapped"), [("struct", "name"), ("json", "none"), ("v2", "name")])
def test_a_checkpoint_alone(spark, tmp_path, kind, mapped):
    """Rows, and files skipped, come from the checkpoint; the commits before it are gone."""
    columns = "id INT, s STRUCT<at: TIMESTAMP, d: DECIMAL(10,2)>, t STRING, p DATE"
    settings = CHECKPOINTS[kind] | {"columnMapping__mode": mapped, "checkpointInterval": "4"}
    name = create(spark, tmp_path, columns, "PARTITIONED BY (p)", **settings)
    for number in range(4):
        at = f"named_struct('at', TIMESTAMP '202{number}-01-01 00:00:00.123', 'd', {number}.25)"
        row = f"({number}, {at}, 't{number}', DATE '2026-01-0{number % 2 + 1}')"
        spark.sql(f"INSERT INTO {name} VALUES {row}, (NULL, NULL, NULL, NULL)")
    for file in delta_log_files(tmp_path, "0*.json"):
        if ".checkpoint." not in file and not file.startswith(f"{4:020d}"):
            (tmp_path / "_delta_log" / file).unlink()
    check(spark, tmp_path)
    table = da.DeltaTable(tmp_path)
    for where in ("id = 2", "t = 't2'", "s.d = 2.25", "s.at > '2021-06-01' AND s.at < '2022-06-01'"):
        assert len(table.file_uris(file_pruning_predicate=f"p IS NOT NULL AND {where}")) == 1
        for engine in ("dataset", "duckdb"):
            found = ENGINES[engine](table.snapshot, ["id"], where)
            assert found["id"].to_pylist() == [2]
    assert len(table.file_uris(file_pruning_predicate="p = '2026-01-01'")) == 2


# --- columns ---------------------------------------------------------------------------------------


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_nested_columns_renamed_dropped_and_added_again(spark, tmp_path, mode):
    """A column that has the name of a dropped one is another column, at every depth."""
    columns = (
        "id INT, l ARRAY<STRUCT<a: INT, b: STRING>>,"
        " m MAP<STRUCT<k: INT, j: INT>, STRUCT<v: INT, w: STRING, deep: ARRAY<STRUCT<x: INT, y: INT>>>>"
    )
    name = create(spark, tmp_path, columns, columnMapping__mode=mode)
    deep = "array(named_struct('x', 5, 'y', 6))"
    value = "array(named_struct('{a}', 1, 'b', {b})), map(named_struct('{k}', 1, 'j', 2), named_struct({v}))"
    first = value.format(a="a", b="'old'", k="k", v=f"'v', 3, 'w', 'old', 'deep', {deep}")
    spark.sql(f"INSERT INTO {name} SELECT 1, {first}")
    for renamed in ("id TO nid", "l.element.a TO aa", "m.key.k TO kk", "m.value.v TO vv"):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {renamed}")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN m.value.deep.element.x TO xx")
    spark.sql(f"ALTER TABLE {name} DROP COLUMNS (l.element.b, m.value.w, m.value.deep.element.y)")
    check(spark, tmp_path)
    added = "l.element.b INT, m.value.w INT, m.value.deep.element.y STRING, id STRING"
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({added})")
    check(spark, tmp_path)
    deep = "array(named_struct('xx', 5, 'y', 'new'))"
    second = value.format(a="aa", b="9", k="kk", v=f"'vv', 3, 'deep', {deep}, 'w', 10")
    spark.sql(f"INSERT INTO {name} SELECT 2, {second}, 'new'")
    wanted = check(spark, tmp_path)
    assert "old" not in str(wanted.to_pylist())


@pytest.mark.feature("clustering")
@pytest.mark.feature("domainMetadata")
@pytest.mark.parametrize("mode", ["none", "name"])
def test_clustering(spark, tmp_path, mode):
    properties = {} if mode == "none" else {"columnMapping__mode": mode}
    name = create(spark, tmp_path, "id INT, s STRUCT<x: INT>, z STRING", "CLUSTER BY (id, s.x)", **properties)
    spark.sql(f"INSERT INTO {name} SELECT id, named_struct('x', id % 7), 'z' || id FROM range(100)")
    if mode == "name":
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO nid")
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.x TO xx")
    spark.sql(f"OPTIMIZE {name}")
    check(spark, tmp_path)
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
        name = create(
            spark, tmp_path, "id INT, s STRING COLLATE UTF8_LCASE, l ARRAY<STRING COLLATE UNICODE_CI>"
        )
        spark.sql(f"INSERT INTO {name} VALUES (1, 'a', array('X')), (2, 'B', NULL)")
    finally:
        spark.conf.unset(key)
    check(spark, tmp_path)
    assert da.DeltaTable(tmp_path).to_pyarrow_table(filters=[("s", "=", "B")])["id"].to_pylist() == [2]
    assert da.DeltaTable(tmp_path).schema().to_arrow().field("s").type == pa.string()
