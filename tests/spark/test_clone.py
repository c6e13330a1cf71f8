"""CLONE beside Spark's: equal commits for the same statement, and Spark reads and writes our clones."""

import shutil
from typing import Any

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import InvalidTablePropertyError, VersionExistsError
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_table


@pytest.fixture(scope="module")
def source(spark, tmp_path_factory) -> str:
    """A partitioned table of an odd name, with vectors, row tracking, mapping and an identity column."""
    path = str(tmp_path_factory.mktemp("clone") / "a source%20é")
    name = delta_table(path)
    for statement in (
        f"CREATE TABLE {name} (id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY, p STRING) USING delta"
        " PARTITIONED BY (p) COMMENT 'told' TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
        " 'delta.enableRowTracking' = 'true', 'delta.columnMapping.mode' = 'name', 'own' = '1')",
        f"INSERT INTO {name} (id, p) SELECT id, 'a b%/é' FROM range(0, 6, 1, 1)",
        f"DELETE FROM {name} WHERE id = 3",
        f"INSERT INTO {name} (id, p) VALUES (10, NULL)",
    ):
        spark.sql(statement)
    return path


def in_order(actions: list[dict]) -> list:
    """What two clones have in common: files in the order of their names, under row ids of any order."""
    adds = sorted((action["add"] for action in actions if "add" in action), key=lambda add: add["path"])
    rows = [(add.pop("baseRowId", None), add["stats"]) for add in adds]
    assert len({row for row, _ in rows}) in (1, len(adds))
    for action in actions:
        configuration = action.get("metaData", {}).get("configuration", {})
        for name in [name for name in configuration if "materialized" in name]:
            configuration[name] = name
        # Spark says that a clone has read version -1 of its target.
        action.get("commitInfo", {}).pop("readVersion", None)
    paths = [(add["path"], add.get("deletionVector")) for add in adds]
    return [paths, comparable(actions)]


def test_commits_are_equal_and_spark_goes_on(spark, source, tmp_path):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    DeltaTable(source).clone(ours, properties={"own": "2"})
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} SHALLOW CLONE {delta_table(source)} TBLPROPERTIES ('own' = '2')"
    )
    assert in_order(commit(ours, 0)) == in_order(commit(theirs, 0))
    wanted = spark_table(spark, source)
    assert_same_rows(spark_table(spark, ours), wanted)
    assert_same_rows(DeltaTable(theirs).to_pyarrow_table(), wanted)
    # Spark writes to our clone and clones it again.
    spark.sql(f"DELETE FROM {delta_table(ours)} WHERE id = 1")
    spark.sql(f"INSERT INTO {delta_table(ours)} (id, p) VALUES (11, 'x')")
    second = str(tmp_path / "second")
    spark.sql(f"CREATE TABLE {delta_table(second)} SHALLOW CLONE {delta_table(ours)}")
    third = str(tmp_path / "third")
    DeltaTable(second).clone(third, shallow=False)
    left = spark_table(spark, ours)
    assert sorted(left.column("id").to_pylist()) == [0, 2, 4, 5, 10, 11]
    assert len(set(left.column("n").to_pylist())) == 6
    for clone in (second, third):
        assert_same_rows(spark_table(spark, clone), left)
    assert_same_rows(spark_table(spark, source), wanted)
    ids = (
        spark.sql(f"SELECT _metadata.row_id AS r FROM {delta_table(third)}").toArrow().column("r").to_pylist()
    )
    assert len(set(ids)) == 6


@pytest.mark.slow
def test_spark_reads_a_deep_clone_that_was_repeated(spark, source, tmp_path):
    copied, clone = str(shutil.copytree(source, tmp_path / "source")), str(tmp_path / "clone")
    DeltaTable(copied).clone(clone, shallow=False)
    spark.sql(f"DELETE FROM {delta_table(copied)} WHERE id = 4")
    spark.sql(f"INSERT INTO {delta_table(copied)} (id, p) VALUES (12, 'x')")
    wanted = spark_table(spark, copied)
    DeltaTable(copied).clone(clone, shallow=False)
    shutil.rmtree(copied)
    assert_same_rows(spark_table(spark, clone), wanted)
    spark.sql(f"DELETE FROM {delta_table(clone)} WHERE id = 12")
    assert DeltaTable(clone).count() == len(wanted) - 1


@pytest.mark.slow
def test_what_spark_refuses_is_refused(spark, source, tmp_path):
    target = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE {delta_table(target)} SHALLOW CLONE {delta_table(source)}")

    def both(error: type[Exception], match: str, statement: str, **options: Any) -> None:
        with pytest.raises(error, match=match):
            DeltaTable(source).clone(target, **options)
        with pytest.raises(Exception, match=match):
            spark.sql(statement)

    again = f"CREATE OR REPLACE TABLE {delta_table(target)} SHALLOW CLONE {delta_table(source)}"
    both(VersionExistsError, "DELTA_UNSUPPORTED_NON_EMPTY_CLONE", again, replace=True)
    DeltaTable(target).delete()
    unmapped = f"{again} TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
    properties = {"delta.columnMapping.mode": "none"}
    with pytest.raises(InvalidTablePropertyError):
        DeltaTable(source).clone(target, replace=True, properties=properties)
    with pytest.raises(Exception, match="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"):
        spark.sql(unmapped)
    DeltaTable(source).clone(target, replace=True)
    assert_same_rows(spark_table(spark, target), spark_table(spark, source))
