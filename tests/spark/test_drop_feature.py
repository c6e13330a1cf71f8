"""DROP FEATURE beside Spark: the same commits, the same refusals, and Spark reads the table and goes on."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import DeltaError, FeatureDropError, SchemaMismatchError, UnsupportedFeatureError
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_table, make_once, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PLAIN = "id BIGINT, n INT"
NESTED = "id BIGINT, s STRUCT<a: INT, `b c`: STRING>, m MAP<STRING, STRUCT<x: INT>>, p STRING"
NESTED_ROWS = (
    "INSERT INTO {t} SELECT id, named_struct('a', CAST(id AS INT), 'b c', 'x'),"
    " map('k', named_struct('x', 1)), IF(id % 3 = 0, NULL, CAST(id % 2 AS STRING)) FROM range(0, 10, 1, 1)"
)
ROWS = tuple(
    f"INSERT INTO {{t}} SELECT id, CAST(id AS INT) FROM range({first}, {first + 10}, 1, 1)"
    for first in (0, 10)
)
DELETE = "DELETE FROM {t} WHERE id IN (3, 13)"
UPDATE = "UPDATE {t} SET n = 5 WHERE id = 3"
WIDEN = "ALTER TABLE {t} ALTER COLUMN {column} TYPE {type}"
SET = "ALTER TABLE {t} SET TBLPROPERTIES ('{name}' = '{text}')"
WIDENED = (
    "INSERT INTO {t} SELECT id, named_struct('a', CAST(id AS SMALLINT), 'b', array(CAST(id AS INT))),"
    " DATE'2020-01-01', CAST(1.5 AS FLOAT), CAST(id % 2 AS INT) FROM range(0, 10, 1, 1)",
    *(
        f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {name}"
        for column, name in (
            ("s.a", "INT"),
            ("s.a", "BIGINT"),
            ("s.b.element", "BIGINT"),
            ("f", "DOUBLE"),
            ("p", "BIGINT"),
        )
    ),
)
CONSTRAINT = ("ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)", "ALTER TABLE {t} DROP CONSTRAINT c")

TABLES = {
    "constraints": ("checkConstraints", PLAIN, "", {}, (*ROWS, *CONSTRAINT)),
    "versions without lists": ("checkConstraints", PLAIN, "", {"minWriterVersion": "4"}, ROWS),
    "times": ("inCommitTimestamp", PLAIN, "", {"enableInCommitTimestamps": "true"}, ROWS),
    "times of later": (
        "inCommitTimestamp",
        PLAIN,
        "",
        {},
        (*ROWS, SET.format(t="{t}", name="delta.enableInCommitTimestamps", text="true")),
    ),
    "vectors": ("deletionVectors", PLAIN, "", {"enableDeletionVectors": "true"}, (*ROWS, DELETE)),
    "vectors in partitions": (
        "deletionVectors",
        PLAIN,
        "PARTITIONED BY (n)",
        {"enableDeletionVectors": "true", "checkpointPolicy": "v2", "checkpointInterval": "2"},
        ("INSERT INTO {t} SELECT id, CAST(id % 2 AS INT) FROM range(0, 20, 1, 1)", DELETE),
    ),
    "vectors enabled": ("deletionVectors", PLAIN, "", {"enableDeletionVectors": "true"}, ROWS),
    "no vectors": ("deletionVectors", PLAIN, "", {"feature__deletionVectors": "supported"}, ROWS),
    "vacuum": ("vacuumProtocolCheck", PLAIN, "", {"feature__vacuumProtocolCheck": "supported"}, ROWS),
    "v2": ("v2Checkpoint", PLAIN, "", {"checkpointPolicy": "v2", "checkpointInterval": "2"}, ROWS),
    "no v2": ("v2Checkpoint", PLAIN, "", {"feature__v2Checkpoint": "supported"}, ROWS),
    "domains": ("domainMetadata", PLAIN, "", {"feature__domainMetadata": "supported"}, ROWS),
    "rows": ("rowTracking", PLAIN, "", {"enableRowTracking": "true"}, (*ROWS, UPDATE)),
    "rows and vectors": (
        "rowTracking",
        PLAIN,
        "",
        {"enableRowTracking": "true", "enableDeletionVectors": "true"},
        (*ROWS, DELETE),
    ),
    "rows of none": ("rowTracking", PLAIN, "", {"enableRowTracking": "true"}, ()),
    "rows not enabled": ("rowTracking", PLAIN, "", {"feature__rowTracking": "supported"}, ROWS),
    "names": ("columnMapping", PLAIN, "", {"columnMapping__mode": "name"}, ROWS),
    "names without lists": (
        "columnMapping",
        PLAIN,
        "",
        {"columnMapping__mode": "name", "minReaderVersion": "2", "minWriterVersion": "5"},
        ROWS,
    ),
    "ids": (
        "columnMapping",
        NESTED,
        "PARTITIONED BY (p)",
        {"columnMapping__mode": "id"},
        (
            NESTED_ROWS,
            "ALTER TABLE {t} RENAME COLUMN p TO q",
            "ALTER TABLE {t} RENAME COLUMN s.`b c` TO z",
        ),
    ),
    "names, rows and vectors": (
        "columnMapping",
        PLAIN,
        "",
        {"columnMapping__mode": "name", "enableRowTracking": "true", "enableDeletionVectors": "true"},
        (*ROWS, DELETE),
    ),
    "names of none": ("columnMapping", PLAIN, "", {"columnMapping__mode": "name"}, ()),
    "names of clusters": ("columnMapping", PLAIN, "CLUSTER BY (id)", {"columnMapping__mode": "name"}, ROWS),
    "wide": (
        "typeWidening",
        PLAIN,
        "",
        {"enableTypeWidening": "true"},
        (*ROWS, "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT", ROWS[0]),
    ),
    "wide inside": (
        "typeWidening",
        "id BIGINT, s STRUCT<a: SMALLINT, b: ARRAY<INT>>, d DATE, f FLOAT, p INT",
        "PARTITIONED BY (p)",
        {"enableTypeWidening": "true"},
        WIDENED,
    ),
    "not wide": ("typeWidening", PLAIN, "", {"enableTypeWidening": "true"}, ROWS),
    "preview": ("typeWidening-preview", PLAIN, "", {"feature__typeWidening-preview": "supported"}, ROWS),
    "partitions": (
        "materializePartitionColumns",
        PLAIN,
        "PARTITIONED BY (n)",
        {"enableMaterializePartitionColumnsFeature": "true"},
        ROWS,
    ),
}
EVERY_DAY = {"times of later"}
TRUNCATED = (
    *("vectors", "names", "wide", "not wide", "v2"),
    *("no v2", "vacuum", "no vectors", "vectors enabled", "constraints", "times"),
)


def make_with_spark(spark, path, name):
    _, columns, layout, properties, statements = TABLES[name]
    table = create_table(spark, path, columns, layout, **properties)
    for statement in statements:
        spark.sql(statement.format(t=table))


def two(spark, folder, name):
    """A table of Spark's, twice: for Spark and for us."""
    make_once(spark, folder / "spark", make_with_spark, name)
    shutil.copytree(folder / "spark", folder / "ours")
    return folder / "spark", folder / "ours"


def drop_with_spark(spark, path, feature, suffix=""):
    """Drop the feature; return the error class if Spark refuses."""
    try:
        spark.sql(f"ALTER TABLE {delta_table(path)} DROP FEATURE `{feature}` {suffix}")
    except Exception as error:
        found = re.search(r"\[?(DELTA_\w+)", str(error))
        assert found, str(error)
        return found[1]
    return None


def drop(path, feature, truncate_history=False):
    """Drop the feature; return the error class if we refuse."""
    table = DeltaTable(path)
    try:
        table.alter.drop_feature(feature, truncate_history)
    except FeatureDropError as error:
        return error.error_class
    finally:
        assert table.version() == DeltaTable(path).version()
    return None


VARYING = {
    "commitInfo": ("timestamp", "engineInfo", "txnId", "inCommitTimestamp"),
    "metaData": ("id", "createdTime"),
    "add": ("path", "size", "modificationTime", "deletionVector"),
    # Spark leaves out statistics, and NULL partition values where it reads an action back.
    "remove": ("path", "size", "deletionTimestamp", "deletionVector", "stats", "partitionValues"),
}


def commits(path: Path, first: int) -> list[list[str]]:
    """The commits from a version on, each as its actions in any order, without ids, paths and times."""
    names = sorted(name for name in os.listdir(path / "_delta_log") if re.fullmatch(r"\d{20}\.json", name))
    lines = [
        (path / "_delta_log" / name).read_text().splitlines() for name in names if int(name[:20]) >= first
    ]
    return [sorted(json.dumps(normal(json.loads(line)), sort_keys=True) for line in each) for each in lines]


def normal(action):
    [(key, body)] = action.items()
    body = {name: value for name, value in body.items() if name not in VARYING.get(key, ())}
    if key == "commitInfo":
        metrics = body.get("operationMetrics", {})
        # Sizes depend on who writes Parquet.
        body["operationMetrics"] = {n: v for n, v in metrics.items() if "Bytes" not in n and "Size" not in n}
        parameters = body["operationParameters"]
        if "newProtocol" in parameters:
            told = json.loads(parameters["newProtocol"])
            parameters["newProtocol"] = {
                name: sorted(f) if isinstance(f, list) else f for name, f in told.items()
            }
    if key == "add":
        body["stats"] = json.loads(body["stats"])
        # Which of several new files comes first is up to threads.
        body["baseRowId"] = "some" if "baseRowId" in body else "none"
    if key == "protocol":
        for name in ("readerFeatures", "writerFeatures"):
            body[name] = sorted(body.get(name, ()))
    if key == "metaData":
        body["schemaString"] = json.loads(body["schemaString"])
    return {key: body}


def assert_spark_goes_on(spark, path, wanted):
    assert_same_rows(check_engines(spark, path), wanted)
    spark.sql(f"DESCRIBE DETAIL {delta_table(path)}").collect()
    spark.sql(f"DELETE FROM {delta_table(path)} WHERE id = 5")
    left = [value for value in wanted.column("id").to_pylist() if value != 5]
    assert sorted(DeltaTable(path).to_pyarrow_table().column("id").to_pylist()) == sorted(left)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.slow) for name in TABLES],
)
def test_the_commits_are_those_of_spark(spark, tmp_path, name):
    feature = TABLES[name][0]
    theirs, ours = two(spark, tmp_path, name)
    if name == "domains":
        for path in (theirs, ours):
            DeltaTable(path).alter.set_domain_metadata("mine", "1")
    before, wanted = DeltaTable(ours), spark_table(spark, ours)
    plan = before.alter.drop_feature(feature, dry_run=True)
    assert DeltaTable(ours).version() == before.version()

    assert drop_with_spark(spark, theirs, feature) is None
    assert drop(ours, feature) is None

    made, first = commits(ours, before.version() + 1), before.version() + 1
    if name == "names of clusters":
        # Spark leaves the physical names of columns that are gone, and cannot describe the table any more.
        made[0] = [each for each in made[0] if "domainMetadata" not in each]
    assert made == commits(theirs, first)
    operations = [entry["operation"] for entry in reversed(DeltaTable(ours).history(len(made)))]
    assert list(plan.operations) == operations
    for version in range(before.version() + 1):
        assert_same_rows(*(DeltaTable(each, version=version).to_pyarrow_table() for each in (ours, theirs)))
    assert_same_rows(spark_table(spark, ours, before.version()), wanted)
    assert_spark_goes_on(spark, ours, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUNCATED)
def test_history_is_truncated_as_by_spark(spark, tmp_path, name):
    """Once while its versions are young, and once after they have expired."""
    feature = TABLES[name][0]
    theirs, ours = two(spark, tmp_path, name)
    first, wanted = DeltaTable(ours).version() + 1, spark_table(spark, ours)
    for _ in range(2):
        refused = drop_with_spark(spark, theirs, feature, "TRUNCATE HISTORY")
        assert drop(ours, feature, truncate_history=True) == refused
        assert commits(ours, first) == commits(theirs, first)
        if refused is None:
            break
    expire(spark, theirs, ours)
    if refused is not None:
        version = DeltaTable(ours).version()
        refused = drop_with_spark(spark, theirs, feature, "TRUNCATE HISTORY")
        assert drop(ours, feature, truncate_history=True) == refused
        assert commits(ours, version + 1) == commits(theirs, version + 1)
    assert_spark_goes_on(spark, ours, wanted)


def expire(spark, *tables):
    """Make the log of each table look as if it were written two days ago, a second a version."""
    for path in tables:
        for file in (path / "_delta_log").iterdir():
            if file.is_file() and file.name[:20].isdigit():
                at = time.time() - 49 * 3600 + int(file.name[:20])
                os.utime(file, (at, at))
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.mark.slow
def test_checkpoint_protection_is_dropped_as_by_spark(spark, tmp_path):
    theirs, ours = two(spark, tmp_path, "no vectors")
    for path in (theirs, ours):
        drop(path, "deletionVectors")
    name, first = "checkpointProtection", DeltaTable(ours).version() + 1
    assert drop(ours, name) == drop_with_spark(spark, theirs, name)
    assert drop(ours, name, truncate_history=True) == drop_with_spark(spark, theirs, name, "TRUNCATE HISTORY")
    expire(spark, theirs, ours)
    assert drop(ours, name, truncate_history=True) == drop_with_spark(spark, theirs, name, "TRUNCATE HISTORY")
    assert commits(ours, first + 1) == commits(theirs, first + 1)
    left = DeltaTable(ours).protocol()
    assert (left.min_reader_version, left.min_writer_version) == (1, 2)
    check_engines(spark, ours)


REFUSED = [
    ({}, "", "nope", ""),
    ({}, "CLUSTER BY (id)", "clustering", ""),
    ({"minWriterVersion": "3"}, "", "checkConstraints", "TRUNCATE HISTORY"),
    ({}, "", "appendOnly", ""),
    ({}, "", "deletionVectors", ""),
    ({}, "", "delta.enableDeletionVectors", ""),
    ({"enableRowTracking": "true"}, "", "domainMetadata", ""),
    ({}, "CLUSTER BY (id)", "domainMetadata", ""),
    ({"feature__checkpointProtection": "supported"}, "", "checkpointProtection", ""),
]
"""Three reasons, and others for the slow tests."""


@pytest.mark.parametrize(
    ("properties", "clauses", "feature", "suffix"),
    [pytest.param(*each, marks=[pytest.mark.slow] * (place > 2)) for place, each in enumerate(REFUSED)],
)
def test_what_spark_refuses_is_refused(spark, tmp_path, properties, clauses, feature, suffix):
    create_table(spark, tmp_path, PLAIN, clauses, **properties)
    refused = drop_with_spark(spark, tmp_path, feature, suffix)
    assert refused is not None
    assert drop(tmp_path, feature, truncate_history=bool(suffix)) == refused
    assert DeltaTable(tmp_path).version() == 0


def test_names_that_need_column_mapping_are_refused_as_by_spark(spark, tmp_path):
    create_table(spark, tmp_path, "id BIGINT, `a b` INT", columnMapping__mode="name")
    refused = drop_with_spark(spark, tmp_path, "columnMapping")
    with pytest.raises(SchemaMismatchError, match=refused):
        DeltaTable(tmp_path).alter.drop_feature("columnMapping")


@pytest.mark.slow
@pytest.mark.parametrize("change", ["set", "set with another", "unset"])
def test_column_mapping_ends_by_a_property_as_in_spark(spark, tmp_path, change):
    theirs, ours = two(spark, tmp_path, "names")
    first, wanted = DeltaTable(ours).version() + 1, spark_table(spark, ours)
    alter = DeltaTable(ours).alter
    if change == "unset":
        spark.sql(f"ALTER TABLE {delta_table(theirs)} UNSET TBLPROPERTIES ('delta.columnMapping.mode')")
        alter.unset_table_properties("delta.columnMapping.mode")
    else:
        given = {"delta.columnMapping.mode": "none"}
        if change != "set":
            given["delta.appendOnly"] = "true"
        listed = ", ".join(f"'{name}' = '{text}'" for name, text in given.items())
        spark.sql(f"ALTER TABLE {delta_table(theirs)} SET TBLPROPERTIES ({listed})")
        alter.set_table_properties(given)
    assert commits(ours, first) == commits(theirs, first)
    assert_same_rows(check_engines(spark, ours), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["coordinatedCommits-preview", "geospatial-dev"])
@pytest.mark.xfail(
    raises=UnsupportedFeatureError,
    strict=True,
    reason="this release neither writes tables with a coordinator nor reads tables with geometries",
)
def test_what_only_spark_drops(spark, tmp_path, feature):
    create_table(spark, tmp_path / "t", PLAIN, **{f"feature__{feature}": "supported"})
    shutil.copytree(tmp_path / "t", tmp_path / "theirs")
    assert drop_with_spark(spark, tmp_path / "theirs", feature) is None
    DeltaTable(tmp_path / "t").alter.drop_feature(feature)


HIDDEN = re.compile(r"_row-(id|commit-version)-col-[0-9a-f-]+")


def with_hidden_columns(made):
    """Commits in which the hidden columns of row tracking have other names in each table."""
    return [[HIDDEN.sub("hidden", line) for line in each] for each in made]


@pytest.mark.slow
@pytest.mark.parametrize("properties", [{}, {"delta.appendOnly": "false"}])
@pytest.mark.parametrize("name", ["vectors", "constraints"])
def test_row_ids_are_given_to_an_old_table_as_by_spark(spark, tmp_path, name, properties):
    theirs, ours = two(spark, tmp_path, name)
    first, given = DeltaTable(ours).version() + 1, {"delta.enableRowTracking": "true", **properties}
    listed = ", ".join(f"'{key}' = '{text}'" for key, text in given.items())
    spark.sql(f"ALTER TABLE {delta_table(theirs)} SET TBLPROPERTIES ({listed})")
    DeltaTable(ours).alter.set_table_properties(given)
    made, wanted = (with_hidden_columns(commits(path, first)) for path in (ours, theirs))
    assert made == wanted


ADDED = (
    *("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping"),
    *("identityColumns", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
    *("typeWidening", "variantType", "domainMetadata", "rowTracking", "allowColumnDefaults"),
    *("inCommitTimestamp", "checkpointProtection", "materializePartitionColumns", "icebergCompatV1"),
    *("icebergCompatV2", "icebergCompatV3", "clustering", "catalogManaged"),
)


@pytest.mark.slow
def test_features_are_added_as_by_spark(spark, tmp_path):
    create_table(spark, tmp_path / "t", PLAIN)
    for feature in ADDED:
        theirs, ours = tmp_path / f"{feature}-spark", tmp_path / f"{feature}-ours"
        for path in (theirs, ours):
            shutil.copytree(tmp_path / "t", path)
        refused = False
        try:
            spark.sql(SET.format(t=delta_table(theirs), name=f"delta.feature.{feature}", text="supported"))
        except Exception:
            refused = True
        try:
            DeltaTable(ours).alter.add_feature(feature, allow_protocol_versions_increase=True)
        except DeltaError:
            assert refused, feature
        made, wanted = (with_hidden_columns(commits(path, 1)) for path in (ours, theirs))
        if feature in ("appendOnly", "invariants"):
            # The table has them; Spark writes the same protocol again.
            wanted[0] = [each for each in wanted[0] if '{"protocol"' not in each]
        assert made == wanted, feature
