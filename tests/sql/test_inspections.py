"""Functions of DuckDB's dialect about a table: they tell what `DeltaTable.inspect` and `detail` tell."""

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import TableNotFoundError, UnsupportedFeatureError

MARKED = {"delta.enableDeletionVectors": "true"}
FUNCTIONS = ("clustering", "columns", "deletion_vectors", "files", "history", "partitions", "tombstones")


@pytest.fixture
def orders(tmp_path):
    rows = pa.table({"id": range(4), "p": [1, 1, 1, 2]})
    deltaarrow.write_deltalake(tmp_path / "orders", rows, partition_by="p", configuration=MARKED)
    DeltaTable(tmp_path / "orders").delete("id = 1")
    return tmp_path / "orders"


@pytest.fixture
def con(orders):
    with deltaarrow.connect() as connection:
        yield connection.attach(orders.parent, "lake").register("pinned", orders)


@pytest.mark.parametrize("what", FUNCTIONS)
@pytest.mark.parametrize("name", ["lake.orders", "pinned", "{orders}", "delta.'{orders}'"])
def test_each_function_tells_what_the_table_tells(con, orders, what, name):
    text = name.format(orders=orders).replace("'", "''")
    found = con.sql(f"FROM delta_{what}('{text}')").to_arrow_table()
    wanted = getattr(DeltaTable(orders).inspect, what)()
    assert (found.column_names, found.to_pylist()) == (wanted.column_names, wanted.to_pylist())


def test_detail_is_that_of_spark(con, orders):
    [found] = con.sql("SELECT * FROM delta_detail('lake.orders')").to_arrow_table().to_pylist()
    [spark] = con.sql(f"DESCRIBE DETAIL delta.`{orders}`", dialect="spark").to_pylist()
    assert found == spark
    assert (found["numFiles"], found["properties"]) == (2, [*MARKED.items()])


def test_they_are_relations_like_any_other(con, orders):
    text = (
        "SELECT h.operation, count(*) FROM delta_history('lake.orders') AS h, delta_files('lake.orders') AS f"
        " WHERE f.deleted_rows > 0 GROUP BY h.operation ORDER BY 1"
    )
    assert con.sql(text).fetchall() == [("DELETE", 1), ("WRITE", 1)]
    assert con.sql("SELECT sum(deleted_rows) FROM delta_files(?)", params=["lake.orders"]).fetchall() == [
        (1,)
    ]
    assert con.sql("SELECT sum(deleted_rows) FROM delta_files('pinned', version => 0)").fetchall() == [(0,)]
    DeltaTable(orders).delete("id = 3")
    assert con.sql("SELECT count(*) FROM delta_files('lake.orders')").fetchall() == [(1,)]
    assert con.sql("SELECT max(version) FROM delta_history('pinned')").fetchall() == [(1,)]
    [explained] = con.explain("SELECT id FROM lake.orders, delta_detail('lake.orders')")
    assert explained.files == 1


def test_what_is_no_table_is_refused(con, orders):
    with pytest.raises(TableNotFoundError):
        con.sql("FROM delta_history('lake.nothing')")
    with pytest.raises(UnsupportedFeatureError, match="delta_files takes one table, as a text"):
        con.sql("FROM delta_files()")
    with pytest.raises(UnsupportedFeatureError, match="has no argument 'limit'"):
        con.sql("FROM delta_history('lake.orders', limit => 3)")
