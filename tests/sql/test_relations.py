"""What a name in a query of Spark's dialect may refer to."""

import datetime
import os

import pyarrow as pa
import pyarrow.parquet
import pytest

import deltaarrow
from deltaarrow.errors import TableNotFoundError


@pytest.fixture
def con(tmp_path):
    pa.parquet.write_table(pa.table({"id": [8]}), tmp_path / "secret.parquet")
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection


def test_tables_and_views_of_duckdb_are_found(con):
    con.connection.execute("CREATE TABLE own AS SELECT 1 AS id; CREATE SCHEMA s; CREATE VIEW s.v AS FROM own")
    con.register("shown", pa.table({"id": [2]}))
    for name, found in (("OWN", 1), ("s.v", 1), ("memory.s.v", 1), ("shown", 2)):
        assert con.sql(f"SELECT id FROM {name}").fetchall() == [(found,)]


@pytest.mark.parametrize("name", ["`{file}`", "'{file}'", "variable", "main.variable", "v", "duckdb_types"])
def test_files_and_variables_are_not_tables(con, tmp_path, name):
    variable = pa.table({"id": [9]})
    con.connection.execute("CREATE SCHEMA s; CREATE VIEW s.v AS SELECT 1 AS id")
    with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
        con.sql(f"SELECT * FROM {name.format(file=tmp_path / 'secret.parquet')}")
    assert variable.num_rows == 1


def test_times_of_versions_are_in_utc_whatever_the_zone_of_the_connection(con, tmp_path):
    path = f"{tmp_path}/t"
    for number in range(2):
        deltaarrow.write_deltalake(path, pa.table({"id": [number]}), mode="append")
        os.utime(f"{path}/_delta_log/{number:020}.json", (86_400 * number, 86_400 * number))
    con.connection.execute("SET TimeZone = 'Asia/Tokyo'")
    for time, rows in (("1970-01-01 23:00:00", 1), ("1970-01-02 00:00:00", 2)):
        text = f"SELECT count(*) FROM delta.`{path}` TIMESTAMP AS OF '{time}'"
        assert con.sql(text).fetchall() == [(rows,)]


def test_a_timestamp_is_fetched_as_a_value_of_python(con):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert con.sql("SELECT TIMESTAMP '2026-01-02 03:04:05'").fetchall() == [(moment,)]


def test_fields_of_struct_are_named_as_they_are_written(con):
    found = con.sql(
        "SELECT struct(x, X + 1, y.b, from_json('{}', 'c INT').c, x AS z) AS s"
        " FROM VALUES (1, named_struct('b', 2)) AS t(x, y)"
    ).to_arrow_table()
    assert [field.name for field in found.schema.field("s").type] == ["x", "col2", "b", "c", "z"]
