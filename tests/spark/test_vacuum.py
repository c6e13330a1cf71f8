"""VACUUM beside Spark: the same files go, but for differences that are documented; Spark reads the rest."""

import json
import os
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.storage import open_store
from tests.support.spark import (
    check_engines,
    create_table,
    delta_log_files,
    delta_table,
    make_once,
    spark_table,
)
from tests.support.vacuum import HOUR_MS, overwrite, put, stored, vacuum

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def spark(spark):
    """The session, which takes a retention of no hours."""
    spark.conf.set(CHECK, "false")
    yield spark
    spark.conf.unset(CHECK)


def history(spark, path) -> str:
    """A table with all that a VACUUM has to tell apart: vectors, change data, partitions, stray files."""
    make_once(spark, path, make_history)
    return delta_table(path)


def make_history(spark, path) -> None:
    name = create_table(
        spark,
        path,
        "id INT, `_p` STRING",
        "PARTITIONED BY (`_p`)",
        enableDeletionVectors="true",
        enableChangeDataFeed="true",
    )
    for partition in ("x y", "z"):
        spark.sql(f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, '{partition}' FROM range(100)")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    spark.sql(f"DELETE FROM {name} WHERE id = 5")
    spark.sql(f"UPDATE {name} SET id = 1000 WHERE id = 7 AND `_p` = 'z'")
    spark.sql(f"DELETE FROM {name} WHERE `_p` = 'z'")
    spark.sql(f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, 'w' FROM range(5)")


STRAYS = [
    *("stray.parquet", "_q=1/f.parquet", "_p=z/stray2", "_p=z/_h", "_pq/f", "_p=z/.x/f", "sp ace%20/f é"),
    *("_change_data/old.parquet", "_change_data/_p=z/x", "e1/e2/", "_p=empty/", "metadata/m", "a/[b]*"),
]
LEFT_BY_US = ["_change_datax", "_delta_index/q", "sub/part-1.parquet", "sub/_p=q/f"]
"""What Spark deletes and we leave: names with ``_`` that are not ours, and files of another table."""


def listed(spark, name: str, mode: str) -> set[str]:
    """What Spark's dry run lists, relative to the table."""
    root = name.removeprefix("delta.`").removesuffix("`")
    rows = spark.sql(f"VACUUM {name} {mode} RETAIN 0 HOURS DRY RUN").collect()
    return {row["path"].removeprefix(f"file:{root}/") for row in rows}


def without_checksums(names) -> set[str]:
    return {name for name in names if not name.endswith(".crc")}


@pytest.mark.slow
def test_a_full_one_lists_what_spark_lists(spark, tmp_path):
    name = history(spark, tmp_path / "a b")
    path = tmp_path / "a b"
    put(path, *STRAYS, *LEFT_BY_US, "sub/_delta_log/00000000000000000000.json")
    report = DeltaTable(path).vacuum_report(0, enforce_retention_duration=False, full=True)
    ours = {row["path"].rstrip("/") for row in report.to_pylist() if row["is_deleted"]}
    # A folder of empty folders is empty to us at once.
    assert ours == listed(spark, name, "") - set(LEFT_BY_US)
    assert ours >= {"e1", "e1/e2", "_p=empty", "stray.parquet", "sp ace%20/f é", "a/[b]*"}


@pytest.mark.slow
def test_a_lite_one_lists_what_spark_lists(spark, tmp_path):
    name = history(spark, tmp_path / "a b")
    path = tmp_path / "a b"
    put(path, *STRAYS)
    theirs = listed(spark, name, "LITE")
    assert len(theirs) == 5
    assert set(vacuum(path, 0, lite=True)) == set(vacuum(path, 0)) == theirs


def test_a_full_one_leaves_what_spark_leaves(spark, tmp_path):
    history(spark, tmp_path / "spark")
    put(tmp_path / "spark", *STRAYS)
    shutil.copytree(tmp_path / "spark", tmp_path / "ours", symlinks=True)
    spark.sql(f"VACUUM {delta_table(tmp_path / 'spark')} RETAIN 0 HOURS")
    vacuum(tmp_path / "ours", 0, full=True, dry_run=False)

    def files(path) -> set[str]:
        return {name for name in without_checksums(stored(path)) if not name.endswith("/")}

    assert files(tmp_path / "ours") == files(tmp_path / "spark")
    wanted = spark_table(spark, tmp_path / "spark")
    assert check_engines(spark, tmp_path / "ours").num_rows == wanted.num_rows == 98 + 5
    for path in ("ours", "spark"):
        assert vacuum(tmp_path / path, 0, full=True) == []
    # Folders that have become empty go the next time.
    assert all(
        (tmp_path / "ours" / name).is_dir() for name in listed(spark, delta_table(tmp_path / "ours"), "")
    )


def operations(path) -> list[dict]:
    found = DeltaTable(path).history(2)
    return [{key: found_one.get(key) for key in KEYS} for found_one in found]


KEYS = ("operation", "operationParameters", "operationMetrics", "isolationLevel", "isBlindAppend")


@pytest.mark.parametrize("lite", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_history_and_the_note_are_those_of_spark(spark, tmp_path, lite):
    history(spark, tmp_path / "spark")
    put(tmp_path / "spark", "sub/stray")
    shutil.copytree(tmp_path / "spark", tmp_path / "ours")
    mode = "LITE" if lite else ""
    spark.sql(f"VACUUM {delta_table(tmp_path / 'spark')} {mode} RETAIN 0 HOURS")
    vacuum(tmp_path / "ours", 0, lite=lite, full=not lite, dry_run=False)
    (our_end, our_start), (end, start) = operations(tmp_path / "ours"), operations(tmp_path / "spark")
    sizes = [each["operationMetrics"].pop("sizeOfDataToDelete") for each in (our_start, start)]
    assert int(sizes[0]) <= int(sizes[1])  # the log does not tell the size of a vector's file
    assert our_start == start
    assert our_end == end
    notes = [
        json.loads((tmp_path / path / "_delta_log" / "_last_vacuum_info").read_text())
        for path in ("ours", "spark")
    ]
    assert notes[0] == notes[1]
    assert spark.sql(f"DESCRIBE HISTORY {delta_table(tmp_path / 'ours')}").count() == 10


def test_they_go_on_after_each_other(spark, tmp_path):
    name = history(spark, tmp_path)
    assert len(vacuum(tmp_path, 0, lite=True, dry_run=False)) == 5
    assert listed(spark, name, "LITE") == set()
    chosen = DeltaTable(tmp_path).file_uris(file_pruning_predicate=[("_p", "=", "w")])
    (old,) = [os.path.relpath(uri, tmp_path) for uri in chosen]
    spark.sql(f"DELETE FROM {name} WHERE `_p` = 'w'")
    assert listed(spark, name, "LITE") == set(vacuum(tmp_path, 0, lite=True)) == {old}
    spark.sql(f"VACUUM {name} LITE RETAIN 0 HOURS")
    assert vacuum(tmp_path, 0, lite=True) == []
    assert check_engines(spark, tmp_path).num_rows == 98


@pytest.mark.slow
def test_lite_is_refused_where_spark_refuses_it(spark, tmp_path):
    for number in range(11):
        overwrite(tmp_path, number)
    name = delta_table(tmp_path)
    assert delta_log_files(tmp_path, "*.checkpoint.*") != []
    os.unlink(tmp_path / "_delta_log" / f"{0:020d}.json")
    with pytest.raises(Exception) as theirs:
        listed(spark, name, "LITE")
    assert "DELTA_CANNOT_VACUUM_LITE" in str(theirs.value.java_exception)
    with pytest.raises(Exception, match="DELTA_CANNOT_VACUUM_LITE"):
        vacuum(tmp_path, 0, lite=True)
    assert len(vacuum(tmp_path, 0, dry_run=False)) == 10
    assert check_engines(spark, tmp_path).num_rows == 1


def test_an_inventory_lists_what_spark_lists(spark, tmp_path):
    path = tmp_path / "a b"
    name = create_table(spark, path, "id INT")
    spark.sql(f"INSERT INTO {name} SELECT 1")
    names = ["x", "x%2525", "_h/f", "x y", os.path.relpath(DeltaTable(path).file_uris()[0], path), "d"]
    rows = pa.table(
        {
            "path": [f"file:{path}/{each}" for each in names] + ["file:/elsewhere/x"],
            "length": pa.array([1] * 7, pa.int64()),
            "isDir": [False] * 5 + [True, False],
            "modificationTime": pa.array([5] * 7, pa.int64()),
        }
    )
    write_deltalake(tmp_path / "inventory", rows)
    theirs = listed(spark, name, f"USING INVENTORY {delta_table(tmp_path / 'inventory')}")
    assert vacuum(path, 0, inventory=rows) == sorted(theirs - {"d"}) == ["x", "x y", "x%2525"]


@pytest.mark.slow
def test_spark_reads_every_version_within_the_retention(spark, tmp_path):
    name = history(spark, tmp_path)
    properties = "'delta.deletedFileRetentionDuration' = 'interval 2 hours'"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({properties})")
    last = DeltaTable(tmp_path).version()
    make_older(tmp_path, 4)
    # Spark does not go back to a version that was made before the retention, even if it was live within it.
    counts = " UNION ALL ".join(
        f"SELECT {version} AS version, count(*) AS count FROM {name} VERSION AS OF {version}"
        for version in range(5, last + 1)
    )
    wanted = dict(spark.sql(counts).collect())
    assert len(wanted) == 4
    oldest = sorted(DeltaTable(tmp_path, version=4).to_pyarrow_table().to_pylist(), key=repr)
    by_the_log = vacuum(open_store(tmp_path))
    (vectors,) = vacuum(open_store(tmp_path), dry_run=False, full=True)
    assert by_the_log == [vectors]
    assert vectors.endswith(".bin"), "those of the first DELETE, which the second has replaced"
    for version, count in wanted.items():
        assert check_engines(spark, tmp_path, version).num_rows == count
    assert sorted(DeltaTable(tmp_path, version=4).to_pyarrow_table().to_pylist(), key=repr) == oldest


def make_older(path, last: int, hours: float = 3) -> None:
    """Make all files older that were there when a version was committed, and its tombstones."""
    until = (path / "_delta_log" / f"{last:020d}.json").stat().st_mtime
    for file in [*path.rglob("[!.]*.*")]:
        if (moment := file.stat().st_mtime) > until or not file.is_file():
            continue
        if file.parent.name == "_delta_log" and file.suffix == ".json":
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            for action in actions:
                if "remove" in action:
                    action["remove"]["deletionTimestamp"] -= int(hours * HOUR_MS)
            file.write_text("".join(json.dumps(action) + "\n" for action in actions))
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        older = moment - hours * HOUR_MS / 1000
        os.utime(file, (older, older))
