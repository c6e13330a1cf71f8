"""Deletion vectors of millions of rows: every engine counts and sums the same as Spark."""

import duckdb
import polars as pl
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from tests.support.spark import create_table, spark_rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    pytest.mark.feature("deletionVectors"),
]

WHERE = "id % 2 = 0 AND id < {n} * 0.8 OR id >= {n} * 0.8 AND id < {n} * 0.9 OR id % 100 = 7"
"""About half of the rows: every second one, a run of them, and one in a hundred."""


def totals_of_dataset(table):
    count = total = 0
    for batch in table.to_pyarrow_dataset().to_batches(columns=["id"]):
        count += batch.num_rows
        total += pc.sum(batch["id"]).as_py() or 0
    return count, total


def totals_of_duckdb(table, native="auto"):
    with duckdb.connect() as connection:
        da.register(connection, "t", table, native=native)
        return connection.sql("SELECT count(*), sum(id) FROM t").fetchall()[0]


def totals_of_polars(table):
    return da.scan_delta(table).select(pl.len(), pl.col("id").cast(pl.Int64).sum()).collect().row(0)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2_000_000, 20_000_000])
def test_half_of_a_large_file_is_deleted(spark, tmp_path, rows):
    name = create_table(spark, tmp_path, "id INT", enableDeletionVectors="true")
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT) FROM range(0, {rows}, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE {WHERE.format(n=rows)}")
    table = da.DeltaTable(tmp_path)
    (vector,) = table.snapshot.files()["deletion_vector"].to_pylist()
    assert vector["cardinality"] > rows // 2
    wanted = tuple(spark_rows(spark.sql(f"SELECT count(*), sum(id) FROM {name}")).to_pylist()[0].values())
    assert wanted[0] == rows - vector["cardinality"] == table.count()
    assert totals_of_dataset(table) == wanted
    assert totals_of_duckdb(table) == wanted
    assert totals_of_duckdb(table, native=False) == wanted
    assert totals_of_polars(table) == wanted
