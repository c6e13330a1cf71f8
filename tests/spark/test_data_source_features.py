"""Tables with many features: Spark creates them, both write in turns, and both read the same."""

import pytest

import deltaarrow as da
import deltaarrow.spark
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, spark_rows, spark_table

pytestmark = pytest.mark.slow

COLUMNS = """
    id BIGINT NOT NULL, at TIMESTAMP_NTZ, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),
    n SMALLINT DEFAULT 7, d DECIMAL(20, 4), st STRUCT<a: INT, list: ARRAY<STRING>>, v VARIANT
"""
KEPT = {
    "feature__allowColumnDefaults": "supported",
    "enableChangeDataFeed": "true",
    "enableTypeWidening": "true",
    "enableInCommitTimestamps": "true",
}
EVERYTHING = {
    **KEPT,
    "columnMapping__mode": "name",
    "enableDeletionVectors": "true",
    "enableRowTracking": "true",
    "checkpointPolicy": "v2",
    "checkpointInterval": "2",
}
TABLES = {
    "clustered": ("CLUSTER BY (id)", EVERYTHING),
    "partitioned": ("PARTITIONED BY (day)", EVERYTHING),
    "by ids": ("PARTITIONED BY (day)", {**KEPT, "columnMapping__mode": "id"}),
    "without marks": ("", {**KEPT, "enableRowTracking": "true"}),
}


def rows(spark, first, last):
    return spark.sql(
        "SELECT id, CAST('2026-01-01 10:00:00' AS TIMESTAMP_NTZ) + make_interval(0, 0, 0, id % 3) at,"
        " CAST(id / 3 AS DECIMAL(20, 4)) d, named_struct('a', CAST(id AS INT), 'list', array('x', null)) st,"
        f" parse_json(concat('{{\"a\": ', id, '}}')) v FROM range({first}, {last}, 1, 2)"
    )


def append(frame, path):
    frame.write.format("deltaarrow").mode("append").save(str(path))


def shown(frame):
    return spark_rows(frame.selectExpr("* EXCEPT (v)", "to_json(v) v"))


def read(spark, path, source, **options):
    return spark.read.format(source).options(**options).load(str(path))


def assert_both_read_the_same(spark, path):
    theirs, ours = (shown(read(spark, path, source)) for source in ("delta", "deltaarrow"))
    assert_same_rows(ours, theirs)
    return theirs


@pytest.mark.parametrize("kind", TABLES)
def test_table_that_both_write_to(spark, tmp_path, kind):
    deltaarrow.spark.register(spark)
    clauses, properties = TABLES[kind]
    name = create_table(spark, tmp_path, COLUMNS, clauses, **properties)
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT small CHECK (id < 1000)")
    append(rows(spark, 0, 100), tmp_path)
    spark.sql(f"UPDATE {name} SET n = 8 WHERE id = 5")
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 1")
    append(rows(spark, 100, 110), tmp_path)
    feed = {"readChangeFeed": "true", "startingVersion": "1"}
    theirs, ours = (shown(read(spark, tmp_path, source, **feed)) for source in ("delta", "deltaarrow"))
    assert_same_rows(ours, theirs)
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE INT")
    append(rows(spark, 110, 120).selectExpr("*", "70000 n"), tmp_path)
    found = assert_both_read_the_same(spark, tmp_path)
    counts = {row["values"]: row["counts"] for row in found["n"].value_counts().to_pylist()}
    assert counts == {7: 99, 8: 1, 70000: 10}
    assert [str(day) for day in sorted(set(found["day"].to_pylist()))] == [
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
    ]
    with pytest.raises(Exception, match=r"(?s)ConstraintViolationError.*small"):
        append(rows(spark, 1000, 1001), tmp_path)
    if properties.get("enableRowTracking"):
        tracked = spark.sql(f"SELECT count(DISTINCT _metadata.row_id), count(*) FROM {name}").first()
        assert tuple(tracked) == (110, 110)
    if "columnMapping__mode" in properties:
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN d TO amount")
        assert "amount" in assert_both_read_the_same(spark, tmp_path).column_names
    assert da.DeltaTable(tmp_path).verify(deep=True).ok


def test_writes_that_a_feature_rules_out(spark, tmp_path):
    deltaarrow.spark.register(spark)
    name = create_table(spark, tmp_path, "id BIGINT", appendOnly="true")
    append(spark.range(3), tmp_path)
    with pytest.raises(Exception, match=r"(?s)delta\.appendOnly"):
        spark.range(1).write.format("deltaarrow").mode("overwrite").save(str(tmp_path))
    assert spark_table(spark, tmp_path).num_rows == 3
    assert spark.table(name).count() == 3
