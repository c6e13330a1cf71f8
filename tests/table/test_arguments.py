"""Filters and columns that reads accept; everything else is refused by name."""

import os
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import InvalidPredicateError, SchemaMismatchError, StorageError
from tests.support.tables import TableBuilder

ROWS = pa.table({"id": [1, 2, 3, 4, None], "p": ["a", "a", "b", "b", "b"]})


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["p"])
    return DeltaTable(tmp_path)


@pytest.mark.parametrize(
    "filters",
    ["id > 2", [("id", ">", 2)], (("id", ">", 2),), [[("id", "=", 3)], [("id", "=", 4)]], pc.field("id") > 2],
)
def test_filters_are_sql_tuples_or_an_expression(table, filters):
    assert sorted(table.to_pyarrow_table(filters=filters)["id"].to_pylist()) == [3, 4]
    assert sorted(table.to_pandas(filters=filters)["id"]) == [3, 4]
    with pytest.warns(DeprecationWarning, match="use `filters`"):
        found = table.to_pyarrow_table(partitions=[("p", "=", "a")], filters=filters)
    assert found.num_rows == 0


def test_sql_names_columns_of_the_table_alone(table):
    with pytest.raises(InvalidPredicateError):
        table.to_pyarrow_table(filters="nothing = 1")


@pytest.mark.parametrize("filters", [pl.col("id") > 2, True, 3, {"id": 3}])
def test_other_filters_are_refused(table, filters):
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.raises(TypeError, match=r"SQL text, .* tuples or a pyarrow expression, not "):
            read(filters=filters)
    with pytest.raises(TypeError, match=r"SQL text or .* tuples, not "):
        table.file_uris(file_pruning_predicate=filters)
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match=r"SQL text or .* tuples, not "):
        table.to_pyarrow_table(partitions=filters)


def test_the_filters_that_deltalake_deprecates_warn_their_caller(table):
    wanted = [("p", "=", "a")]
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.warns(DeprecationWarning, match="use `filters`") as caught:
            assert len(read(partitions=wanted)) == 2
        assert [each.filename for each in caught] == [__file__]
    for call, name in (
        (table.to_pyarrow_dataset, "partitions"),
        (table.file_uris, "partition_filters"),
        (table.partitions, "partition_filters"),
    ):
        with pytest.warns(DeprecationWarning, match=f"`{name}` .* use `file_pruning_predicate`") as caught:
            call(wanted)
        assert [each.filename for each in caught] == [__file__]
        with pytest.raises(ValueError, match=f"`{name}` is deprecated"):
            call(wanted, file_pruning_predicate="id = 1")


@pytest.mark.parametrize("columns", ["id", b"id", 3])
def test_columns_are_a_list_of_names(table, columns):
    for read in (table.to_pyarrow_table, table.to_pandas):
        with pytest.raises(TypeError, match="columns is a list of names, not "):
            read(columns=columns)


def test_columns_may_be_any_list(table):
    assert table.to_pyarrow_table(columns=("p",)).column_names == ["p"]
    assert table.to_pyarrow_table(columns=[]).num_rows == 5


def test_a_negative_limit_of_the_history_is_refused(table):
    assert table.history(0) == []
    with pytest.raises(ValueError, match="-1"):
        table.history(-1)


LOST = "s3:/bucket/t"


@pytest.mark.parametrize(
    "use",
    [
        lambda table: DeltaTable(LOST),
        lambda table: DeltaTable.is_deltatable(LOST),
        lambda table: DeltaTable.create(LOST, pa.schema([("x", pa.int64())])),
        lambda table: write_deltalake(Path("s3://bucket/t"), pa.table({"x": [1]})),
        lambda table: deltaarrow.convert_to_deltalake(LOST),
        lambda table: deltaarrow.scan_delta(LOST),
        lambda table: deltaarrow.register(duckdb.connect(), "t", LOST),
        lambda table: deltaarrow.connect(catalog=LOST),
        lambda table: table.clone(LOST),
        lambda table: deltaarrow.connect().sql(f"SELECT * FROM delta_scan('{LOST}')"),
        lambda table: deltaarrow.connect().sql(f"COPY (SELECT 1 AS x) TO '{LOST}' (FORMAT delta)"),
        lambda table: deltaarrow.connect().sql(f'CREATE TABLE delta."{LOST}" (x int)'),
        *(
            lambda table, text=text: deltaarrow.connect(dialect="spark").sql(text)
            for text in (
                f"SELECT * FROM delta.`{LOST}`",
                f"INSERT INTO delta.`{LOST}` VALUES (1)",
                f"CREATE TABLE delta.`{LOST}` (x INT) USING delta",
                f"CONVERT TO DELTA parquet.`{LOST}`",
            )
        ),
        lambda table: deltaarrow.connect(dialect="spark", catalog=".").sql(
            f"CREATE TABLE new (x INT) USING delta LOCATION '{LOST}'"
        ),
        lambda table: deltaarrow.connect(dialect="spark").sql(
            f"CREATE TABLE delta.`{LOST}` SHALLOW CLONE delta.`{table.table_uri}`"
        ),
        lambda table: deltaarrow.connect(dialect="spark").sql(
            f"COPY INTO delta.`{table.table_uri}` FROM '{LOST}' FILEFORMAT = PARQUET"
        ),
    ],
)
def test_a_location_that_lost_a_slash_is_refused_and_no_folder_is_made(tmp_path, monkeypatch, use):
    write_deltalake(tmp_path / "t", pa.table({"x": [1]}))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="write 's3://bucket/t' as a string"):
        use(DeltaTable("t"))
    assert os.listdir(tmp_path) == ["t"]


@pytest.mark.parametrize("asked", [["ID"], ["name", "ID"], ["iD", "id"]])
def test_columns_are_named_in_any_case(tmp_path: Path, asked: list[str]) -> None:
    """The result has the names that are asked for, as in Spark."""
    write_deltalake(
        tmp_path,
        pa.table({"id": [1, 2], "Name": ["a", "b"]}),
        configuration={"delta.enableChangeDataFeed": "true"},
    )
    table = DeltaTable(tmp_path)
    row = {"id": 2, "name": "b"}
    expected = [{name: row[name.lower()] for name in asked}]
    assert table.to_pyarrow_table(columns=asked, filters="id > 1").to_pylist() == expected
    assert table.to_pandas(columns=asked, filters="ID > 1").to_dict("records") == expected
    assert table.scan(asked, "id > 1").read_all().to_pylist() == expected
    assert table.load_cdf(0, columns=asked, predicate="id > 1").read_all().to_pylist() == expected
    own = {"id": "id", "name": "Name"}
    assert set(table.explain(columns=asked).columns) == {own[name.lower()] for name in asked}


def test_a_name_that_two_columns_have_in_other_cases_is_none(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "ID": [2]})
    builder = TableBuilder(tmp_path)
    builder.protocol().metadata(rows.schema)
    builder.commit([builder.add_file(rows)])
    assert DeltaTable(tmp_path).to_pyarrow_table(columns=["ID"]).to_pylist() == [{"ID": 2}]
    with pytest.raises(SchemaMismatchError, match="no column `iD`"):
        DeltaTable(tmp_path).to_pyarrow_table(columns=["iD"])
