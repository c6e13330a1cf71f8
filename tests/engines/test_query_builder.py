"""`QueryBuilder`: names, streams, types and errors."""

import os

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import CorruptDataFileError, DeltaError, UnsupportedFeatureError


@pytest.fixture
def queries(tmp_path):
    da.write_deltalake(tmp_path / "people", pa.table({"id": [1, 2], "name": ["Ada", "Grace"]}))
    da.write_deltalake(tmp_path / "born", pa.table({"id": [1, 2], "year": [1815, 1906]}))
    found = da.QueryBuilder().register("people", da.DeltaTable(tmp_path / "people"))
    return found.register('the "born"', da.DeltaTable(tmp_path / "born"))


def test_tables_are_joined_by_their_names(queries):
    sql = 'SELECT name, year FROM People JOIN "the ""born""" USING (id) WHERE year > 1900'
    assert queries.execute(sql).read_all().to_pylist() == [{"name": "Grace", "year": 1906}]


def test_texts_are_views_as_those_of_deltalake(queries):
    assert queries.execute("SELECT name FROM people").schema.field("name").type == pa.string_view()


def test_streams_of_one_builder_may_be_read_in_turn(queries):
    first, second = (queries.execute("SELECT id FROM people ORDER BY id") for _ in range(2))
    assert second.read_all() == first.read_all()


def test_a_table_stays_at_the_version_at_which_it_was_registered(queries, tmp_path):
    da.write_deltalake(tmp_path / "people", pa.table({"id": [3], "name": ["Edsger"]}), mode="append")
    assert queries.execute("SELECT count(*) AS n FROM people").read_all().to_pylist() == [{"n": 2}]


def test_deleted_rows_are_left_out(tmp_path):
    configuration = {"delta.enableDeletionVectors": "true"}
    da.write_deltalake(tmp_path, pa.table({"id": range(10)}), configuration=configuration)
    table = da.DeltaTable(tmp_path)
    table.delete("id < 4")
    found = da.QueryBuilder().register("t", table).execute("SELECT min(id) AS least FROM t")
    assert found.read_all().to_pylist() == [{"least": 4}]


def test_a_wrong_query_is_an_error_of_the_package(queries):
    with pytest.raises(DeltaError, match="nothing"):
        queries.execute("SELECT nothing FROM people")


def test_a_row_that_cannot_be_computed_is_an_error_of_the_package(queries):
    with pytest.raises(DeltaError, match="Ada"):
        queries.execute("SELECT CAST(name AS INTEGER) FROM people").read_all()


def test_a_damaged_file_is_named(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1]}))
    table = da.DeltaTable(tmp_path)
    (path,) = table.file_uris()
    os.truncate(path, 20)
    with pytest.raises(CorruptDataFileError, match="parquet"):
        da.QueryBuilder().register("t", table).execute("SELECT sum(id) FROM t").read_all()


def test_settings_are_those_of_duckdb():
    assert da.QueryBuilder({"threads": "1"}).execute(
        "SELECT current_setting('threads') AS n"
    ).read_all().to_pylist() == [{"n": 1}]
    with pytest.raises(UnsupportedFeatureError, match=r"datafusion\.execution\.batch_size"):
        da.QueryBuilder({"datafusion.execution.batch_size": "1"})
    with pytest.raises(DeltaError, match="no_such_setting"):
        da.QueryBuilder({"no_such_setting": "1"})


def test_a_table_that_is_shown_as_it_is_has_its_schema(tmp_path):
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), pa.field("t", pa.int64(), metadata={"unit": "s"})]
    )
    table = da.DeltaTable.create(tmp_path, schema)
    da.write_deltalake(table, pa.table({"id": [2, 1], "t": [None, 5]}, schema), mode="append")
    queries = da.QueryBuilder().register("t", table).register("Odd name", table)
    for query in (
        "select * from t",
        "SELECT *\nFROM T where id > 0 ORDER BY id, t limit 9;",
        'select * from "odd NAME"',
    ):
        found = queries.execute(query).read_all()
        assert found.schema.equals(schema, check_metadata=True), query
        assert sorted(found["id"].to_pylist()) == [1, 2]
    mapped = da.DeltaTable.create(tmp_path / "m", schema, configuration={"delta.columnMapping.mode": "name"})
    found = da.QueryBuilder().register("m", mapped).execute("select * from m").schema
    assert found.equals(schema, check_metadata=True)
    for query in (
        "select * from t union all select null, 1",
        "select * from t left join t as u on t.id = u.t",
        "select * from (select null::bigint as id, t from t)",
        "select * from t -- where\n union all select null, 1",
        "select * from t, t as u",
        "select id from t",
        "from t",
    ):
        assert queries.execute(query).schema.field(0).nullable, query
