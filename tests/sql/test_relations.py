"""What a name in a query of Spark's dialect may refer to."""

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
