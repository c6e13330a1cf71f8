"""Spark's ALTER TABLE and `table.alter` make the same changes; Spark continues with our table."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_table, spark_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

COLUMNS = "id BIGINT NOT NULL, s STRUCT<x: INT, y: STRING>, a ARRAY<STRUCT<i: INT>>, p STRING, k INT"
ROW = "({0}, named_struct('x', {0}, 'y', 'a'), array(named_struct('i', {0})), '{1}', {0})"
INT = da.PrimitiveType("integer")
IN_STRUCT = da.Field("s", da.StructType([da.Field("w z", "integer")]))
IN_ARRAY = da.Field("a", da.ArrayType(da.StructType([da.Field("j", "integer")])))


def set_properties(**properties):
    """The statement and the call that set properties; ``__`` in the names stands for a dot."""
    given = {f"delta.{name.replace('__', '.')}": text for name, text in properties.items()}
    listed = ", ".join(f"'{name}' = '{text}'" for name, text in given.items())
    return f"SET TBLPROPERTIES ({listed})", lambda alter: alter.set_table_properties(given)


STEPS = [
    set_properties(appendOnly="true", LOGRETENTIONDURATION="interval 40 days", minWriterVersion="3"),
    (
        "UNSET TBLPROPERTIES ('delta.appendOnly')",
        lambda alter: alter.unset_table_properties("delta.appendOnly"),
    ),
    ("ADD CONSTRAINT positive CHECK (k > 0)", lambda alter: alter.add_constraint({"positive": "k > 0"})),
    set_properties(
        enableDeletionVectors="true", checkpointPolicy="v2", feature__vacuumProtocolCheck="supported"
    ),
    ("ALTER COLUMN id DROP NOT NULL", lambda alter: alter.drop_column_not_null("id")),
    (
        "ALTER COLUMN s.x COMMENT 'inner'",
        lambda alter: alter.set_column_metadata("s.x", {"comment": "inner"}),
    ),
    (
        "ADD COLUMNS (n INT COMMENT 'new', a.element.j INT)",
        lambda alter: alter.add_columns([da.Field("n", INT, metadata={"comment": "new"}), IN_ARRAY]),
    ),
    set_properties(enableInCommitTimestamps="true", dataSkippingStatsColumns="k,n"),
    set_properties(columnMapping__mode="name"),
    ("ADD COLUMNS (s.`w z` INT)", lambda alter: alter.add_columns(IN_STRUCT)),
    ("RENAME COLUMN id TO `key.id`", lambda alter: alter.rename_column("id", "key.id")),
    ("RENAME COLUMN a.element.i TO l", lambda alter: alter.rename_column("a.element.i", "l")),
    ("RENAME COLUMN p TO part", lambda alter: alter.rename_column("p", "part")),
    ("DROP COLUMNS (n, s.y)", lambda alter: alter.drop_columns(["n", "s.y"])),
    ("DROP CONSTRAINT positive", lambda alter: alter.drop_constraint("positive")),
    ("RENAME COLUMN k TO k2", lambda alter: alter.rename_column("k", "k2")),
    set_properties(feature__timestampNtz="supported", enableTypeWidening="true"),
]
BY_NATURE = {"timestamp", "engineInfo", "txnId", "operationMetrics", "inCommitTimestamp", "id", "createdTime"}


def plain(value):
    """JSON in JSON taken apart, and what differs by nature left out: texts of Spark have no order."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if name not in BY_NATURE or name == "id"}
    if isinstance(value, list):
        return (
            sorted(map(plain, value), key=repr)
            if all(isinstance(each, str) for each in value)
            else [plain(each) for each in value]
        )
    if isinstance(value, str) and value[:1] in ("{", "["):
        return plain(json.loads(value))
    return value


def commit(path, version):
    """The actions of a commit by kind, but for what differs by nature."""
    text = (Path(path) / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
    text = re.sub(r"col-[0-9a-f-]{36}", "col", text)
    text = re.sub(r'(EnablementTimestamp":)"\d+"', r'\1""', text)
    found = {}
    for line in text.splitlines():
        ((kind, fields),) = json.loads(line).items()
        fields = {name: each for name, each in fields.items() if name not in BY_NATURE}
        found[kind] = plain(fields) | {"fields": sorted(fields)}
    return found


ONCE = [step for step in STEPS if not step[0].startswith(("UNSET", "ALTER COLUMN", "RENAME COLUMN a."))]
"""The steps but those that do to a column or property what others do to another."""


@pytest.mark.feature("columnMapping")
@pytest.mark.feature("inCommitTimestamp")
@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize("steps", [ONCE[1:], pytest.param(STEPS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_every_alteration_is_committed_as_spark_commits_it(spark, tmp_path, steps):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    name = create_table(spark, theirs, COLUMNS, "PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} VALUES {ROW.format(1, 'a')}, {ROW.format(2, 'b')}")
    shutil.copytree(theirs, ours)
    table = da.DeltaTable(ours)
    for statement, change in steps:
        spark.sql(f"ALTER TABLE {name} {statement}")
        change(table.alter)
        assert commit(ours, table.version()) == commit(theirs, table.version()), statement
    # Each goes on with the table of the other.
    rows = pa.table({"key.id": [3], "s": [{"x": 3, "w z": 4}], "part": ["b"], "k2": [3]})
    da.write_deltalake(theirs, rows, mode="append")
    wanted = spark_table(spark, theirs)
    assert wanted.column_names == ["key.id", "s", "a", "part", "k2"]
    da.write_deltalake(ours, rows, mode="append")
    assert_same_rows(spark_table(spark, ours), wanted)
    name = delta_table(ours)
    spark.sql(f"INSERT INTO {name} VALUES (4, NULL, NULL, 'c', 4)")
    spark.sql(f"UPDATE {name} SET k2 = 9 WHERE `key.id` = 1")
    spark.sql(f"OPTIMIZE {name}")
    assert sorted(check_engines(spark, ours)["k2"].to_pylist()) == [2, 3, 4, 9]


@pytest.mark.feature("materializePartitionColumns")
@pytest.mark.feature("checkpointProtection")
def test_partition_columns_in_data_files_and_protected_checkpoints(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    name = create_table(spark, theirs, "p STRING, id INT, q INT", "PARTITIONED BY (p, q)")
    shutil.copytree(theirs, ours)
    table = da.DeltaTable(ours)
    for statement, change in (
        set_properties(enableMaterializePartitionColumnsFeature="true"),
        set_properties(requireCheckpointProtectionBeforeVersion="1"),
        set_properties(feature__checkpointProtection="supported"),
    ):
        spark.sql(f"ALTER TABLE {name} {statement}")
        change(table.alter)
        assert commit(ours, table.version()) == commit(theirs, table.version()), statement
    rows = pa.table(
        {"p": ["a", "", None], "id": pa.array([1, 2, 3], pa.int32()), "q": pa.nulls(3, pa.int32())}
    )
    for path in (theirs, ours):
        spark.createDataFrame(rows).coalesce(1).write.format("delta").mode("append").save(str(path))
        da.write_deltalake(path, rows, mode="append")
    for path in (theirs, ours):
        files = [pq.ParquetFile(file) for file in path.rglob("*.parquet") if "_delta_log" not in file.parts]
        assert [file.schema_arrow.names for file in files] == [["id", "p", "q"]] * 4
        assert sorted(text for file in files for text in file.read()["p"].to_pylist() if text) == ["a", "a"]
    spark.sql(f"OPTIMIZE {delta_table(ours)}")
    assert_same_rows(check_engines(spark, ours), check_engines(spark, theirs))


@pytest.mark.slow
def test_what_spark_refuses_is_refused(spark, tmp_path):
    """Each is a rule of Spark; the errors of ours are in the tests of operations."""
    name = create_table(spark, tmp_path, COLUMNS, "PARTITIONED BY (p)", columnMapping__mode="name")
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT c CHECK (k > 0)")
    table = da.DeltaTable(tmp_path)
    for statement, change in (
        ("DROP COLUMN p", lambda alter: alter.drop_columns("p")),
        ("DROP COLUMN k", lambda alter: alter.drop_columns("k")),
        ("RENAME COLUMN k TO l", lambda alter: alter.rename_column("k", "l")),
        ("RENAME COLUMN id TO P", lambda alter: alter.rename_column("id", "P")),
        ("RENAME COLUMN id TO ID", lambda alter: alter.rename_column("id", "ID")),
        ("DROP COLUMN a.element.i", lambda alter: alter.drop_columns("a.element.i")),
        ("ADD COLUMNS (n INT NOT NULL)", lambda alter: alter.add_columns(da.Field("n", INT, nullable=False))),
        ("ADD COLUMNS (ID INT)", lambda alter: alter.add_columns(da.Field("ID", INT))),
        ("ADD COLUMNS (p.x INT)", lambda alter: alter.add_columns(da.Field("p", da.StructType([])))),
        ("ADD COLUMNS (t TIMESTAMP_NTZ)", lambda alter: alter.add_columns(da.Field("t", "timestamp_ntz"))),
        set_properties(columnMapping__mode="id"),
        set_properties(columnMapping__maxColumnId="9"),
        set_properties(constraints__d="k > 1"),
        set_properties(nosuch="1"),
        set_properties(feature__nosuch="supported"),
        set_properties(feature__clustering="supported"),
        set_properties(logRetentionDuration="interval 1 day"),
        set_properties(isolationLevel="WriteSerializable"),
        set_properties(dataSkippingStatsColumns="nosuch"),
    ):
        with pytest.raises(da.DeltaError):
            change(table.alter)
        with pytest.raises(Exception, match=r".") as caught:
            spark.sql(f"ALTER TABLE {name} {statement}")
        assert not isinstance(caught.value, AssertionError)
    assert da.DeltaTable(tmp_path).version() == 1
