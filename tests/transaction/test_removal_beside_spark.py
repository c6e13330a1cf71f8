"""Rows deleted here by position, and in Spark by DELETE and UPDATE: the same rows remain."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from deltaarrow import DeltaTable
from deltaarrow.errors import ConcurrentDeleteDeleteException
from tests.support.spark import create_table, spark_table

pytestmark = pytest.mark.spark

VARYING = {"deletionTimestamp", "modificationTime"}
"""Fields that are a matter of the moment."""


def actions(path, version: int) -> dict[str, dict[str, dict]]:
    """The adds and removes of a commit, by path, as far as they do not vary from run to run."""
    found: dict[str, dict[str, dict]] = {"add": {}, "remove": {}}
    for line in (path / "_delta_log" / f"{version:020d}.json").read_text().splitlines():
        for kind, body in json.loads(line).items():
            if kind in found:
                found[kind][body["path"]] = {k: comparable(k, v) for k, v in body.items() if k not in VARYING}
    return found


def comparable(key: str, value):
    if key == "stats":
        return json.loads(value)
    if key == "deletionVector":  # in which order vectors stand in their file is nobody's business
        return {k: v for k, v in value.items() if k not in ("pathOrInlineDv", "offset")}
    if key == "partitionValues":  # Spark leaves NULL out of removes, and out of adds it does not
        return {k: v for k, v in value.items() if v is not None}
    return value


def delete(path, ids: set[int]) -> None:
    table = DeltaTable(path)
    with table.transaction("DELETE") as transaction:
        for file in transaction.read_files().to_pylist(maps_as_pydicts="strict"):
            rows = dataset_ids(path, file["path"])
            transaction.remove_rows(file, BitMap64([place for place, each in enumerate(rows) if each in ids]))


def dataset_ids(path, name: str) -> list[int]:
    return pq.read_table(path / name, columns=["id"], partitioning=None)["id"].to_pylist()


@pytest.mark.slow
def test_deleting_rows_twice_and_all_rows_of_a_file_leaves_what_spark_leaves(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    name = create_table(
        spark, theirs, "id BIGINT, v STRING, p INT", "PARTITIONED BY (p)", enableDeletionVectors="true"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, IF(id = 7, NULL, concat('v', id)),"
        " IF(id < 20, 1, NULL) FROM range(40)"
    )
    shutil.copytree(theirs, ours)
    for version, deleted in ((2, {3, 4, 25}), (3, {4, 5, 26}), (4, set(range(20)))):
        spark.sql(f"DELETE FROM {name} WHERE id IN ({', '.join(map(str, deleted))})")
        delete(ours, deleted)
        assert DeltaTable(ours).version() == DeltaTable(theirs).version() == version
        wanted, found = actions(theirs, version), actions(ours, version)
        assert found == wanted
    assert spark_table(spark, ours).sort_by("id") == spark_table(spark, theirs).sort_by("id")
    assert DeltaTable(ours).verify(deep=True).ok


@pytest.mark.slow
def test_rows_that_spark_deletes_and_updates_meanwhile_stay_so(spark, tmp_path):
    name = create_table(
        spark, tmp_path, "id BIGINT, v STRING", enableDeletionVectors="true", enableRowTracking="true"
    )
    spark.sql(f"INSERT INTO {name} SELECT /*+ REPARTITION(1) */ id, 'old' FROM range(40)")
    transactions = [DeltaTable(tmp_path).transaction("DELETE") for _ in range(3)]
    for number, transaction in enumerate(transactions):
        (file,) = transaction.read_files(f"id = {number}", row_level=True).to_pylist(maps_as_pydicts="strict")
        place = dataset_ids(tmp_path, file["path"]).index(number)
        transaction.remove_rows(file, BitMap64([place]))
    spark.sql(f"DELETE FROM {name} WHERE id IN (10, 20)")
    assert transactions[0].commit() == 3
    spark.sql(f"UPDATE {name} SET v = 'new' WHERE id IN (11, 21)")
    assert transactions[1].commit() == 5
    spark.sql(f"DELETE FROM {name} WHERE id = 2")
    with pytest.raises(ConcurrentDeleteDeleteException, match="version 6"):
        transactions[2].commit()
    spark.sql(f"UPDATE {name} SET v = 'newer' WHERE id = 39")
    rows = {row["id"]: row["v"] for row in spark_table(spark, tmp_path).to_pylist()}
    expected = dict.fromkeys(set(range(40)) - {0, 1, 2, 10, 20}, "old")
    assert rows == expected | {11: "new", 21: "new", 39: "newer"}
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == sorted(rows)
    assert DeltaTable(tmp_path).verify(deep=True).ok
