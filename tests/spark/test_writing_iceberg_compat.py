"""Tables readable as Iceberg: Spark and we write the same under the same rules, and to one table."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from tests.support.rows import assert_same_rows
from tests.support.spark import check_engines, create_table, delta_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FLAT = "id INT, p STRING, at TIMESTAMP, d DECIMAL(12,2)"
NESTED = (
    "m MAP<STRUCT<k: ARRAY<INT>>, ARRAY<INT>>, s STRUCT<x: MAP<INT, INT>>,"
    " aa ARRAY<ARRAY<STRUCT<z: INT>>>, id INT, p STRING, at TIMESTAMP"
)
VALUES = {
    FLAT: "1, 'a', TIMESTAMP '2026-01-01 00:00:00.5', 1.25",
    NESTED: "map(named_struct('k', array(1)), array(2)), named_struct('x', map(3, 4)),"
    " array(array(named_struct('z', 5))), 6, 'a', TIMESTAMP '2026-01-01 00:00:00.5'",
}
ROWS = {
    FLAT: {"id": [1], "p": ["a"], "at": [1767225600500000], "d": [None]},
    NESTED: {
        "m": [[({"k": [1]}, [2])]],
        "s": [{"x": [(3, 4)]}],
        "aa": [[[{"z": 5}]]],
        "id": [6],
        "p": ["a"],
        "at": [1767225600500000],
    },
}
BY_NATURE = {"id", "createdTime", "path", "size", "modificationTime"}


def numbered(path, text):
    """The text with ids in the place of physical names, which differ by nature."""
    text = re.sub(r"(_row-(?:id|commit-version)-col)-[0-9a-f-]{36}", r"\1", text)
    schema = da.DeltaTable(path).schema().to_json()
    for field in re.findall(r'"metadata":\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}', schema):
        number = re.search(r'"delta.columnMapping.id":(\d+)', field)[1]
        name = re.search(r'"delta.columnMapping.physicalName":"([^"]+)"', field)[1]
        if name.startswith("col-"):
            text = text.replace(name, f"column {number}")
    return text


def actions(path, version):
    """The actions of a commit but `commitInfo`, without what differs by nature."""
    text = (Path(path) / "_delta_log" / f"{version:020d}.json").read_text(encoding="utf-8")
    found = []
    for line in numbered(path, text).splitlines():
        ((kind, fields),) = json.loads(line).items()
        if kind != "commitInfo":
            values = {
                name: json.loads(value) if isinstance(value, str) and value[:1] == "{" else value
                for name, value in fields.items()
                if name not in BY_NATURE
            }
            for name in ("readerFeatures", "writerFeatures"):
                if name in values:
                    values[name] = sorted(values[name])
            found.append((kind, values))
    return sorted(found, key=repr)


def files(path):
    """The schemas of the data files, with field ids."""
    found = Path(path).glob("[!_]*/*.parquet")
    return sorted(numbered(path, str(pq.ParquetFile(file).schema).split("\n", 2)[2]) for file in found)


@pytest.mark.feature("icebergCompatV1")
@pytest.mark.feature("icebergCompatV2")
@pytest.mark.feature("icebergCompatV3")
@pytest.mark.parametrize(
    ("version", "columns"),
    [
        (1, FLAT),
        pytest.param(2, NESTED, marks=pytest.mark.slow),
        pytest.param(3, NESTED, marks=pytest.mark.slow),
    ],
)
def test_what_we_write_is_what_spark_writes(spark, tmp_path, version, columns):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    switch = {f"delta.enableIcebergCompatV{version}": "true"}
    name = create_table(
        spark, theirs, columns, "PARTITIONED BY (p)", **{f"enableIcebergCompatV{version}": "true"}
    )
    schema = da.DeltaTable(theirs).schema().to_arrow()
    da.DeltaTable.create(ours, schema, partition_by="p", configuration=switch)
    assert actions(ours, 0) == actions(theirs, 0)
    spark.sql(f"INSERT INTO {name} VALUES ({VALUES[columns]})")
    rows = pa.table(ROWS[columns], pa.schema([field.remove_metadata() for field in schema]))
    if columns is FLAT:
        rows = rows.set_column(3, "d", pa.array([1.25]).cast(pa.decimal128(12, 2)))
    da.write_deltalake(ours, rows, mode="append")
    assert actions(ours, 1) == actions(theirs, 1)
    assert files(ours) == files(theirs)
    # More columns, and a name that files do not have.
    for statement, change in (
        ("ADD COLUMNS (n INT)", lambda alter: alter.add_columns(da.Field("n", "integer"))),
        ("RENAME COLUMN id TO `the id`", lambda alter: alter.rename_column("id", "the id")),
    ):
        spark.sql(f"ALTER TABLE {name} {statement}")
        change(da.DeltaTable(ours).alter)
    if version > 1:
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS (l ARRAY<MAP<INT, INT>>)")
        new = da.Field("l", da.ArrayType(da.MapType("integer", "integer")))
        da.DeltaTable(ours).alter.add_columns(new)
    for each in range(2, da.DeltaTable(ours).version() + 1):
        assert actions(ours, each) == actions(theirs, each), each
    # Each appends to the table of the other, and Spark changes rows of ours.
    renamed = rows.rename_columns(["the id" if name == "id" else name for name in rows.column_names])
    da.write_deltalake(theirs, renamed, mode="append")
    wanted = check_engines(spark, theirs)
    assert wanted.num_rows == 2
    da.write_deltalake(ours, renamed, mode="append")
    assert_same_rows(check_engines(spark, ours), wanted)
    name = delta_table(ours)
    spark.sql(f"UPDATE {name} SET n = 7 WHERE n IS NULL")
    spark.sql(f"OPTIMIZE {name}")
    assert check_engines(spark, ours)["n"].to_pylist() == [7, 7]


@pytest.mark.feature("icebergCompatV3")
def test_rows_keep_their_ids_in_columns_with_the_ids_that_iceberg_reserves(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "p": ["a"] * 3})
    for path in (theirs, ours):
        da.write_deltalake(
            path, rows, partition_by="p", configuration={"delta.enableIcebergCompatV3": "true"}
        )
    spark.sql(f"DELETE FROM {delta_table(theirs)} WHERE id = 2")
    da.write_deltalake(ours, rows.slice(0, 0), mode="overwrite", predicate="id = 2")
    assert files(ours) == files(theirs)
    assert "field_id=2147483540 _row-id-col" in files(ours)[1]
    ids = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    found = [da.DeltaTable(path).to_pyarrow_table(columns=ids).sort_by("id") for path in (theirs, ours)]
    assert found[0] == found[1]
    spark.sql(f"UPDATE {delta_table(ours)} SET id = 4 WHERE id = 3")
    spark.sql(f"OPTIMIZE {delta_table(ours)}")
    wanted = {"id": [1, 4], "_metadata.row_id": [0, 2]}
    kept = da.DeltaTable(ours).to_pyarrow_table(columns=ids[:2]).sort_by("id")
    assert kept.to_pydict() == wanted
    check_engines(spark, ours)


@pytest.mark.slow
@pytest.mark.feature("icebergCompatV1")
@pytest.mark.feature("icebergCompatV2")
def test_rules_for_a_table_that_exists(spark, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    rows = pa.table({"id": [1], "a": [[1]], "p": ["x"]})
    statements = (
        {"delta.columnMapping.mode": "name"},
        {"delta.enableIcebergCompatV2": "true"},
        {"delta.enableIcebergCompatV2": "false"},
    )
    create_table(spark, theirs, "id BIGINT, a ARRAY<BIGINT>, p STRING", "PARTITIONED BY (p)")
    da.DeltaTable.create(ours, rows.schema, partition_by="p")
    for path in (theirs, ours):
        da.write_deltalake(path, rows, mode="append")
    for properties in statements:
        listed = ", ".join(f"'{name}' = '{text}'" for name, text in properties.items())
        spark.sql(f"ALTER TABLE {delta_table(theirs)} SET TBLPROPERTIES ({listed})")
        table = da.DeltaTable(ours)
        table.alter.set_table_properties(properties)
        assert actions(ours, table.version()) == actions(theirs, table.version()), properties
        da.write_deltalake(ours, rows, mode="append")
        spark.sql(f"INSERT INTO {delta_table(theirs)} SELECT 1, array(1L), 'x'")
        assert actions(ours, table.version() + 1) == actions(theirs, table.version() + 1), properties
    assert_same_rows(check_engines(spark, ours), check_engines(spark, theirs))
