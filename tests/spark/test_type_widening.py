"""Tables whose column types Spark widened: files and statistics of old types are read as the new ones."""

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from tests.support.rows import READERS, assert_same_rows
from tests.support.spark import delta_table, spark_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("typeWidening"),
    pytest.mark.feature("timestampNtz"),
]

OLD = {
    "BYTE": ("-128", "127"),
    "SHORT": ("-32768", "32767"),
    "INT": ("-2147483648", "2147483647"),
    "LONG": ("-9223372036854775808", "9223372036854775807"),
    "FLOAT": ("0.1", "-3.4e38"),
    "DECIMAL(5,2)": ("-999.99", "999.99"),
    "DATE": ("DATE '1582-01-01'", "DATE '2026-12-31'"),
}
"""Narrow type -> two values of it; of integers and decimals, the least and the greatest."""

NEW = {
    "SHORT": "32767",
    "INT": "2147483647",
    "LONG": "9223372036854775807",
    "DOUBLE": "1e300",
    "DECIMAL(10,0)": "9999999999",
    "DECIMAL(10,2)": "99999999.99",
    "DECIMAL(12,2)": "9999999999.99",
    "DECIMAL(20,0)": "-99999999999999999999",
    "DECIMAL(24,4)": "99999999999999999999.9999",
    "DECIMAL(7,4)": "-999.9999",
    "DECIMAL(38,20)": "123456789012345678.12345678901234567890",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'",
}
"""Wide type -> a value that no narrower type has."""

WIDER = {
    "BYTE": ["SHORT", "INT", "LONG", "DECIMAL(10,0)", "DECIMAL(12,2)", "DOUBLE"],
    "SHORT": ["INT", "LONG", "DECIMAL(10,0)", "DECIMAL(12,2)", "DOUBLE"],
    "INT": ["LONG", "DECIMAL(10,0)", "DECIMAL(12,2)", "DOUBLE"],
    "LONG": ["DECIMAL(20,0)", "DECIMAL(24,4)"],
    "FLOAT": ["DOUBLE"],
    "DECIMAL(5,2)": ["DECIMAL(10,2)", "DECIMAL(7,4)", "DECIMAL(38,20)"],
    "DATE": ["TIMESTAMP_NTZ"],
}
CHANGES = [(old, new) for old, wider in WIDER.items() for new in wider]
"""Every change that delta-spark 4.4 allows; of decimals, one of each sort."""

LEVELS = {
    "column": ("{}", "", "{}"),
    "partition": ("{}", "", "{}"),
    "struct": ("STRUCT<x: {}>", ".x", "named_struct('x', {})"),
    "array": ("ARRAY<{}>", ".element", "array({}, NULL)"),
    "map key": ("MAP<{}, INT>", ".key", "map({}, 1)"),
    "map value": ("MAP<INT, {}>", ".value", "map(1, {}, 2, NULL)"),
    "deep": (
        "ARRAY<STRUCT<m: MAP<STRING, {}>>>",
        ".element.m.value",
        "array(named_struct('m', map('k', {})))",
    ),
}
"""Level -> the type with the changed one inside, the path to it, and an expression with its value."""


def make(spark, path, level):
    """A table with a column for each of `CHANGES`: rows before them, after them, and of NULLs."""
    nested, inside, value = LEVELS[level]
    name = delta_table(path)
    columns = [f"c{number}" for number in range(len(CHANGES))]
    types = (f"{c} {nested.format(old)}" for c, (old, _) in zip(columns, CHANGES, strict=True))
    by = f"PARTITIONED BY ({', '.join(columns)})" if level == "partition" else ""
    features = "'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported'"
    spark.sql(f"CREATE TABLE {name} (id INT, {', '.join(types)}) USING delta {by} TBLPROPERTIES ({features})")
    insert(spark, name, 0, [[value.format(f"CAST({OLD[o][n]} AS {o})") for o, _ in CHANGES] for n in (0, 1)])
    changes = (f"{c}{inside} TYPE {new}" for c, (_, new) in zip(columns, CHANGES, strict=True))
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN {', '.join(changes)}")
    rows = [
        [value.format(f"CAST({NEW[new]} AS {new})") for _, new in CHANGES],
        [value.format(f"CAST({OLD[old][1]} AS {new})") for old, new in CHANGES],
        ["NULL" for _ in CHANGES],
    ]
    insert(spark, name, 2, rows)


def insert(spark, name, first, rows):
    listed = (f"({number}, {', '.join(row)})" for number, row in enumerate(rows, first))
    spark.sql(f"INSERT INTO {name} VALUES {', '.join(listed)}")


OF_DEEP = ("struct", "array", "map value")
"""Levels that the one that is called deep has inside of each other."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(level, marks=[pytest.mark.slow] * (level in OF_DEEP)) for level in LEVELS],
)
def widened(request, spark, tmp_path_factory):
    """Path of a table with all changes at one level."""
    path = tmp_path_factory.mktemp("widened")
    make(spark, path, request.param)
    return path


def test_old_and_new_files_are_read_as_the_new_type(spark, widened):
    wanted = spark_table(spark, widened)
    assert wanted.num_rows == 5
    for read in READERS.values():
        assert_same_rows(read(widened), wanted)
    before = spark_table(spark, widened, 1)
    for read in READERS.values():
        assert_same_rows(read(widened, 1), before)


@pytest.mark.parametrize(
    "widened", ["column", pytest.param("partition", marks=pytest.mark.slow)], indirect=True
)
def test_filters_skip_by_values_of_the_old_type(widened):
    table = da.DeltaTable(widened)
    rows = table.to_pyarrow_table()
    dataset, frame = table.to_pyarrow_dataset(), table.to_polars()
    with duckdb.connect() as con:
        da.register(con, "t", table)
        for name in rows.column_names[1:]:
            for value in set(rows[name].drop_null().to_pylist()):
                scalar = pa.scalar(value, rows[name].type)
                for spelled, compare in (("=", pc.equal), (">", pc.greater), ("<", pc.less)):
                    expected = sorted(rows.filter(compare(rows[name], scalar))["id"].to_pylist())
                    found = dataset.to_table(["id"], filter=compare(pc.field(name), scalar))
                    assert sorted(found["id"].to_pylist()) == expected, (name, spelled, value)
                    found = con.execute(f"SELECT id FROM t WHERE {name} {spelled} ?", [value]).fetchall()
                    assert sorted(row for (row,) in found) == expected, (name, spelled, value)
                    column, literal = pl.col(name), pl.lit(value)
                    if pa.types.is_decimal(scalar.type):
                        literal = literal.cast(pl.Decimal(scalar.type.precision, scalar.type.scale))
                    condition = {"=": column == literal, ">": column > literal, "<": column < literal}
                    found = frame.filter(condition[spelled]).select("id").collect()["id"]
                    assert sorted(found) == expected, (name, spelled, value)


@pytest.mark.parametrize("widened", ["column", "partition"], indirect=True)
def test_files_are_skipped_by_values_of_the_old_type(widened):
    table = da.DeltaTable(widened)
    every = len(table.file_uris())
    for number, (old, new) in enumerate(CHANGES):
        if new not in ("TIMESTAMP_NTZ", "DOUBLE"):
            beyond = f"c{number} > {OLD[old][1]}"
            assert len(table.file_uris(file_pruning_predicate=beyond)) < every, (old, new)


@pytest.mark.slow
def test_several_changes_of_one_column(spark, tmp_path):
    name = delta_table(tmp_path)
    widening = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    spark.sql(f"CREATE TABLE {name} (id INT, c BYTE, d DECIMAL(3,1)) USING delta {widening}")
    steps = [("SHORT", "4,1"), ("INT", "6,3"), ("LONG", "20,3"), ("DECIMAL(20,0)", "38,10")]
    insert(spark, name, 0, [["127", "-99.9"]])
    for number, (wider, decimal) in enumerate(steps, 1):
        spark.sql(f"ALTER TABLE {name} ALTER COLUMN c TYPE {wider}, d TYPE DECIMAL({decimal})")
        insert(spark, name, number, [[str(10 ** (2 * number)), f"{number}.{'1' * number}"]])
    wanted = spark_table(spark, tmp_path)
    assert wanted.num_rows == 5
    for read in READERS.values():
        assert_same_rows(read(tmp_path), wanted)
    spark.sql(f"ALTER TABLE {name} DROP FEATURE 'typeWidening'")
    for read in READERS.values():
        assert_same_rows(read(tmp_path), wanted)
