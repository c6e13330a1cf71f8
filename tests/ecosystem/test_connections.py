"""Connections of `da.connect` in Ibis, and on databases that have other databases attached."""

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import TableNotFoundError


@pytest.fixture
def lake(tmp_path):
    """Table `orders`, attached as `lake.orders` and registered as `o`, beside a table of DuckDB's own."""
    da.write_deltalake(tmp_path / "orders", pa.table({"id": [1, 2, 3]}))
    with da.connect() as connection:
        connection.attach(tmp_path, "lake").register("o", da.DeltaTable(tmp_path / "orders"))
        connection.execute("CREATE TABLE own AS SELECT 2 AS id")
        yield connection


@pytest.mark.filterwarnings("ignore")  # what Ibis and DuckDB warn of
def test_ibis_sees_what_the_connection_knows(lake, tmp_path):
    ibis = pytest.importorskip("ibis")
    backend = ibis.duckdb.from_connection(lake)
    assert {"o", "own"} <= set(backend.list_tables())
    for table in (
        backend.table("o"),
        backend.table("orders", database="lake"),
        backend.table(str(tmp_path / "orders"), database="delta"),
        backend.sql("SELECT * FROM lake.orders"),
    ):
        assert sorted(table.to_pyarrow()["id"].to_pylist()) == [1, 2, 3]
    joined = backend.table("o").join(backend.table("own"), "id")
    assert joined.to_pyarrow().to_pydict() == {"id": [2]}
    batches = list(backend.table("o").to_pyarrow_batches(chunk_size=2))
    assert [batch.num_rows for batch in batches] == [2, 1]
    assert backend.create_table("made", backend.table("o")).count().execute() == 3


def test_rows_of_the_last_statement_by_the_names_of_duckdb_1(lake):
    assert lake.execute("FROM o").fetch_arrow_table().num_rows == 3
    assert [batch.num_rows for batch in lake.execute("FROM o").fetch_record_batch(1)] == [1, 1, 1]


@pytest.fixture(params=[":memory:", "file.db"])
def attached(request, tmp_path):
    """A connection that has a database attached as `delta`, with a table, a schema and a table in that."""
    place = request.param if request.param == ":memory:" else f"{tmp_path}/{request.param}"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{place}' AS delta; CREATE SCHEMA delta.s")
        connection.execute("CREATE TABLE delta.t AS SELECT 5 AS x; CREATE TABLE delta.s.u AS SELECT 6 AS x")
        yield connection


def test_a_database_may_be_attached_by_the_name_that_paths_have(attached, tmp_path):
    """As DuckDB's own extension is used: ATTACH 'folder' AS delta (TYPE delta)."""
    da.write_deltalake(tmp_path / "orders", pa.table({"id": [1, 2, 3]}))
    lake = da.connect(attached)
    path = f"delta.`{tmp_path}/orders`"
    for table in ("delta.t", "delta.main.t", "DELTA.t"):
        assert lake.sql(f"FROM {table}").fetchall() == [(5,)]
    assert lake.sql("FROM delta.s.u").fetchall() == [(6,)]
    assert lake.sql(f"SELECT x, count(*) FROM delta.t, {path} GROUP BY x").fetchall() == [(5, 3)]
    assert lake.explain(f"SELECT id FROM {path}")[0].files == 1
    lake.execute(f"INSERT INTO {path} SELECT x FROM delta.t")
    lake.execute(f"DELETE FROM {path} WHERE id = 1")
    lake.execute(f"CREATE TABLE delta.copy AS FROM {path}")
    lake.execute("USE delta")
    assert sorted(lake.sql("FROM copy").fetchall()) == [(2,), (3,), (5,)]
    assert sorted(lake.sql(f"FROM {path}").fetchall()) == [(2,), (3,), (5,)]
    with pytest.raises(TableNotFoundError):
        lake.sql(f"FROM delta.`{tmp_path}/absent`")
    with pytest.raises(ValueError, match="'delta' is already the name of a schema"):
        lake.attach(tmp_path, "delta")


def test_tables_of_other_databases_are_duckdbs(attached, tmp_path):
    attached.execute("ATTACH ':memory:' AS other; CREATE TABLE other.orders AS SELECT 7 AS x")
    da.write_deltalake(tmp_path / "lake" / "orders", pa.table({"id": [1]}))
    lake = da.connect(attached)
    lake.attach(tmp_path / "lake", "lake")
    assert lake.sql("SELECT x, id FROM other.orders, lake.orders").fetchall() == [(7, 1)]
    with pytest.raises(ValueError, match="'other' is already the name of a schema"):
        lake.attach(tmp_path / "lake", "other")
