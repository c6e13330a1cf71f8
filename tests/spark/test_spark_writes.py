"""Every engine reads Spark's tables as Spark reads them."""

import decimal
from itertools import zip_longest

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from tests.support.rows import READERS, assert_same_rows
from tests.support.spark import delta_log_files, delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ODD_TEXTS = [
    "a b",
    "a:b/c=d%e",
    "",
    None,
    "é ü",
    "#?&+",
    "%20",
    "x'y\"z",
    "{[^]}",
    "tab\there",
    "back\\slash",
]


def assert_reads_as_spark(spark, path, versions=(None,)):
    for version in versions:
        wanted = spark_table(spark, path, version)
        for read in READERS.values():
            assert_same_rows(read(path, version), wanted)


def sql(spark, path, *statements):
    for statement in statements:
        spark.sql(statement.replace("{t}", delta_table(path)))


def test_every_type(spark, tmp_path):
    sql(
        spark,
        tmp_path,
        """CREATE TABLE {t} (
             i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f32 FLOAT, f64 DOUBLE, yes BOOLEAN, s STRING,
             b BINARY, d DATE, at TIMESTAMP, local TIMESTAMP_NTZ, d9 DECIMAL(9, 2), d18 DECIMAL(18, 4),
             d38 DECIMAL(38, 10), list ARRAY<INT>, pairs MAP<STRING, INT>,
             st STRUCT<a: INT, b: STRUCT<c: STRING>>, deep ARRAY<STRUCT<k: STRING, v: MAP<INT, ARRAY<DATE>>>>
           ) USING delta""",
        """INSERT INTO {t} VALUES
           (-128, 32767, -5, 9007199254740993, 1.5, double('NaN'), true, 'é',
             X'00FF', DATE '0001-01-01', TIMESTAMP '1969-12-31 23:59:59.999999',
             TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', -1.05, 12345678901234.5678,
             1234567890123456789012345678.0123456789, array(1, null), map('a', 1, 'b', null),
             named_struct('a', 1, 'b', named_struct('c', null)),
             array(named_struct('k', 'x', 'v', map(1, array(DATE '2026-01-01', null))))),
           (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
             null, null, null),
           (127, -1, 0, -1, float('-Infinity'), double('Infinity'), false, '',
             X'', DATE '9999-12-31', TIMESTAMP '2026-07-01 12:00:00.000001',
             TIMESTAMP_NTZ '0001-01-01 00:00:00', 0, 0, 0, array(), map(),
             named_struct('a', null, 'b', null), array())""",
    )
    assert_reads_as_spark(spark, tmp_path)


def test_partitions_with_odd_texts(spark, tmp_path):
    rows = [(number, text) for number, text in enumerate(ODD_TEXTS)]
    frame = spark.createDataFrame(rows, "id long, p string")
    frame.write.format("delta").partitionBy("p").save(str(tmp_path))
    assert_reads_as_spark(spark, tmp_path)
    for number, text in rows:
        found = da.DeltaTable(tmp_path).to_pyarrow_table(filters=[("p", "=", text)]) if text else None
        if found is not None:
            assert found["id"].to_pylist() == [number]


PARTITION_VALUES = {
    "DATE": ("DATE '2026-01-01'", "DATE '0001-01-01'"),
    "TIMESTAMP": ("TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '1969-12-31 23:59:59.123456'"),
    "TIMESTAMP_NTZ": (
        "TIMESTAMP_NTZ '2026-01-01 00:00:00'",
        "TIMESTAMP_NTZ '2026-01-01 10:11:12.123456'",
    ),
    "DECIMAL(10, 3)": ("-1.500", "0"),
    "DOUBLE": ("double('NaN')", "double('-Infinity')", "1e-7", "-0.0"),
    "FLOAT": ("float(1.1)", "float(1e20)"),
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128", "127"),
    "BIGINT": ("-9223372036854775808",),
    "BINARY": ("X'41'", "X'C3A9'"),
}


def test_partitions_of_every_type(spark, tmp_path):
    """A partition for each value, of a column for each type; one of NULLs too."""
    kinds, rows = list(PARTITION_VALUES), []
    for number, row in enumerate([*zip_longest(*PARTITION_VALUES.values()), [None] * len(kinds)]):
        values = (f"CAST({value or 'NULL'} AS {kind})" for kind, value in zip(kinds, row, strict=True))
        rows.append(f"({number}, {', '.join(values)})")
    columns = ", ".join(f"p{number} {kind}" for number, kind in enumerate(kinds))
    names = ", ".join(f"p{number}" for number in range(len(kinds)))
    sql(
        spark,
        tmp_path,
        f"CREATE TABLE {{t}} (id BIGINT, {columns}) USING delta PARTITIONED BY ({names})",
        f"INSERT INTO {{t}} VALUES {', '.join(rows)}",
    )
    assert_reads_as_spark(spark, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("partitioning", [pytest.param("", marks=pytest.mark.slow), "PARTITIONED BY (p)"])
def test_deletion_vectors(spark, tmp_path, partitioning):
    sql(
        spark,
        tmp_path,
        f"CREATE TABLE {{t}} (id BIGINT, p INT) USING delta {partitioning}"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "INSERT INTO {t} SELECT id, id % 3 FROM range(0, 3000, 1, 2)",
        "DELETE FROM {t} WHERE id % 7 = 0",
        "DELETE FROM {t} WHERE id BETWEEN 100 AND 900",
        "UPDATE {t} SET p = p + 10 WHERE id = 2000",
        "INSERT INTO {t} VALUES (5000, 1)",
        "DELETE FROM {t} WHERE id = 5000",
    )
    assert_reads_as_spark(spark, tmp_path, versions=(2, 4, None))
    spark.sql(
        f"ALTER TABLE {delta_table(tmp_path)} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
    )
    assert_reads_as_spark(spark, tmp_path)
    assert da.DeltaTable(tmp_path).count() == spark_table(spark, tmp_path).num_rows


@pytest.mark.slow
@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(spark, tmp_path, mode, vectors):
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (`a b` BIGINT, s STRUCT<x: INT, `y;z`: STRING>, m MAP<STRING, STRUCT<q: INT>>,"
        " list ARRAY<STRUCT<k: INT, gone: INT>>, gone INT, p STRING) USING delta PARTITIONED BY (p)"
        f" TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}',"
        f" 'delta.enableDeletionVectors' = '{vectors}')",
        "INSERT INTO {t} VALUES (1, named_struct('x', 1, 'y;z', 'u'), map('a', named_struct('q', 5)),"
        " array(named_struct('k', 1, 'gone', 2)), 9, 'p 1'), (2, NULL, NULL, NULL, NULL, NULL)",
        "ALTER TABLE {t} RENAME COLUMN `a b` TO `a,c`",
        "ALTER TABLE {t} RENAME COLUMN s.`y;z` TO renamed",
        "ALTER TABLE {t} RENAME COLUMN list.element.k TO key",
        "ALTER TABLE {t} RENAME COLUMN p TO day",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} DROP COLUMN list.element.gone",
        "ALTER TABLE {t} ADD COLUMNS (gone STRING, s.late DOUBLE)",
        "INSERT INTO {t} (`a,c`, s, list, m, day, gone) VALUES"
        " (3, named_struct('x', 2, 'renamed', 'v', 'late', 0.5), array(named_struct('key', 7)), map(), 'p 2',"
        " 'back')",
        "DELETE FROM {t} WHERE `a,c` = 2",
    )
    assert_reads_as_spark(spark, tmp_path)
    found = da.DeltaTable(tmp_path).to_pyarrow_table(columns=["a,c"], filters=[("day", "=", "p 1")])
    assert found.to_pylist() == [{"a,c": 1}]


def test_column_mapping_that_came_later(spark, tmp_path):
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (a INT, b STRING) USING delta",
        "INSERT INTO {t} VALUES (1, 'x')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
        " 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')",
        "ALTER TABLE {t} RENAME COLUMN b TO c",
        "INSERT INTO {t} VALUES (2, 'y')",
    )
    assert_reads_as_spark(spark, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("top", ["json", "parquet"])
def test_v2_checkpoints(spark, tmp_path, top):
    spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", top)
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (id BIGINT, p INT) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3',"
        " 'delta.enableDeletionVectors' = 'true')",
    )
    for number in range(7):
        sql(spark, tmp_path, f"INSERT INTO {{t}} SELECT id, {number} FROM range(5)")
    sql(spark, tmp_path, "DELETE FROM {t} WHERE id = 2")
    assert delta_log_files(tmp_path, f"*.checkpoint.*.{top}")
    assert_reads_as_spark(spark, tmp_path, versions=(None, 4, 6))


@pytest.mark.slow
def test_forty_commits_with_checkpoints(spark, tmp_path):
    sql(spark, tmp_path, "CREATE TABLE {t} (id BIGINT, s STRING) USING delta")
    for number in range(40):
        frame = spark.range(number * 10, number * 10 + 3).selectExpr("id", "concat('s', id) AS s")
        frame.coalesce(1).write.format("delta").mode("append").save(str(tmp_path))
    sql(spark, tmp_path, "DELETE FROM {t} WHERE id % 10 = 1")
    assert len(delta_log_files(tmp_path, "*.checkpoint.parquet")) >= 4
    table = da.DeltaTable(tmp_path)
    assert table.version() == 41
    assert len(table.history()) == 42
    assert_reads_as_spark(spark, tmp_path, versions=(None, 9, 10, 11, 40))


@pytest.mark.slow
def test_checkpoints_in_parts(spark, tmp_path):
    spark.conf.set("spark.databricks.delta.checkpoint.partSize", "3")
    try:
        sql(
            spark,
            tmp_path,
            "CREATE TABLE {t} (id BIGINT, p INT) USING delta PARTITIONED BY (p)"
            " TBLPROPERTIES ('delta.checkpointInterval' = '2')",
            "INSERT INTO {t} SELECT id, id % 10 FROM range(100)",
            "DELETE FROM {t} WHERE p = 3",
        )
    finally:
        spark.conf.unset("spark.databricks.delta.checkpoint.partSize")
    assert len(delta_log_files(tmp_path, "*.checkpoint.*.*.parquet")) > 1
    assert_reads_as_spark(spark, tmp_path)


def test_widened_types(spark, tmp_path):
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (a TINYINT, b INT, c FLOAT, d DECIMAL(5, 2), e DATE, s STRUCT<x: SMALLINT>,"
        " l ARRAY<INT>) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true',"
        " 'delta.feature.timestampNtz' = 'supported')",
        "INSERT INTO {t} VALUES (1, 2, 1.5, 1.25, DATE '2026-01-01', named_struct('x', 7), array(1, 2))",
        "ALTER TABLE {t} ALTER COLUMN a TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN c TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12, 4)",
        "ALTER TABLE {t} ALTER COLUMN e TYPE TIMESTAMP_NTZ",
        "ALTER TABLE {t} ALTER COLUMN s.x TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN l.element TYPE BIGINT",
        "INSERT INTO {t} VALUES (70000, 3000000000, 1e300, 12345678.1234,"
        " TIMESTAMP_NTZ '2026-01-01 01:02:03', named_struct('x', 3000000000), array(3000000000))",
    )
    assert_reads_as_spark(spark, tmp_path)


def test_void_columns(spark, tmp_path):
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (id INT, nothing VOID) USING delta",
        "INSERT INTO {t} (id) VALUES (1), (2)",
    )
    assert_reads_as_spark(spark, tmp_path)


def test_schema_that_grew(spark, tmp_path):
    spark.sql("SELECT 1 AS id, named_struct('a', 1) AS s").write.format("delta").save(str(tmp_path))
    grown = spark.sql("SELECT 2 AS id, named_struct('a', 2, 'b', 'new') AS s, array(1) AS more")
    grown.write.format("delta").mode("append").option("mergeSchema", "true").save(str(tmp_path))
    assert_reads_as_spark(spark, tmp_path, versions=(0, 1))


@pytest.mark.parametrize(
    "clauses",
    [
        "CLUSTER BY (id) TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true',"
        " 'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true')",
        pytest.param("TBLPROPERTIES ('delta.appendOnly' = 'true')", marks=pytest.mark.slow),
    ],
    ids=["all", "appendOnly"],
)
def test_tables_with_features_of_writers(spark, tmp_path, clauses):
    sql(
        spark,
        tmp_path,
        f"CREATE TABLE {{t}} (id BIGINT, s STRING) USING delta {clauses}",
        "INSERT INTO {t} SELECT id, concat('s', id) FROM range(10)",
        "INSERT INTO {t} VALUES (100, NULL)",
    )
    if "appendOnly" not in clauses:
        sql(spark, tmp_path, "UPDATE {t} SET s = 'u' WHERE id = 3")
    assert_reads_as_spark(spark, tmp_path)


def test_variants_have_the_bytes_of_spark(spark, tmp_path):
    sql(
        spark,
        tmp_path,
        "CREATE TABLE {t} (id INT, v VARIANT) USING delta",
        """INSERT INTO {t} SELECT id, parse_json(concat('{"a": ', id, ', "b": ["x", null, 1.5]}'))
           FROM range(3)""",
        "INSERT INTO {t} VALUES (9, NULL)",
    )
    frame = spark.read.format("delta").load(str(tmp_path))
    wanted = {row["id"]: row["v"] and (row["v"].metadata, row["v"].value) for row in frame.collect()}
    found = READERS["arrow"](tmp_path).to_pylist()
    assert {row["id"]: row["v"] and (row["v"]["metadata"], row["v"]["value"]) for row in found} == wanted


def test_time_travel_by_time_agrees_with_spark(spark, tmp_path):
    sql(spark, tmp_path, "CREATE TABLE {t} (id INT) USING delta", "INSERT INTO {t} VALUES (1)")
    for number in range(2, 5):
        sql(spark, tmp_path, f"INSERT INTO {{t}} VALUES ({number})")
    history = spark.sql(f"DESCRIBE HISTORY {delta_table(tmp_path)}").select("version", "timestamp").collect()
    for row in history:
        table = da.DeltaTable(tmp_path)
        table.load_as_version(row["timestamp"].astimezone().isoformat())
        assert table.version() == row["version"]


CUT = "a long text that is cut at its thirty-second character, z"


FILTERS = [
    ("id <= 3 AND s IS NOT NULL", (pc.field("id") <= 3) & pc.field("s").is_valid()),
    (f"s >= '{CUT}'", pc.field("s") >= CUT),
    ("d = 1.50", pc.field("d") == decimal.Decimal("1.50")),
    ("NOT (p = 1 OR id < 50)", ~((pc.field("p") == 1) | (pc.field("id") < 50))),
    ("id > 50", pc.field("id") > 50),
    ("f < 10", pc.field("f") < 10.0),
    ("p = 1", pc.field("p") == 1),
    ("p IS NULL", pc.field("p").is_null()),
    ("id IN (3, 77)", pc.field("id").isin([3, 77])),
]
"""Four of the everyday suite, and simpler ones."""


@pytest.mark.parametrize(
    ("condition", "expression"),
    [pytest.param(*each, marks=[pytest.mark.slow] * (place > 3)) for place, each in enumerate(FILTERS)],
)
def test_filters_find_what_spark_finds(spark, filtered, condition, expression):
    wanted = spark.read.format("delta").load(filtered).where(condition).toArrow()
    assert wanted.num_rows > 0
    table = da.DeltaTable(filtered)
    assert_same_rows(table.to_pyarrow_table(filters=expression), wanted)
    assert_same_rows(table.to_polars().filter(pl.sql_expr(condition)).collect().to_arrow(), wanted)
    with duckdb.connect() as connection:
        da.register(connection, "t", table)
        assert_same_rows(connection.sql(f"SELECT * FROM t WHERE {condition}").to_arrow_table(), wanted)


@pytest.fixture(scope="module")
def filtered(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("filtered"))
    for start in range(0, 100, 20):
        frame = spark.range(start, start + 20, 1, 1).selectExpr(
            "id",
            "IF(id % 5 = 0, NULL, concat('a long text that is cut at its thirty-second character, ',"
            " substring('azmq', 1 + CAST(id % 4 AS INT), 1))) AS s",
            "IF(id % 3 = 0, double('NaN'), id / 2) AS f",
            "CAST(id * 0.5 AS DECIMAL(10, 2)) AS d",
            f"CAST(IF({start} = 0, NULL, {start} / 20) AS INT) AS p",
        )
        frame.write.format("delta").mode("append").partitionBy("p").save(path)
    return path
