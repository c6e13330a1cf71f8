"""Change data feeds of tables that Spark writes: we read the same rows as Spark."""

import pytest

import deltaarrow as da
from deltaarrow.errors import ChangeDataNotRecordedError, SchemaMismatchError, UnsupportedFeatureError
from tests.support.duckdb_session import duckdb_session
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def spark_feed(spark, path, start=0, end=None):
    reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", start)
    if end is not None:
        reader = reader.option("endingVersion", end)
    return spark_rows(reader.load(str(path)))


def check(spark, path, start=0, end=None):
    """The feed as Spark reads it is the feed as we read it, in every engine; return it."""
    wanted = spark_feed(spark, path, start, end)
    table = da.DeltaTable(path)
    found = table.load_cdf(start, end).read_all()
    assert found.column_names == wanted.column_names
    assert_same_rows(found, wanted)
    feed = table.change_data_feed(start, end)
    assert feed.count_rows() == wanted.num_rows
    assert_same_rows(feed.to_polars().collect().to_arrow(), wanted)
    with duckdb_session() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("feed", feed)
        assert_same_rows(connection.sql("FROM feed").to_arrow_table(), wanted)
    return found


def kinds(feed):
    """The types of change, by version."""
    found: dict[int, set[str]] = {}
    for version, kind in zip(
        feed["_commit_version"].to_pylist(), feed["_change_type"].to_pylist(), strict=True
    ):
        found.setdefault(version, set()).add(kind)
    return found


def create(spark, path, columns="id BIGINT, p STRING, v DOUBLE", partitioned=False, **properties):
    options = {"delta.enableChangeDataFeed": "true"} | properties
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    by = "PARTITIONED BY (p) " if partitioned else ""
    spark.sql(f"CREATE TABLE {delta_table(path)} ({columns}) USING delta {by}TBLPROPERTIES ({listed})")
    return delta_table(path)


def fill(spark, name, start=0, end=20):
    spark.sql(f"INSERT INTO {name} SELECT id, concat('p', id % 3), id / 2D FROM range({start}, {end}, 1, 1)")


VARIETIES = {
    "plain": (False, {"delta.enableDeletionVectors": "false"}),
    "deletion vectors": (False, {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}),
    "by name": (True, {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}),
    "by id": (True, {"delta.columnMapping.mode": "id", "delta.enableInCommitTimestamps": "true"}),
}
IMAGES = {"update_preimage", "update_postimage"}


@pytest.mark.slow
@pytest.mark.feature("changeDataFeed")
@pytest.mark.parametrize(
    ("partitioned", "properties"),
    [
        pytest.param(
            *variety, id=name, marks=pytest.mark.slow if name in ("plain", "by name", "by id") else ()
        )
        for name, variety in VARIETIES.items()
    ],
)
def test_every_operation(spark, tmp_path, partitioned, properties):
    name = create(spark, tmp_path, partitioned=partitioned, **properties)
    fill(spark, name)
    spark.sql(f"UPDATE {name} SET v = v + 100, p = NULL WHERE id % 5 = 0")
    spark.sql(f"DELETE FROM {name} WHERE id = 7")
    spark.sql(f"DELETE FROM {name} WHERE p = 'p1'")
    spark.sql(
        f"MERGE INTO {name} AS t USING (SELECT id, 'm' AS p, 0D AS v FROM range(15, 25)) AS s ON t.id = s.id"
        " WHEN MATCHED AND s.id = 17 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    fill(spark, name, 30, 33)
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"INSERT OVERWRITE {name} SELECT 99L, 'o', 1D")
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 4")
    feed = kinds(check(spark, tmp_path))
    both = {"insert", "delete"}
    assert feed == {
        1: {"insert"},
        2: IMAGES,
        3: {"delete"},
        4: {"delete"},
        5: IMAGES | both,
        6: {"insert"},
        8: both,
        9: both,
    }
    check(spark, tmp_path, 3, 5)


@pytest.mark.slow
def test_changes_of_deletion_vectors_alone(spark, tmp_path):
    name = create(spark, tmp_path, **{"delta.enableDeletionVectors": "true"})
    fill(spark, name, 0, 200)
    for condition in ("id < 3", "id IN (5, 150)", "id > 190"):
        spark.sql(f"DELETE FROM {name} WHERE {condition}")
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 2")
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 1")
    feed = check(spark, tmp_path, 2)
    assert da.DeltaTable(tmp_path).snapshot.files().num_rows == 1
    assert kinds(feed) == {2: {"delete"}, 3: {"delete"}, 4: {"delete"}, 5: {"insert"}, 6: {"insert"}}


def test_columns_that_were_added(spark, tmp_path):
    name = create(spark, tmp_path)
    fill(spark, name, 0, 3)
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (extra STRUCT<a: INT>)")
    spark.sql(f"INSERT INTO {name} VALUES (9, 'p', 1, named_struct('a', 1))")
    spark.sql(f"UPDATE {name} SET v = 0 WHERE id IN (1, 9)")
    check(spark, tmp_path)


def test_a_mapping_that_was_turned_on_later(spark, tmp_path):
    name = create(spark, tmp_path, partitioned=True)
    fill(spark, name, 0, 5)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"UPDATE {name} SET v = 0 WHERE id = 1")
    check(spark, tmp_path)


CHANGES = {
    "renamed": "ALTER TABLE {} RENAME COLUMN v TO w",
    "retyped": "ALTER TABLE {} ALTER COLUMN i TYPE BIGINT",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_schema_change_inside_the_range_is_refused_as_by_spark(spark, tmp_path, change):
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    name = create(spark, tmp_path, "id BIGINT, v DOUBLE, i INT", **properties)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 1), (2, 2, 2)")
    spark.sql(change.format(name))
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    with pytest.raises(Exception, match=r"INCOMPATIBLE_(DATA_)?SCHEMA"):
        spark_feed(spark, tmp_path)
    with pytest.raises(SchemaMismatchError, match="version 0"):
        da.DeltaTable(tmp_path).load_cdf()
    check(spark, tmp_path, 2)


def test_a_feed_that_was_off_is_refused_as_by_spark(spark, tmp_path):
    name = create(spark, tmp_path)
    fill(spark, name, 0, 3)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    fill(spark, name, 3, 5)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    fill(spark, name, 5, 8)
    with pytest.raises(Exception, match=r"version \[2\]"):
        spark_feed(spark, tmp_path)
    with pytest.raises(ChangeDataNotRecordedError, match="version 2 "):
        da.DeltaTable(tmp_path).load_cdf()
    check(spark, tmp_path, 0, 1)
    check(spark, tmp_path, 4)


@pytest.mark.feature("changeDataFeed")
@pytest.mark.slow
def test_a_protocol_that_was_upgraded_inside_the_range(spark, tmp_path):
    """Deletion vectors, row tracking, in-commit timestamps and mapping come to the table one by one."""
    columns = "id INT, v INT, t TIMESTAMP_NTZ"
    name = create(spark, tmp_path, columns, **{"delta.enableDeletionVectors": "false"})
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT), 1, NULL FROM range(0, 20, 1, 1)")
    for property_, change in {
        "enableDeletionVectors": "DELETE FROM {} WHERE id = 2",
        "enableRowTracking": "UPDATE {} SET v = 2 WHERE id = 3",
        "enableInCommitTimestamps": (
            "MERGE INTO {} AS t USING (SELECT CAST(id AS INT) AS id, 5 AS v, TIMESTAMP_NTZ '2026-01-01' AS t"
            " FROM range(15, 25)) AS s ON t.id = s.id WHEN MATCHED AND s.id = 17 THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
            " WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN DELETE"
            " WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN UPDATE SET v = -1"
        ),
    }.items():
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.{property_}' = 'true')")
        spark.sql(change.format(name))
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"UPDATE {name} SET v = 9 WHERE id = 6")
    spark.sql(f"REORG TABLE {name} APPLY (PURGE)")
    check(spark, tmp_path)
    check(spark, tmp_path, 2, 6)
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN v TO w")
    renamed = da.DeltaTable(tmp_path).version()
    spark.sql(f"UPDATE {name} SET w = 10 WHERE id = 7")
    spark.sql(f"TRUNCATE TABLE {name}")
    feed = check(spark, tmp_path, renamed)
    assert kinds(feed) == {renamed + 1: IMAGES, renamed + 2: {"delete"}}
    check(spark, tmp_path, 0, renamed - 1)
    with pytest.raises(UnsupportedFeatureError, match=r"_metadata\.row_id"):
        da.DeltaTable(tmp_path).load_cdf(renamed, columns=["id", "_metadata.row_id"])
