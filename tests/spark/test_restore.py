"""RESTORE beside Spark's: equal commits for the same statement, and Spark reads and goes on after ours."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaarrow import DeltaTable, VersionNotFoundError, write_deltalake
from deltaarrow.errors import MissingFilesError
from tests.support.commits import commit, comparable
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, spark_table

FEATURES = (
    "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true',"
    " 'delta.enableChangeDataFeed' = 'true'"
)


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory) -> str:
    """A table whose versions differ in rows, vectors, schema, properties, clustering and protocol."""
    path = str(tmp_path_factory.mktemp("restore") / "table")
    name = delta_table(path)
    for statement in (
        f"CREATE TABLE {name} (id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY) USING delta"
        f" CLUSTER BY (id) TBLPROPERTIES ({FEATURES})",
        f"INSERT INTO {name} (id) SELECT id FROM range(0, 6, 1, 1)",
        f"DELETE FROM {name} WHERE id = 3",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true', 'own' = '1')",
        f"ALTER TABLE {name} ADD COLUMN more INT",
        f"ALTER TABLE {name} CLUSTER BY NONE",
        f"INSERT INTO {name} (id, more) SELECT id, 1 FROM range(10, 13, 1, 1)",
        f"DELETE FROM {name} WHERE id = 4",
    ):
        spark.sql(statement)
    return path


def both(spark, table: str, tmp_path: Path, target: str, restore: Any) -> tuple[str, str]:
    """Two copies of the table, one restored by each."""
    paths = tuple(str(tmp_path / each) for each in ("ours", "theirs"))
    for path in paths:
        # With their times, by which versions are found.
        shutil.copytree(table, path, copy_function=shutil.copy2)
    restore(DeltaTable(paths[0]))
    spark.sql(f"RESTORE TABLE {delta_table(paths[1])} TO {target}")
    return paths


def without_times(actions: list[dict]) -> list:
    for action in actions:
        if "metaData" in action:
            del action["metaData"]["configuration"]["delta.inCommitTimestampEnablementTimestamp"]
    return comparable(actions)


def changes(spark, path: str, version: int) -> tuple[list, list]:
    """The change feed of a version, ours and Spark's."""
    reader = spark.read.format("delta").option("readChangeFeed", True)
    theirs = reader.option("startingVersion", version).option("endingVersion", version).load(path).toArrow()
    ours = DeltaTable(path).load_cdf(version, version).read_all()
    return tuple(
        sorted(((row["id"], row["n"], row["_change_type"]) for row in each.to_pylist()), key=repr)
        for each in (ours, theirs)
    )


@pytest.mark.parametrize("version", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_commits_are_equal(spark, table, tmp_path, version):
    ours, theirs = both(
        spark, table, tmp_path, f"VERSION AS OF {version}", lambda table: table.restore(version)
    )
    assert comparable(commit(ours, 8)) == comparable(commit(theirs, 8))
    found, told = changes(spark, ours, 8)
    assert found == told
    assert found
    assert_same_rows(spark_table(spark, ours), spark_table(spark, table, version))


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 4])
def test_both_go_on(spark, table, tmp_path, version):
    ours, theirs = both(
        spark, table, tmp_path, f"VERSION AS OF {version}", lambda table: table.restore(version)
    )
    # The other one brings the newest version back, rows and row ids.
    spark.sql(f"RESTORE TABLE {delta_table(ours)} TO VERSION AS OF 7")
    DeltaTable(theirs).restore(7)
    assert without_times(commit(ours, 9)) == without_times(commit(theirs, 9))
    query = "SELECT id, n, more, _metadata.row_id FROM {}"
    wanted = spark.sql(query.format(delta_table(table))).toArrow()
    assert_same_rows(spark.sql(query.format(delta_table(theirs))).toArrow(), wanted)
    spark.sql(f"INSERT INTO {delta_table(theirs)} (id, more) VALUES (99, 1)")
    numbers = spark_table(spark, theirs).filter(pc.field("id") == 99).column("n").to_pylist()
    assert numbers[0] > max(wanted.column("n").to_pylist())


@pytest.mark.slow
def test_a_time_is_told_as_spark_tells_it(spark, table, tmp_path):
    moment = datetime.fromtimestamp(os.stat(f"{table}/_delta_log/{2:020d}.json").st_mtime + 0.002, UTC)
    text = f"{moment:%Y-%m-%d %H:%M:%S.%f}"[:-3]
    ours, theirs = both(
        spark, table, tmp_path, f"TIMESTAMP AS OF '{text}'", lambda table: table.restore(text)
    )
    infos = [commit(path, 8)[0]["commitInfo"]["operationParameters"] for path in (ours, theirs)]
    assert infos[0] == infos[1]


@pytest.mark.slow
def test_what_spark_refuses_is_refused(spark, tmp_path):
    path = str(tmp_path / "t")
    for number in range(2):
        write_deltalake(path, pa.table({"id": [number]}), mode="overwrite")
    os.remove(DeltaTable(path, version=0).file_uris()[0])
    for target, error in (
        ("VERSION AS OF 9", "TABLE_VERSION"),
        ("TIMESTAMP AS OF '2200-01-01'", "TIMESTAMP_GREATER"),
    ):
        wanted = 9 if "9" in target else "2200-01-01"
        with pytest.raises(VersionNotFoundError, match=error):
            DeltaTable(path).restore(wanted)
        with pytest.raises(Exception, match=f"DELTA_CANNOT_RESTORE_{error}"):
            spark.sql(f"RESTORE TABLE {delta_table(path)} TO {target}")
    with pytest.raises(MissingFilesError):
        DeltaTable(path).restore(0)
    with pytest.raises(Exception, match="Not all files from version 0 are available"):
        spark.sql(f"RESTORE TABLE {delta_table(path)} TO VERSION AS OF 0")
    assert DeltaTable(path).version() == 1
