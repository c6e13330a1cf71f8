"""Spark's ALTER COLUMN, ADD COLUMNS and REPLACE COLUMNS and `table.alter` make the same commits."""

import json
import shutil

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import deltaarrow as da
from deltaarrow import ColumnChange
from tests.spark.test_altering import commit, set_properties
from tests.support.spark import check_engines, create_table, delta_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("typeWidening"),
    pytest.mark.feature("allowColumnDefaults"),
    pytest.mark.feature("timestampNtz"),
]

COLUMNS = (
    "id BIGINT NOT NULL, s STRUCT<x: INT, y: STRING, n: INT NOT NULL>, a ARRAY<STRUCT<i: INT, j: INT>>,"
    " m MAP<INT, INT>, p INT, d DATE, f FLOAT, e DECIMAL(5,2), b TINYINT, v VARCHAR(3)"
)
ROW = (
    "({0}, named_struct('x', {0}, 'y', 'a', 'n', 0), array(named_struct('i', {0}, 'j', 1)), map(1, {0}), {1},"
    " DATE'2020-01-01', 1.5, 1.25, {0}, 'v')"
)
MADE = {"enableTypeWidening": "true", "feature__timestampNtz": "supported"}
INT = da.PrimitiveType("integer")


def change(statement, column, **given):
    return f"ALTER COLUMN {statement}", lambda alter: alter.change_column(column, **given)


def several(statement, **changes):
    given = {name.replace("__", "."): each for name, each in changes.items()}
    return f"ALTER COLUMN {statement}", lambda alter: alter.change_columns(given)


def fields(*columns):
    return [da.Field(name, kind, metadata=dict(metadata)) for name, kind, *metadata in columns]


ADDED = da.Field("a", da.ArrayType(da.StructType([da.Field("k", "integer")])))
STEPS = [
    (
        "ADD COLUMNS (n1 INT FIRST, n2 INT AFTER ID, n3 INT COMMENT 'c' AFTER N2)",
        lambda alter: alter.add_columns(
            [da.Field("n1", INT), da.Field("n2", INT), da.Field("n3", INT, metadata={"comment": "c"})],
            positions={"n1": "FIRST", "n2": "AFTER ID", "n3": "after N2"},
        ),
    ),
    (
        "ADD COLUMNS (s.z INT FIRST, a.element.k INT AFTER i)",
        lambda alter: alter.add_columns(
            [da.Field("s", da.StructType([da.Field("z", "integer")])), ADDED],
            positions={"s.z": "FIRST", "a.element.k": "AFTER i"},
        ),
    ),
    change("p FIRST", "p", position="FIRST"),
    change("s.y AFTER Z", "s.y", position="AFTER Z"),
    change("a.element.j FIRST", "a.element.j", position="FIRST"),
    change("p TYPE BIGINT", "p", type="long"),
    change("s.x TYPE BIGINT", "s.x", type="long"),
    change("a.element.i TYPE BIGINT", "a.element.i", type="long"),
    change("m.key TYPE BIGINT", "m.key", type="long"),
    change("m.value TYPE DOUBLE", "m.value", type="double"),
    change("d TYPE TIMESTAMP_NTZ", "d", type="timestamp_ntz"),
    change("f TYPE DOUBLE", "f", type="double"),
    change("e TYPE DECIMAL(7,3)", "e", type="decimal(7,3)"),
    change("b TYPE SMALLINT", "b", type="short"),
    change("b TYPE DECIMAL(12,0)", "b", type="decimal(12,0)"),
    change("v TYPE VARCHAR(5)", "v", type="varchar(5)"),
    change("v TYPE STRING", "v", type="string"),
    change("id DROP NOT NULL", "id", nullable=True),
    change("s.n DROP NOT NULL", "s.n", nullable=True),
    change("s.x COMMENT 'inner'", "s.x", comment="inner"),
    set_properties(feature__allowColumnDefaults="supported"),
    change("n1 SET DEFAULT 5 + 7", "n1", default="5 + 7"),
    change("id SET DEFAULT NULL", "id", default="NULL"),
    change("id DROP DEFAULT", "id", drop_default=True),
    several(
        "id COMMENT 'b', n2 TYPE BIGINT, s.x COMMENT 'c', n3 FIRST",
        id=ColumnChange(comment="b"),
        n2=ColumnChange(type="long"),
        s__x=ColumnChange(comment="c"),
        n3=ColumnChange(position="FIRST"),
    ),
    (
        "CHANGE COLUMN n3 n3 BIGINT COMMENT 'all' AFTER id",
        lambda alter: alter.change_column("n3", type="long", comment="all", position="AFTER id"),
    ),
]


def compared(path, version):
    """A commit whose changed columns have no order: Spark has them in that of a hash."""
    found = commit(path, version)
    parameters = found["commitInfo"]["operationParameters"]
    if found["commitInfo"]["operation"] == "CHANGE COLUMNS":
        parameters["columns"].sort(key=lambda each: json.dumps(each, sort_keys=True))
    return found


REPEATED = (
    *("ALTER COLUMN a.element.j FIRST", "ALTER COLUMN a.element.i TYPE", "ALTER COLUMN m.value TYPE"),
    *("ALTER COLUMN f TYPE", "ALTER COLUMN b TYPE SMALLINT", "ALTER COLUMN v TYPE VARCHAR"),
)
"""Beginnings of the steps that do to one column what others do to another."""
ONCE = [step for step in STEPS if not step[0].startswith(REPEATED)]


@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        pytest.param("none", STEPS, id="none", marks=pytest.mark.slow),
        pytest.param("name", STEPS, id="name", marks=pytest.mark.slow),
        pytest.param("name", ONCE, id="few"),
    ],
)
def test_every_change_of_columns_is_committed_as_spark_commits_it(spark, tmp_path, mode, steps):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    name = create_table(spark, theirs, COLUMNS, "PARTITIONED BY (p)", **MADE, columnMapping__mode=mode)
    spark.sql(f"INSERT INTO {name} VALUES {ROW.format(1, 1)}, {ROW.format(2, 2)}")
    shutil.copytree(theirs, ours)
    table = da.DeltaTable(ours)
    for statement, call in steps:
        spark.sql(f"ALTER TABLE {name} {statement}")
        call(table.alter)
        assert compared(ours, table.version()) == compared(theirs, table.version()), statement
    row = {"id": [3], "p": [2**40], "s": [{"x": 2**40, "z": 4}], "e": [None], "n2": [2**33]}
    da.write_deltalake(ours, pa.table(row), mode="append")
    spark.sql(f"UPDATE {delta_table(ours)} SET v = 'longer' WHERE id = 2")
    found = check_engines(spark, ours).sort_by("id")
    assert found["n1"].to_pylist() == [None, None, 12]
    assert found["p"].to_pylist() == [1, 2, 2**40]
    assert da.DeltaTable(ours).to_pyarrow_table(filters="p > 3000000000 OR d > '2030-01-01'").num_rows == 1


MAPPED = {"columnMapping__mode": "name", "enableTypeWidening": "true"}
IN_STRUCT = da.StructType([da.Field("y", "string"), da.Field("x", "long")])


@pytest.mark.feature("columnMapping")
def test_columns_are_replaced_as_spark_replaces_them(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    columns = "id BIGINT NOT NULL, s STRUCT<x: INT, y: STRING, z: INT>, k INT COMMENT 'old', w INT"
    name = create_table(spark, theirs, columns, **MAPPED)
    spark.sql(f"INSERT INTO {name} VALUES (1, named_struct('x', 1, 'y', 'a', 'z', 3), 4, 5)")
    shutil.copytree(theirs, ours)
    table = da.DeltaTable(ours)
    for statement, given in (
        (
            "w INT, id BIGINT, K INT, s STRUCT<y: STRING, x: BIGINT>",
            fields(("w", "integer"), ("id", "long"), ("K", "integer"), ("s", IN_STRUCT)),
        ),
        (
            "id BIGINT COMMENT 'c', s STRUCT<y: STRING, x: BIGINT>, k INT, w INT, n STRING COMMENT 'new'",
            fields(
                ("id", "long", ("comment", "c")),
                ("s", IN_STRUCT),
                ("k", "integer"),
                ("w", "integer"),
                ("n", "string", ("comment", "new")),
            ),
        ),
        ("id BIGINT, k INT, n STRING", fields(("id", "long"), ("k", "integer"), ("n", "string"))),
    ):
        spark.sql(f"ALTER TABLE {name} REPLACE COLUMNS ({statement})")
        table.alter.replace_columns(given)
        assert commit(ours, table.version()) == commit(theirs, table.version()), statement
    spark.sql(f"INSERT INTO {delta_table(ours)} VALUES (2, 3, 'n')")
    assert sorted(check_engines(spark, ours)["id"].to_pylist()) == [1, 2]


REFUSED = [
    (
        "ADD COLUMNS (n INT AFTER nosuch)",
        lambda a: a.add_columns(da.Field("n", INT), positions={"n": "AFTER nosuch"}),
    ),
    change("k AFTER nosuch", "k", position="AFTER nosuch"),
    change("k TYPE BIGINT", "k", type="long"),
    change("id TYPE BIGINT", "id", type="long"),
    change("g TYPE DECIMAL(20,0)", "g", type="decimal(20,0)"),
    change("i TYPE DECIMAL(20,0)", "i", type="decimal(20,0)"),
    change("i DROP NOT NULL", "i", nullable=True),
    change("s.x TYPE BIGINT", "s.x", type="long"),
    change("w TYPE SMALLINT", "w", type="short"),
    change("w TYPE STRING", "w", type="string"),
    change("s TYPE STRUCT<x: INT>", "s", type=da.StructType([da.Field("x", "integer")])),
    change("l.element COMMENT 'c'", "l.element", comment="c"),
    change("v TYPE VARCHAR(2)", "v", type="varchar(2)"),
    change("c TYPE CHAR(9)", "c", type="char(9)"),
    change("w SET DEFAULT 5", "w", default="5"),
    several("s COMMENT 'a', s.x COMMENT 'b'", s=ColumnChange(comment="a"), s__x=ColumnChange(comment="b")),
    ("REPLACE COLUMNS (w INT)", lambda alter: alter.replace_columns(fields(("w", "integer")))),
    ("ALTER COLUMN w SYNC IDENTITY", lambda alter: alter.sync_identity("w")),
    ("DROP CONSTRAINT nosuch", lambda alter: alter.drop_constraint("nosuch")),
    ("SET TBLPROPERTIES ('location' = '/x')", lambda alter: alter.set_table_properties({"location": "/x"})),
    ("SET TBLPROPERTIES ('provider' = 'x')", lambda alter: alter.set_table_properties({"provider": "x"})),
]


@pytest.mark.slow
def test_changes_of_columns_that_spark_refuses_are_refused(spark, tmp_path):
    columns = (
        "id INT, k INT, p INT, s STRUCT<x: INT, z: INT>, w INT, l ARRAY<INT>, v VARCHAR(3), c STRING,"
        " g BIGINT GENERATED ALWAYS AS (CAST(id AS BIGINT) + 1), i BIGINT GENERATED BY DEFAULT AS IDENTITY"
    )
    name = create_table(spark, tmp_path, columns, "PARTITIONED BY (p)", **MAPPED)
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT c CHECK (k > 0 AND s.x > 0)")
    table = da.DeltaTable(tmp_path)
    for statement, call in REFUSED:
        with pytest.raises(da.DeltaError):
            call(table.alter)
        with pytest.raises(PySparkException):
            spark.sql(f"ALTER TABLE {name} {statement}")
    assert da.DeltaTable(tmp_path).version() == 1
    table.alter.change_column("s.z", type="long")
    table.alter.change_column("i", comment="numbers", position="FIRST")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN s.z COMMENT 'q'")


@pytest.mark.feature("columnMapping")
def test_spark_goes_on_after_a_transaction_that_added_columns_twice(spark, tmp_path):
    name = create_table(spark, tmp_path, "id BIGINT", **MAPPED)
    # A table that was never clustered stays as it is.
    spark.sql(f"ALTER TABLE {name} CLUSTER BY NONE")
    da.DeltaTable(tmp_path).alter.cluster_by(None)
    assert da.DeltaTable(tmp_path).version() == 0
    with da.DeltaTable(tmp_path).transaction() as transaction:
        for rows in ({"id": [1], "a": ["x"]}, {"id": [2], "b": [2]}):
            da.write_deltalake(transaction, pa.table(rows), mode="append", schema_mode="merge")
    spark.sql(f"INSERT INTO {delta_table(tmp_path)} VALUES (3, 'z', 3)")
    assert check_engines(spark, tmp_path).sort_by("id")["b"].to_pylist() == [None, 2, 3]
