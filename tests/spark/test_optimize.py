"""Compaction beside Spark: Spark reads what we compact, finds nothing left to do, and goes on with it."""

import json
import shutil

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, PrimitiveType, write_deltalake
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.many_features import changed_table
from tests.support.optimizing import rewriting
from tests.support.rows import assert_same_rows
from tests.support.spark import delta_table, make_once, spark_rows, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

VARIANT = str(PrimitiveType("variant"))
COLUMNS = "id BIGINT, s STRUCT<x: INT, `y z`: STRING>, p STRING, v VARIANT, n INT"
TABLES = {
    "plain": ("id BIGINT, n INT", "", {}),
    "vectors": ("id BIGINT, n INT", "", {"enableDeletionVectors": "true"}),
    "everything": (
        COLUMNS,
        "PARTITIONED BY (p)",
        {
            "enableDeletionVectors": "true",
            "enableChangeDataFeed": "true",
            "enableRowTracking": "true",
            "enableInCommitTimestamps": "true",
            "enableTypeWidening": "true",
            "columnMapping.mode": "name",
            "checkpointPolicy": "v2",
        },
    ),
    "everything but variants": (
        COLUMNS.replace(", v VARIANT", ""),
        "PARTITIONED BY (p)",
        {
            "enableDeletionVectors": "true",
            "enableRowTracking": "true",
            "columnMapping.mode": "name",
        },
    ),
    "mapped by id": (COLUMNS.replace(", v VARIANT", ""), "", {"columnMapping.mode": "id"}),
    "clustered": ("id BIGINT, n INT", "CLUSTER BY (id)", {"enableDeletionVectors": "true"}),
}


def make(spark, path, name):
    """A table of Spark's with four files, some rows deleted, and a wider column if it may have one."""
    make_once(spark, path, make_with_spark, name)


def make_with_spark(spark, path, name):
    columns, layout, properties = TABLES[name]
    listed = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    spark.sql(
        f"CREATE TABLE {delta_table(path)} ({columns}) USING delta {layout}"
        + (f" TBLPROPERTIES ({listed})" if listed else "")
    )
    names = [
        each.split()[0] for each in columns.replace("STRUCT<x: INT, `y z`: STRING>", "STRUCT").split(", ")
    ]
    values = {
        "id": "id",
        "s": "named_struct('x', CAST(id AS INT), 'y z', CAST(id AS STRING))",
        "p": "IF(id % 3 = 0, NULL, CAST(id % 2 AS STRING))",
        "v": "parse_json(concat('{\"a\": ', id, '}'))",
        "n": "CAST(id AS INT)",
    }
    for first in (0, 20):
        selected = ", ".join(values[each] for each in names)
        spark.sql(
            f"INSERT INTO {delta_table(path)} SELECT {selected} FROM range({first}, {first + 20}, 1, 2)"
        )
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id % 7 = 3")
    if "enableTypeWidening" in properties:
        spark.sql(f"ALTER TABLE {delta_table(path)} ALTER COLUMN n TYPE BIGINT")


def newest(path):
    table = DeltaTable(path)
    return table.version(), table.history(1)[0]


OF_OTHERS = ("plain", "vectors", "everything but variants", "mapped by id", "clustered")
"""Tables whose features other tables have as well; `test_optimize_clustered` goes on with a clustered one."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in OF_OTHERS)) for name in TABLES],
)
def test_spark_goes_on_with_a_compacted_table(spark, tmp_path, name):
    path = tmp_path / "t"
    make(spark, path, name)
    before, version = spark_table(spark, path), DeltaTable(path).version()
    metrics = DeltaTable(path).optimize.compact()
    assert metrics["numFilesRemoved"] > metrics["numFilesAdded"]
    assert newest(path)[0] == version + 1
    assert_same_rows(spark_table(spark, path), before)
    if name != "clustered":
        # By clustering columns Spark lays the rows out anew.
        spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
        assert newest(path)[0] == version + 1
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id = 5")
    spark.sql(f"UPDATE {delta_table(path)} SET n = -1 WHERE id = 6")
    wanted = spark_table(spark, path)
    assert wanted.num_rows == before.num_rows - 1
    assert_same_rows(rows_without_variants(path), wanted.select(names_without_variants(path)))


def names_without_variants(path):
    """Spark gives variants to Arrow in a form of its own."""
    return [field.name for field in DeltaTable(path).schema().fields if str(field.type) != VARIANT]


def rows_without_variants(path):
    return DeltaTable(path).to_pyarrow_table(columns=names_without_variants(path))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name != "everything"))
        for name in ("plain", "vectors", "everything")
    ],
)
def test_history_is_that_of_spark(spark, tmp_path, name):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, name)
    shutil.copytree(theirs, ours)
    condition = {"everything": "p = '1'"}.get(name)
    where = f" WHERE {condition}" if condition else ""
    spark.sql(f"OPTIMIZE {delta_table(theirs)}{where}").collect()
    DeltaTable(ours).optimize.compact(predicate=condition)
    wanted, found = newest(theirs), newest(ours)
    assert wanted[0] == found[0]
    (spark_commit, commit) = (each[1] for each in (wanted, found))
    for key in ("operation", "isolationLevel", "isBlindAppend", "tags", "readVersion"):
        assert commit.get(key) == spark_commit.get(key), key
    parameters = dict(spark_commit["operationParameters"])
    if condition:
        # Spark prints an unresolved name with a tick before it.
        parameters["predicate"] = parameters["predicate"].replace("'p", "p").replace("= 1", "= '1'")
    assert dict(commit["operationParameters"]) == parameters
    assert commit["operationMetrics"].keys() == spark_commit["operationMetrics"].keys()
    for key in ("numAddedFiles", "numRemovedFiles", "numRemovedBytes", "numDeletionVectorsRemoved"):
        assert commit["operationMetrics"][key] == spark_commit["operationMetrics"][key], key
    assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))


def test_actions_are_those_of_spark(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, "everything")
    shutil.copytree(theirs, ours)
    spark.sql(f"OPTIMIZE {delta_table(theirs)}").collect()
    DeltaTable(ours).optimize.compact()

    def members(path):
        log = path / "_delta_log" / f"{DeltaTable(path).version():020d}.json"
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        return sorted(
            (kind, tuple(sorted(body)), body["dataChange"], body.get("baseRowId"))
            for action in actions
            for kind, body in action.items()
            if kind in ("add", "remove")
        )

    wanted, found = members(theirs), members(ours)
    assert [each for each in found if each[0] == "remove"] == [each for each in wanted if each[0] == "remove"]
    assert [each[:3] for each in found] == [each[:3] for each in wanted]


def test_row_ids_are_those_of_before(spark, tmp_path):
    path = tmp_path / "t"
    make(spark, path, "everything")
    columns = "id, _metadata.row_id AS row_id, _metadata.row_commit_version AS version"
    query = f"SELECT {columns} FROM {delta_table(path)}"
    before = spark_rows(spark.sql(query))
    DeltaTable(path).optimize.compact()
    assert_same_rows(spark_rows(spark.sql(query)), before)
    found = DeltaTable(path).to_pyarrow_table(columns=["id", ROW_ID, ROW_COMMIT_VERSION])
    assert_same_rows(found.rename_columns(["id", "row_id", "version"]), before)


def test_a_deletion_of_spark_meanwhile_is_carried_over(spark, tmp_path):
    path = tmp_path / "t"
    make(spark, path, "everything")
    query = f"SELECT *, _metadata.row_id AS row_id FROM {delta_table(path)} WHERE id NOT IN (4, 11, 20)"
    wanted = spark_rows(spark.sql(query))
    statements = [
        f"DELETE FROM {delta_table(path)} WHERE id IN (4, 11)",
        f"DELETE FROM {delta_table(path)} WHERE id = 20",
    ]

    def act(done, total):
        while statements:
            spark.sql(statements.pop(0))

    version = DeltaTable(path).version()
    rewriting(DeltaTable(path)).run(act)
    assert newest(path)[0] == version + 3
    assert_same_rows(spark_rows(spark.sql(query)), wanted)
    assert spark_table(spark, path).num_rows == wanted.num_rows
    names = names_without_variants(path)
    assert_same_rows(rows_without_variants(path), spark_table(spark, path).select(names))
    changes = (
        spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version + 1)
    )
    assert sorted(row["id"] for row in changes.load(str(path)).collect()) == [4, 11, 20]


@pytest.mark.slow
def test_what_we_write_spark_does_not_compact_again(spark, tmp_path):
    path = tmp_path / "t"
    changed_table(path, {"delta.enableDeletionVectors": "true"})
    write_deltalake(path, pa.table({"id": [500]}), mode="append", schema_mode="merge")
    DeltaTable(path).optimize.compact()
    version = newest(path)[0]
    spark.sql(f"OPTIMIZE {delta_table(path)}").collect()
    assert newest(path)[0] == version
    columns = ", ".join(names_without_variants(path))
    wanted = spark_rows(spark.sql(f"SELECT {columns} FROM {delta_table(path)}"))
    assert_same_rows(rows_without_variants(path), wanted)


def test_purging_is_that_of_spark(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    # Spark takes the parts of our variants, which have no annotation, for columns that the table has not.
    make(spark, theirs, "everything but variants")
    spark.sql(f"ALTER TABLE {delta_table(theirs)} DROP COLUMN s.x")
    shutil.copytree(theirs, ours)
    spark.sql(f"REORG TABLE {delta_table(theirs)} APPLY (PURGE)").collect()
    DeltaTable(ours).optimize.purge()
    (version, commit), (_, spark_commit) = newest(ours), newest(theirs)
    for key in ("operation", "operationParameters", "isolationLevel", "tags"):
        assert commit.get(key) == spark_commit.get(key), key
    for key in ("numAddedFiles", "numRemovedFiles", "numRemovedBytes", "numDeletionVectorsRemoved"):
        assert commit["operationMetrics"][key] == spark_commit["operationMetrics"][key], key
    assert_same_rows(spark_table(spark, ours), spark_table(spark, theirs))
    spark.sql(f"REORG TABLE {delta_table(ours)} APPLY (PURGE)").collect()
    assert newest(ours)[0] == version
    assert DeltaTable(theirs).optimize.purge(dry_run=True).num_files == 0
