"""``format("deltaarrow")`` and delta-spark in one session: each reads what the other wrote."""

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

import deltaarrow as da
import deltaarrow.spark
from tests.support.modules import ROOT
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, delta_table, spark_rows, spark_table

EVERY_TYPE = """
    i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f32 FLOAT, f64 DOUBLE, yes BOOLEAN, s STRING,
    b BINARY, d DATE, at TIMESTAMP, local TIMESTAMP_NTZ, d9 DECIMAL(9, 2), d38 DECIMAL(38, 10),
    v VARIANT, list ARRAY<INT>, pairs MAP<STRING, INT>, st STRUCT<a: INT, v: VARIANT>,
    deep ARRAY<STRUCT<k: STRING, v: MAP<INT, ARRAY<VARIANT>>>>
"""
ROWS_OF_EVERY_TYPE = """
    (-128, 32767, -5, 9007199254740993, 1.5, double('NaN'), true, 'é', X'00FF', DATE '0001-01-01',
     TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', -1.05,
     1234567890123456789012345678.0123456789, parse_json('{"a": [1, null]}'), array(1, null),
     map('a', 1, 'b', null), named_struct('a', 1, 'v', parse_json('"x"')),
     array(named_struct('k', 'x', 'v', map(1, array(parse_json('1.5'), null))))),
    (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
     null, null),
    (127, -1, 0, -1, float('-Infinity'), double('Infinity'), false, '', X'', DATE '9999-12-31',
     TIMESTAMP '2026-07-01 12:00:00.000001', TIMESTAMP_NTZ '0001-01-01 00:00:00', 0, 0,
     parse_json('null'), array(), map(), named_struct('a', null, 'v', null), array())
"""


@pytest.fixture(scope="module", autouse=True)
def registered(spark):
    deltaarrow.spark.register(spark)


def reader(spark, **options):
    return spark.read.format("deltaarrow").options(**options)


def read(spark, path, **options):
    return spark_rows(reader(spark, **options).load(str(path)))


def write(frame, path, mode="append", **options):
    frame.write.format("deltaarrow").mode(mode).options(**options).save(str(path))


def refused(pattern):
    """Spark raises exceptions of its own; what ours said is in their texts."""
    return pytest.raises(Exception, match=f"(?s){pattern}")


def data_files(path):
    return {file for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


def ids(table):
    return sorted(table["id"].to_pylist())


def shown(frame):
    """What a frame with columns of every type holds; PySpark's `toArrow` fails for variants that are NULL."""
    texts = [f"to_json({name}) {name}" for name in ("v", "st", "deep")]
    return spark_rows(frame.selectExpr("* EXCEPT (v, st, deep)", *texts))


def test_every_type_is_read_and_written_as_spark_does(spark, tmp_path):
    name = create_table(spark, tmp_path / "theirs", EVERY_TYPE)
    spark.sql(f"INSERT INTO {name} VALUES {ROWS_OF_EVERY_TYPE}")
    theirs, frame = spark.table(name), reader(spark).load(str(tmp_path / "theirs"))
    assert frame.schema.simpleString() == theirs.schema.simpleString()
    wanted = shown(theirs)
    assert_same_rows(shown(frame), wanted)
    write(frame, tmp_path / "ours")
    assert_same_rows(shown(spark.read.format("delta").load(str(tmp_path / "ours"))), wanted)
    assert da.DeltaTable(tmp_path / "ours").verify(deep=True).ok


def test_deleted_rows_renamed_columns_and_partitions(spark, tmp_path):
    name = create_table(
        spark,
        tmp_path,
        "id BIGINT, p STRING, old STRUCT<x: INT>",
        "PARTITIONED BY (p)",
        columnMapping__mode="name",
        enableDeletionVectors="true",
        enableChangeDataFeed="true",
    )
    spark.sql(
        f"INSERT INTO {name} SELECT id, CASE id % 3 WHEN 0 THEN 'a b' WHEN 1 THEN NULL ELSE 'é=/' END,"
        " named_struct('x', CAST(id AS INT)) FROM range(0, 300, 1, 1)"
    )
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 1")
    versions = {"readChangeFeed": "true", "startingVersion": 1}
    theirs = spark.read.format("delta").options(**versions).load(str(tmp_path))
    assert_same_rows(read(spark, tmp_path, **versions), spark_rows(theirs))
    deleted = {**versions, "endingVersion": 2, "filter": "_change_type = 'delete'", "columns": "id"}
    assert ids(read(spark, tmp_path, **deleted)) == list(range(1, 300, 10))

    spark.sql(f"ALTER TABLE {name} RENAME COLUMN old TO new")
    wanted = spark_table(spark, tmp_path)
    assert_same_rows(read(spark, tmp_path), wanted)
    assert read(spark, tmp_path, versionAsOf=1).column_names == ["id", "p", "old"]
    at = da.DeltaTable(tmp_path).snapshot.commit_times().timestamp(1)
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat()
    assert read(spark, tmp_path, timestampAsOf=moment).num_rows == 300
    few = read(spark, tmp_path, filter="p = 'a b' AND id > 250", columns="new, id")
    assert few.column_names == ["new", "id"]
    assert ids(few) == [n for n in range(252, 300, 3) if n % 10 != 1]
    frame = reader(spark, maxPartitionBytes=1).load(str(tmp_path))
    assert frame.rdd.getNumPartitions() == 3
    assert (frame.where("p IS NULL").count(), frame.count()) == (90, 270)


def test_frame_keeps_its_version_and_may_be_used_more_than_once(spark, tmp_path):
    write(spark.range(10), tmp_path)
    frame = reader(spark).load(str(tmp_path))
    assert frame.count() == 10
    write(frame, tmp_path)
    assert (frame.count(), frame.where("id = 3").count(), frame.union(frame.where("id = 3")).count()) == (
        10,
        1,
        11,
    )
    assert read(spark, tmp_path).num_rows == 20
    assert reader(spark, filter="id < 0").load(str(tmp_path)).count() == 0


def test_overwrites(spark, tmp_path):
    rows = spark.sql("SELECT id, CAST(id % 3 AS STRING) p FROM range(0, 9, 1, 2)")
    write(rows, tmp_path, partitionBy="p")
    assert da.DeltaTable(tmp_path).metadata().partition_columns == ["p"]
    write(spark.sql("SELECT 50L id, '2' p"), tmp_path, "overwrite", partitionOverwriteMode="dynamic")
    assert ids(spark_table(spark, tmp_path)) == [0, 1, 3, 4, 6, 7, 50]
    write(spark.sql("SELECT 60L id, '1' p"), tmp_path, "overwrite", replaceWhere="p = '1' OR id = 6")
    assert ids(spark_table(spark, tmp_path)) == [0, 3, 50, 60]
    write(spark.sql("SELECT 70L id, '1' p, 1 more"), tmp_path, mergeSchema="true")
    assert spark_table(spark, tmp_path).column_names == ["id", "p", "more"]
    write(
        spark.sql("SELECT 'x' id"),
        tmp_path,
        "overwrite",
        overwriteSchema="true",
        partitionBy="[]",
        userMetadata="x",
    )
    assert ids(spark_table(spark, tmp_path)) == ["x"]
    last = da.DeltaTable(tmp_path).history(1)[0]
    assert (last["operation"], last["userMetadata"]) == ("WRITE", "x")
    with refused("ConstraintViolationError.*1 rows.*id = 'y'"):
        write(spark.sql("SELECT 'z' id"), tmp_path, "overwrite", replaceWhere="id = 'y'")
    assert da.DeltaTable(tmp_path).version() == last["version"]


@pytest.mark.slow
def test_spark_goes_on_with_a_table_that_the_source_made(spark, tmp_path):
    rows = spark.sql("SELECT id, CAST(id AS STRING) s FROM range(0, 1000, 1, 4)")
    write(rows, tmp_path, clusterBy='["id"]')
    assert len(data_files(tmp_path)) == 4
    name = delta_table(tmp_path)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"UPDATE {name} SET s = 'new' WHERE id = 1")
    write(rows.where("id < 10"), tmp_path)
    found = read(spark, tmp_path)
    assert_same_rows(found, spark_table(spark, tmp_path))
    assert found.num_rows == 1000 + 10


def test_write_of_an_application_is_made_once(spark, tmp_path):
    for _ in range(2):
        write(spark.range(4), tmp_path, txnAppId="loader", txnVersion=5)
    assert da.DeltaTable(tmp_path).version() == 0
    assert da.DeltaTable(tmp_path).transaction_version("loader") == 5
    assert read(spark, tmp_path).num_rows == 4


@pytest.mark.slow
def test_rows_are_inserted_into_views(spark, tmp_path):
    write(spark.sql("SELECT 1L id, 'a' s"), tmp_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW into_view USING deltaarrow OPTIONS (path '{tmp_path}')")
    spark.sql("INSERT INTO into_view VALUES (2, 'b')")
    spark.sql("INSERT INTO into_view (s, id) SELECT 'c', 3L")
    assert ids(spark_table(spark, tmp_path)) == [1, 2, 3]
    spark.sql("INSERT OVERWRITE into_view SELECT 4L, 'd'")
    assert ids(spark_table(spark, tmp_path)) == [4]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_code_of_the_page_runs(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r'^```python title="Spark"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL))
    # Spark's own folder of relative names is the one in which it was started.
    exec(
        compile(re.sub(r"(['\"])days\1", rf"\1{tmp_path}/days\1", code), "spark.md", "exec"),
        {"spark": spark},
    )
    # The page inserts a row, and deletes 8 on executors.
    assert da.DeltaTable(tmp_path / "days").count() == 667 + 166 + 1 - 8


@pytest.mark.slow
def test_batches_of_a_stream_are_written_exactly_once(spark, tmp_path):
    source, sink = tmp_path / "source", tmp_path / "sink"
    checkpoint = tmp_path / "checkpoint"
    spark.sql("SELECT id, 'a' s FROM range(3)").write.format("delta").save(str(source))

    def run(checkpoint=checkpoint, **options):
        stream = spark.readStream.format("delta").load(str(source))
        writer = stream.writeStream.format("deltaarrow").options(
            checkpointLocation=str(checkpoint), **options
        )
        writer.trigger(availableNow=True).start(str(sink)).awaitTermination()

    run(txnAppId="copy")
    spark.sql("SELECT id + 3 id, 'b' s FROM range(3)").write.format("delta").mode("append").save(str(source))
    run(txnAppId="copy")
    assert ids(spark_table(spark, sink)) == list(range(6))
    # As if Spark was stopped after the commit of the last batch, and before it noted that.
    last = max(path for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
    for name in (last.name, f".{last.name}.crc"):
        (last.parent / name).unlink()
    version = da.DeltaTable(sink).version()
    run(txnAppId="copy")
    assert da.DeltaTable(sink).version() == version
    assert ids(spark_table(spark, sink)) == list(range(6))
    table = da.DeltaTable(sink)
    assert table.transaction_version("copy") == 1
    # Another query without a name of its own writes all rows once more.
    run(tmp_path / "other")
    assert ids(spark_table(spark, sink)) == sorted([*range(6), *range(6)])
    run(tmp_path / "other")
    assert da.DeltaTable(sink).version() == version + 1


@pytest.mark.slow
def test_rules_for_rows_hold_on_executors(spark, tmp_path):
    generated = "day DATE GENERATED ALWAYS AS (CAST(at AS DATE))"
    name = create_table(spark, tmp_path, f"id BIGINT NOT NULL, at TIMESTAMP, {generated}")
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT positive CHECK (id > 0)")
    write(spark.sql("SELECT id + 1 id, TIMESTAMP '2026-01-01 10:00:00' at FROM range(0, 4, 1, 2)"), tmp_path)
    days = spark_table(spark, tmp_path)["day"].to_pylist()
    assert [str(day) for day in days] == ["2026-01-01"] * 4
    files, version = data_files(tmp_path), da.DeltaTable(tmp_path).version()
    for rows, said in [("id - 1 id", "positive"), ("IF(id = 3, null, id + 1) id", "NOT NULL")]:
        with refused(f"ConstraintViolationError.*{said}"):
            write(spark.sql(f"SELECT {rows}, current_timestamp() at FROM range(0, 4, 1, 2)"), tmp_path)
    assert da.DeltaTable(tmp_path).version() == version
    # What the task that did not fail had written is deleted, if Spark tells of it before the job ends.
    assert len(data_files(tmp_path) - files) <= 2
    assert spark_table(spark, tmp_path).num_rows == 4


@pytest.mark.slow
def test_refused_reads_name_what_is_wrong(spark, tmp_path):
    write(spark.range(1), tmp_path)
    for options, said in [
        ({"versionAsOff": 0}, "unknown option 'versionasoff'"),
        ({"versionAsOf": 7}, "VersionNotFoundError: version 7 does not exist"),
        ({"filter": "nope = 1"}, "InvalidPredicateError.*nope"),
        ({"columns": "nope"}, "SchemaMismatchError.*nope"),
    ]:
        with refused(said):
            reader(spark, **options).load(str(tmp_path))
    with refused("ChangeDataNotRecordedError"):
        read(spark, tmp_path, readChangeFeed="true", startingVersion=0)
    with refused("SchemaMismatchError.*leave out schema"):
        reader(spark).schema("id STRING").load(str(tmp_path)).count()
    with refused("TableNotFoundError"):
        reader(spark).load(str(tmp_path / "nothing"))
    unknown = tmp_path / "unknown"
    shutil.copytree(tmp_path / "_delta_log", unknown / "_delta_log")
    features = {"readerFeatures": ["soon"], "writerFeatures": ["soon"]}
    protocol = json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}})
    (unknown / "_delta_log" / f"{1:020}.json").write_text(protocol)
    with refused("UnsupportedFeatureError.*soon"):
        reader(spark).load(str(unknown))
    with refused("UnsupportedFeatureError.*soon"):
        write(spark.range(1), unknown)


REFUSED_WRITES = [
    ("SELECT 1 nope", {}, "SchemaMismatchError.*nope"),
    ("SELECT 'x' id", {}, "SchemaMismatchError.*id"),
    ("SELECT 1L id, '{}' v", {}, "SchemaMismatchError.*v"),
    ("SELECT 1L id, INTERVAL 3 DAY i", {"mergeSchema": "true"}, "UnknownTypeError.*interval"),
    ("SELECT 1L id", {"mergSchema": "true"}, "unknown option 'mergschema'"),
]


@pytest.mark.parametrize(
    ("writes", "modes"),
    [
        pytest.param(REFUSED_WRITES[1::2], ["ignore"], id="few"),
        pytest.param(REFUSED_WRITES, ["errorifexists", "ignore"], id="all", marks=pytest.mark.slow),
    ],
)
def test_refused_writes_name_what_is_wrong_and_change_nothing(spark, tmp_path, writes, modes):
    name = create_table(spark, tmp_path, "id BIGINT, v VARIANT")
    for query, options, said in writes:
        with refused(said):
            write(spark.sql(query), tmp_path, **options)
    for mode in modes:
        with refused("UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            write(spark.range(1), tmp_path, mode)
    assert da.DeltaTable(tmp_path).version() == 0
    assert not data_files(tmp_path)
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.slow
def test_what_spark_does_not_let_a_python_source_do_is_said(spark, tmp_path):
    """Spark tells it neither the path of a table with a name nor the columns of ``partitionBy``."""
    write(spark.range(2), tmp_path)
    with refused("CREATE TEMPORARY VIEW name USING deltaarrow"):
        spark.sql(f"CREATE TABLE named USING deltaarrow OPTIONS (path '{tmp_path}')")
    with refused("partitioning or clustering columns do not match"):
        spark.range(2).write.format("deltaarrow").mode("append").partitionBy("id").save(str(tmp_path))
    assert da.DeltaTable(tmp_path).version() == 0
    spark.sql(f"CREATE OR REPLACE TEMP VIEW seen USING deltaarrow OPTIONS (path '{tmp_path}')")
    assert spark.sql("SELECT count(*) FROM seen").first()[0] == 2


def test_job_that_fails_leaves_nothing_visible(spark, tmp_path):
    write(spark.range(2), tmp_path)
    files = data_files(tmp_path)
    failing = "SELECT IF(id = 99999, raise_error('no more'), id) id FROM range(0, 100000, 1, 4)"
    with refused("no more"):
        write(spark.sql(failing), tmp_path)
    assert da.DeltaTable(tmp_path).version() == 0
    assert ids(read(spark, tmp_path)) == [0, 1]
    # What the first two tasks wrote is deleted. The other two run at once: to the one that fails, and to the
    # one that is ended for it, Spark shows no more than the end of the rows, so that they may leave a file.
    assert len(data_files(tmp_path) - files) <= 2
