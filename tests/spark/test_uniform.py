"""The upgrade to Iceberg compatibility beside Spark: the commits of both, and Spark going on with ours."""

import json
import shutil

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_table, spark_rows, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("icebergCompatV2"),
]

FORMATS = "delta.universalFormat.enabledFormats"
COLUMNS = "id BIGINT, s STRUCT<x: INT, l: ARRAY<MAP<STRING, INT>>>, at TIMESTAMP, p STRING"
VALUES = (
    "id, named_struct('x', CAST(id AS INT), 'l', array(map('k', 1))),"
    " TIMESTAMP '2026-01-01 00:00:00.5', CAST(id % 2 AS STRING)"
)
TABLES = {
    "vectors": {"enableDeletionVectors": "true"},
    "old protocol": {"enableDeletionVectors": "false"},
    "mapped": {"columnMapping__mode": "name", "appendOnly": "true"},
    "row ids": {
        "enableDeletionVectors": "true",
        "enableRowTracking": "true",
        "enableChangeDataFeed": "true",
        "enableInCommitTimestamps": "true",
        "checkpointPolicy": "v2",
    },
}


def upgrade(spark, path, version=2):
    text = f"REORG TABLE {delta_table(path)} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = {version}))"
    spark.sql(text).collect()


def make(spark, path, properties, columns=COLUMNS, values=VALUES, clauses="PARTITIONED BY (p)"):
    name = create_table(spark, path, columns, clauses, **properties)
    for first in (0, 10):
        spark.sql(f"INSERT INTO {name} SELECT {values} FROM range({first}, {first + 10}, 1, 1)")
    if properties.get("enableDeletionVectors") == "true":
        spark.sql(f"DELETE FROM {name} WHERE id % 7 = 3")
    return name


def commits(path, first):
    """The actions of each commit from a version on, by their kinds."""
    found = []
    for version in range(first, DeltaTable(path).version() + 1):
        text = (path / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
        actions = {}
        for line in text.splitlines():
            ((kind, body),) = json.loads(line).items()
            actions.setdefault(kind, []).append(body)
        found.append(actions)
    return found


def rules(actions):
    """What the commit of the properties says, without what differs by nature."""
    (commit,), (metadata,) = actions["commitInfo"], actions["metaData"]
    protocol = {
        key: sorted(each) if isinstance(each, list) else each
        for body in actions.get("protocol", [])
        for key, each in body.items()
    }
    return {
        "operation": commit["operation"],
        "properties": json.loads(commit["operationParameters"]["properties"]),
        "isBlindAppend": commit["isBlindAppend"],
        "configuration": metadata["configuration"],
        "schema": json.loads(metadata["schemaString"]),
        "partitionColumns": metadata["partitionColumns"],
        "protocol": protocol,
        "kinds": sorted(actions),
    }


def rewrite(actions):
    """What the commit of the files says, likewise."""
    (commit,) = actions["commitInfo"]
    counts = ("numAddedFiles", "numRemovedFiles", "numRemovedBytes", "numDeletionVectorsRemoved")
    added = [
        (body["tags"], body["dataChange"], body["partitionValues"], json.loads(body["stats"])["numRecords"])
        for body in actions["add"]
    ]
    return {
        **{key: commit.get(key) for key in ("operation", "operationParameters", "isolationLevel", "tags")},
        **{key: commit["operationMetrics"][key] for key in counts},
        "added": sorted(added, key=str),
        "removed": sorted(body["path"] for body in actions["remove"]),
        "kinds": sorted(actions),
    }


@pytest.mark.parametrize(
    "name",
    [
        "row ids",
        pytest.param("vectors", marks=pytest.mark.slow),
        pytest.param("old protocol", marks=pytest.mark.slow),
        pytest.param("mapped", marks=pytest.mark.slow),
    ],
)
def test_upgrade_is_that_of_spark_without_its_last_commit(spark, tmp_path, name):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, TABLES[name])
    shutil.copytree(theirs, ours)
    columns = "*, _metadata.row_id AS row_id" if name == "row ids" else "*"
    before = spark_rows(spark.sql(f"SELECT {columns} FROM {delta_table(ours)}"))
    first = DeltaTable(ours).version() + 1
    upgrade(spark, theirs)
    DeltaTable(ours).optimize.upgrade_uniform()
    (wanted_rules, wanted_files, last), found = commits(theirs, first), commits(ours, first)
    assert [rules(found[0]), rewrite(found[1])] == [rules(wanted_rules), rewrite(wanted_files)]
    assert len(found) == 2
    assert last["commitInfo"][0]["operationParameters"] == {
        "properties": json.dumps({FORMATS: "iceberg"}, separators=(",", ":"))
    }
    assert_same_rows(spark_rows(spark.sql(f"SELECT {columns} FROM {delta_table(ours)}")), before)
    check_engines(spark, ours)
    # Spark goes on with the files, and finds none left to rewrite.
    spark.sql(f"INSERT INTO {delta_table(ours)} SELECT {VALUES} FROM range(50, 53, 1, 1)")
    assert DeltaTable(ours).optimize.upgrade_uniform(dry_run=True).num_files == 0
    version = DeltaTable(ours).version()
    upgrade(spark, ours)
    (enabled,) = commits(ours, version + 1)
    assert rules(enabled)["properties"] == {FORMATS: "iceberg"}
    assert spark_table(spark, ours).num_rows == before.num_rows + 3


def test_what_spark_has_left_of_an_upgrade_is_done(spark, tmp_path):
    """Spark sets the rules alone; files from before have no tag."""
    name = make(spark, tmp_path / "t", {"columnMapping__mode": "name"})
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true')")
    spark.sql(f"INSERT INTO {name} SELECT {VALUES} FROM range(50, 53, 1, 1)")
    before = spark_table(spark, tmp_path / "t")
    metrics = DeltaTable(tmp_path / "t").optimize.upgrade_uniform()
    assert metrics["numFilesRemoved"] == 4
    assert_same_rows(check_engines(spark, tmp_path / "t"), before)


@pytest.mark.slow
def test_table_of_which_spark_keeps_iceberg_metadata_is_not_written(spark, tmp_path):
    make(spark, tmp_path / "t", {"enableDeletionVectors": "true"})
    upgrade(spark, tmp_path / "t")
    table = DeltaTable(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match=FORMATS):
        table.optimize.upgrade_uniform()
    check_engines(spark, tmp_path / "t")


REFUSED = {
    "version 3": (("id BIGINT", {}), 3, UnsupportedFeatureError),
    "version 0": (("id BIGINT", {}), 0, UnsupportedFeatureError),
    "variant": (("id BIGINT, v VARIANT", {}), 2, SchemaMismatchError),
    "void": (("id BIGINT, v VOID", {}), 2, SchemaMismatchError),
    "mapped by id": (("id BIGINT", {"columnMapping__mode": "id"}), 2, InvalidTablePropertyError),
    "under version 3": (("id BIGINT", {"enableIcebergCompatV3": "true"}), 2, InvalidTablePropertyError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_refuses_is_refused(spark, tmp_path, name):
    (columns, properties), version, error = REFUSED[name]
    create_table(spark, tmp_path / "t", columns, **properties)
    table = DeltaTable(tmp_path / "t")
    with pytest.raises(Exception, match=r"Unsupported|DELTA_|cannot be disabled"):
        upgrade(spark, tmp_path / "t", version)
    with pytest.raises(error):
        table.optimize.upgrade_uniform(version)
    assert DeltaTable(tmp_path / "t").version() == 0
