"""Row ids that we assign and keep, compared with Spark's, in tables that both write.

Commits are compared field by field, except for fields that always differ. One thing differs on purpose: we
set ``delta.rowTracking.preserved`` in every commit that keeps row ids, as the protocol asks, and delta-spark
does not for `WRITE`.
"""

import json

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.commits import commit, comparable
from tests.support.engines import ENGINES, open_snapshot
from tests.support.rows import assert_same_rows
from tests.support.spark import create_table, delta_table, spark_rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("rowTracking"),
]

COLUMNS = ["id", "v", ROW_ID, ROW_COMMIT_VERSION]
NAMES = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)
PRESERVED = "delta.rowTracking.preserved"


def rows(first: int, last: int, v: str) -> pa.Table:
    return pa.table({"id": pa.array(range(first, last), pa.int64()), "v": [v] * (last - first)})


def actions(path, version: int) -> list:
    """The commit, with the names of the hidden columns, and the tag that we alone have, left out."""
    found = commit(path, version)
    for action in found:
        for fields in action.values():
            for key in ("configuration",):
                if isinstance(fields.get(key), dict):
                    fields[key] = {k: "" if k in NAMES else v for k, v in fields[key].items()}
            parameters = fields.get("operationParameters", {})
            if "properties" in parameters:
                said = json.loads(parameters["properties"])
                parameters["properties"] = {k: "" if k in NAMES else v for k, v in said.items()}
            if "newProtocol" in parameters:
                said = json.loads(parameters["newProtocol"])
                parameters["newProtocol"] = said | {"writerFeatures": sorted(said["writerFeatures"])}
        info = action.get("commitInfo")
        if info is not None and info["operation"] == "WRITE" and (tags := info.get("tags")):
            assert tags.pop(PRESERVED) == "true"
            if not tags:
                del info["tags"]
    return [
        (kind, names, {k: v for k, v in values.items() if k != "operationMetrics"})
        for kind, names, values in comparable(found)
    ]


def tracked(spark, path) -> dict[int, tuple]:
    """Row id and version of every row, the same from Spark and from every engine."""
    query = f"SELECT id, v, _metadata.row_id, _metadata.row_commit_version FROM {delta_table(path)}"
    wanted = spark_rows(spark.sql(query)).rename_columns(COLUMNS)
    for read in ENGINES.values():
        assert_same_rows(read(open_snapshot(path), COLUMNS, None, row_tracking=True), wanted)
    assert len(set(wanted[ROW_ID].to_pylist())) == wanted.num_rows
    return {row["id"]: (row[ROW_ID], row[ROW_COMMIT_VERSION]) for row in wanted.to_pylist()}


def append(spark, path, data: pa.Table, mode: str = "append") -> None:
    spark.createDataFrame(data).coalesce(1).write.format("delta").mode(mode).save(str(path))


@pytest.mark.parametrize(
    "properties",
    [{"delta.enableRowTracking": "true"}, {"delta.feature.rowTracking": "supported"}],
    ids=["enabled", "supported"],
)
def test_commits_are_as_spark_makes_them(spark, tmp_path, properties):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    listed = ", ".join(f"'{name}' = '{text}'" for name, text in properties.items())
    spark.sql(
        f"CREATE TABLE {delta_table(theirs)} (id BIGINT, v STRING) USING delta TBLPROPERTIES ({listed})"
    )
    da.DeltaTable.create(ours, rows(0, 1, "").schema, configuration=properties)
    for mode in ("append", "append", "overwrite"):
        append(spark, theirs, rows(0, 5, "a"), mode)
        da.write_deltalake(ours, rows(0, 5, "a"), mode=mode)
    for version in range(4):
        assert actions(ours, version) == actions(theirs, version)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", pytest.param("id", marks=pytest.mark.slow)])
def test_rows_keep_their_ids_whoever_moves_them(spark, tmp_path, mode):
    """Our appends, and rows that we copy, beside deletions, updates and compaction of Spark."""
    name = delta_table(tmp_path)
    configuration = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": mode}
    da.DeltaTable.create(tmp_path, rows(0, 1, "").schema, configuration=configuration)
    da.write_deltalake(tmp_path, rows(0, 10, "a"), mode="append")
    spark.sql(f"INSERT INTO {name} SELECT id, 'b' FROM range(10, 20, 1, 1)")
    first = tracked(spark, tmp_path)
    assert first == {i: (i, 1 if i < 10 else 2) for i in range(20)}
    da.write_deltalake(tmp_path, rows(3, 4, "c"), mode="overwrite", predicate="id = 3")
    moved = tracked(spark, tmp_path)
    assert moved == first | {3: (20, 3)}
    spark.sql(f"UPDATE {name} SET v = 'd' WHERE id = 5")
    spark.sql(f"DELETE FROM {name} WHERE id = 15")
    da.write_deltalake(tmp_path, rows(7, 8, "e"), mode="overwrite", predicate="id = 7")
    spark.sql(f"OPTIMIZE {name}")
    last = tracked(spark, tmp_path)
    kept = {i: ids for i, ids in moved.items() if i not in (5, 7, 15)}
    assert {i: ids for i, ids in last.items() if i in kept} == kept
    assert last[5] == (5, 4)
    assert last[7][1] == 6
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    da.write_deltalake(tmp_path, rows(8, 9, "f"), mode="overwrite", predicate="id = 8")
    spark.sql(f"DELETE FROM {name} WHERE id = 9")
    marked = tracked(spark, tmp_path)
    assert {i: ids for i, ids in marked.items() if i != 8} == {
        i: ids for i, ids in last.items() if i not in (8, 9)
    }
    da.DeltaTable(tmp_path).create_checkpoint()
    assert tracked(spark, tmp_path) == marked
    assert list(da.DeltaTable(tmp_path).verify(deep=True)) == []


@pytest.mark.slow
def test_row_tracking_is_enabled_later_as_spark_does(spark, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        create_table(spark, path, "id BIGINT, v STRING")
        append(spark, path, rows(0, 4, "a"))
        append(spark, path, rows(4, 6, "b"))
    spark.sql(f"ALTER TABLE {delta_table(theirs)} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    da.DeltaTable(ours).alter.set_table_properties({"delta.enableRowTracking": "true"})
    for version in (3, 4, 5):
        # The two files may come in another order, so that ids are compared below.
        found, wanted = (
            [
                (kind, names, {k: v for k, v in values.items() if k not in ("baseRowId", "stats")})
                for kind, names, values in actions(path, version)
            ]
            for path in (ours, theirs)
        )
        assert found == wanted
    assert sorted(row_id for row_id, _ in tracked(spark, ours).values()) == list(range(6))
    assert {version for _, version in tracked(spark, ours).values()} == {4}
    spark.sql(f"UPDATE {delta_table(ours)} SET v = 'c' WHERE id = 1")
    before = tracked(spark, ours)
    da.write_deltalake(ours, rows(2, 3, "d"), mode="overwrite", predicate="id = 2")
    after = tracked(spark, ours)
    assert {i: ids for i, ids in after.items() if i != 2} == {i: ids for i, ids in before.items() if i != 2}
