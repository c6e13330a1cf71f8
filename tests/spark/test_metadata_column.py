"""``_metadata`` of queries on one node is what Spark gives."""

import pytest

import deltaarrow
from tests.support.spark import create_table, delta_table, spark_rows

TABLES = {
    "plain": {"enableDeletionVectors": "false"},
    "marked": {"enableDeletionVectors": "true"},
    "tracked": {
        "enableDeletionVectors": "true",
        "enableRowTracking": "true",
        "columnMapping__mode": "name",
    },
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "tracked")) for name in TABLES]
)
def test_metadata_of_each_row_is_that_of_spark(spark, tmp_path, name):
    name = create_table(spark, tmp_path / "t", "id BIGINT, p STRING", "PARTITIONED BY (p)", **TABLES[name])
    spark.sql(f"INSERT INTO {name} SELECT id, if(id < 4, 'ü %/z', 'b') FROM range(0, 8, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id IN (1, 4)")
    spark.sql(f"UPDATE {name} SET id = id + 10 WHERE id = 2")
    text = f"SELECT id, _metadata AS m FROM {delta_table(tmp_path / 't')} ORDER BY id"
    with deltaarrow.connect(dialect="spark") as connection:
        found = connection.sql(text).to_arrow_table()
    wanted = spark_rows(spark.sql(text))
    assert [each.name for each in found.schema.field("m").type] == [
        each.name for each in wanted.schema.field("m").type
    ]
    assert found.to_pylist() == wanted.to_pylist()
