"""The upgrade to Iceberg compatibility beside Spark: the commits of both, and Spark going on with ours."""

import json
import shutil

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError
from tests.support.iceberg import iceberg_rows
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
        "old protocol",
        pytest.param("vectors", marks=pytest.mark.slow),
        pytest.param("row ids", marks=pytest.mark.slow),
        pytest.param("mapped", marks=pytest.mark.slow),
    ],
)
def test_upgrade_is_that_of_spark(spark, tmp_path, name):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    make(spark, theirs, TABLES[name])
    shutil.copytree(theirs, ours)
    columns = "*, _metadata.row_id AS row_id" if name == "row ids" else "*"
    before = spark_rows(spark.sql(f"SELECT {columns} FROM {delta_table(ours)}"))
    first = DeltaTable(ours).version() + 1
    upgrade(spark, theirs)
    DeltaTable(ours).optimize.upgrade_uniform()
    (wanted_rules, wanted_files, last), found = commits(theirs, first), commits(ours, first)
    assert [rules(found[0]), rewrite(found[1]), rules(found[2])] == [
        rules(wanted_rules),
        rewrite(wanted_files),
        rules(last),
    ]
    assert len(found) == 3
    assert_same_rows(spark_rows(spark.sql(f"SELECT {columns} FROM {delta_table(ours)}")), before)
    assert_same_rows(iceberg_rows(DeltaTable(ours)), check_engines(spark, ours))
    # Spark goes on with the files, and finds none left to rewrite. It writes no Iceberg metadata without
    # Delta's library for it; our next commit takes its changes up.
    spark.sql(f"INSERT INTO {delta_table(ours)} SELECT {VALUES} FROM range(50, 53, 1, 1)")
    if name != "mapped":  # which is appendOnly
        spark.sql(f"DELETE FROM {delta_table(ours)} WHERE id = 4")
    table = DeltaTable(ours)
    assert table.optimize.upgrade_uniform(dry_run=True).num_files == 0
    assert table.optimize.upgrade_uniform()["numFilesRemoved"] == 0
    assert (ours / "metadata" / "version-hint.text").read_text() == str(first + 2)
    if name != "mapped":
        table.update({"p": "'9'"}, predicate="id = 6")
    else:
        table.alter.set_table_properties({"owner": "me"})
    assert_same_rows(iceberg_rows(table), spark_table(spark, ours))


@pytest.mark.slow
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
def test_table_that_spark_has_upgraded_is_written_and_read_as_iceberg(spark, tmp_path):
    """Its files, with row ids that have no field ids, are those of Spark."""
    make(spark, tmp_path / "t", TABLES["row ids"])
    upgrade(spark, tmp_path / "t")
    spark.sql(f"UPDATE {delta_table(tmp_path / 't')} SET s.x = 7 WHERE id = 6")
    table = DeltaTable(tmp_path / "t")
    table.delete("id = 8")
    assert_same_rows(iceberg_rows(table), check_engines(spark, tmp_path / "t"))


def test_metadata_without_the_rules_is_refused_as_by_spark(spark, tmp_path):
    create_table(spark, tmp_path / "t", "id BIGINT")
    name, table = delta_table(tmp_path / "t"), DeltaTable(tmp_path / "t")
    with pytest.raises(Exception, match="DELTA_UNIVERSAL_FORMAT_VIOLATION"):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FORMATS}' = 'iceberg')")
    with pytest.raises(InvalidTablePropertyError, match="DELTA_UNIVERSAL_FORMAT_VIOLATION"):
        table.alter.set_table_properties({FORMATS: "iceberg"})
    assert DeltaTable(tmp_path / "t").version() == 0


def test_rules_that_are_switched_off_take_the_metadata_with_them_as_in_spark(spark, tmp_path):
    create_table(spark, tmp_path / "a", "id BIGINT", enableIcebergCompatV2="true")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    rules_off = {"delta.enableIcebergCompatV2": "false"}
    name = delta_table(tmp_path / "a")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FORMATS}' = 'iceberg')")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'false')")
    DeltaTable(tmp_path / "b").alter.set_table_properties({FORMATS: "iceberg"})
    DeltaTable(tmp_path / "b").alter.set_table_properties(rules_off)
    found, wanted = commits(tmp_path / "b", 1), commits(tmp_path / "a", 1)
    for key in ("operation", "properties", "configuration"):
        assert [rules(each)[key] for each in found] == [rules(each)[key] for each in wanted]


REFUSED = {
    "version 3": (("id BIGINT", {}), 3, UnsupportedFeatureError),
    "version 0": (("id BIGINT", {}), 0, UnsupportedFeatureError),
    "variant": (("id BIGINT, v VARIANT", {}), 2, SchemaMismatchError),
    "void": (("id BIGINT, v VOID", {}), 2, SchemaMismatchError),
    "mapped by id": (("id BIGINT", {"columnMapping__mode": "id"}), 2, InvalidTablePropertyError),
    "under version 3": (("id BIGINT", {"enableIcebergCompatV3": "true"}), 2, InvalidTablePropertyError),
}


@pytest.mark.parametrize(
    "name",
    [
        # `tests/operations/optimize/test_uniform.py` has our refusals.
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("version 3", "variant")))
        for name in REFUSED
    ],
)
def test_what_spark_refuses_is_refused(spark, tmp_path, name):
    (columns, properties), version, error = REFUSED[name]
    create_table(spark, tmp_path / "t", columns, **properties)
    table = DeltaTable(tmp_path / "t")
    with pytest.raises(Exception, match=r"Unsupported|DELTA_|cannot be disabled"):
        upgrade(spark, tmp_path / "t", version)
    with pytest.raises(error):
        table.optimize.upgrade_uniform(version)
    assert DeltaTable(tmp_path / "t").version() == 0
