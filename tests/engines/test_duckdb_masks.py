"""Deleted rows in DuckDB: one mask is a constant of the connection, several are joined."""

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.engines import register
from tests.support.duckdb_session import duckdb_session
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def table_of(folder, masked, clean, rows=5):
    """Files of five rows, of which the masked ones lose the second."""
    builder = TableBuilder(folder).features("deletionVectors").metadata(SCHEMA, ["p"])
    adds = []
    for number in range(masked + clean):
        data = pa.table({"id": pa.array(range(number * rows, (number + 1) * rows), pa.int64())})
        vector = builder.deletion_vector([1]) if number < masked else None
        adds.append(builder.add_file(data, {"p": f"p{number}"}, deletion_vector=vector))
    builder.commit(adds)
    return builder


def variables(connection):
    return connection.sql("SELECT count(*) FROM duckdb_variables()").fetchall()[0][0]


@pytest.mark.parametrize(("masked", "constants"), [(0, 0), (1, 1), (2, 0), (5, 0)])
def test_one_mask_is_a_constant(tmp_path, masked, constants):
    table_of(tmp_path, masked, 1)
    with duckdb_session() as connection:
        register(connection, "t", open_snapshot(tmp_path))
        assert variables(connection) == constants
        found = sorted(connection.sql("SELECT id, p FROM t").fetchall())
        assert found == [(n, f"p{n // 5}") for n in range((masked + 1) * 5) if n // 5 >= masked or n % 5 != 1]
        plan = connection.sql("EXPLAIN SELECT sum(id) FROM t").fetchall()[0][1]
        # The join with the table of files remains where these differ in their partition values.
        assert ("Hash Join" in plan or "HASH_JOIN" in plan) == (masked > 1)


def test_masks_are_let_go_of_with_their_view(tmp_path):
    builder = table_of(tmp_path, 1, 0)
    with duckdb_session() as connection:
        register(connection, "t", open_snapshot(tmp_path))
        register(connection, "t", open_snapshot(tmp_path))
        assert variables(connection) == 1
        builder.commit([builder.remove(each) for each in builder.commits[builder.version] if "add" in each])
        register(connection, "t", open_snapshot(tmp_path))
        assert variables(connection) == 0
        assert connection.sql("SELECT * FROM t").fetchall() == []


def test_masks_of_a_connection(tmp_path):
    table_of(tmp_path, 3, 2)
    with da.connect() as connection:
        connection.register("t", da.DeltaTable(tmp_path))
        for number in range(5):
            rows = connection.sql(f"SELECT id FROM t WHERE p = 'p{number}'").fetchall()
            assert len(rows) == (4 if number < 3 else 5)
        assert connection.sql("SELECT count(*) FROM t").fetchall() == [(22,)]
