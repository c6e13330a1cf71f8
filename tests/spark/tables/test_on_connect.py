"""`deltaarrow.spark.tables` on Spark Connect: a client without a JVM changes tables."""

import importlib.util

import pytest

import deltaarrow as da
from tests.support.spark_process import SparkProcess

SCRIPT = r"""
import datetime

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark.tables.column_sql import ColumnTexts
from deltaarrow.spark.tables import DeltaTable, IdentityGenerator
from pyspark.sql import functions
from pyspark.sql.functions import col, expr, lit, when

assert "connect" in type(spark).__module__

frame = spark.sql(
    "SELECT id, id * 0.5D AS x, cast(id AS decimal(9, 2)) AS c, 'it''s ' || id AS s, date'2026-01-01' AS d,"
    " timestamp'2026-01-01 00:00:00.25' AS at, named_struct('f g', id) AS st, array(id, 2L) AS a,"
    " map('k', id) AS m, id AS `a b`, id > 1 AS yes FROM range(4)"
)
texts = ColumnTexts([lambda: frame])
for text, column in {
    r"(`s` = 'it\'s \\')": col("s") == "it's \\",
    "(`x` > 1.5D)": col("x") > 1.5,
    "(`d` = DATE '2026-01-31')": col("d") == datetime.date(2026, 1, 31),
    "((`id` IS NULL) OR (NOT ((`id` IN (1, 2)))))": col("id").isNull() | ~col("id").isin(1, 2),
    "`st`.`f g`": col("st")["f g"],
    "`a`[0]": col("a")[0],
    "(`a b` + 1)": col("`a b`") + 1,
    "(CASE WHEN (`id` > 1) THEN `s` ELSE NULL END)": when(col("id") > 1, col("s")).otherwise(lit(None)),
    "TRY_CAST(`s` AS int)": col("s").try_cast("int"),
    "(s LIKE 'a, (b%' AND yes)": expr("s LIKE 'a, (b%' AND yes"),
    "(`id` = 1099511627776L)": col("id") == 1 << 40,
    "`id`": col("id").alias("other"),
}.items():
    assert texts.text(column) == text, (texts.text(column), text)
for time in (datetime.datetime(2026, 1, 31, 1, 2, 3, 500000),):
    assert "TIMESTAMP" in texts.text(col("at") < time)
try:
    texts.text(col("st").withField("n", lit(1)))
except UnsupportedFeatureError:
    mark("refused")

table = (
    DeltaTable.create(spark)
    .location(path)
    .addColumn("number", "BIGINT", generatedAlwaysAs=IdentityGenerator())
    .addColumn("id", "BIGINT")
    .addColumn("s", "STRING")
    .execute()
)
source = spark.sql("SELECT id, 'new' AS s FROM range(4)")
merge = table.alias("t").merge(source.alias("s"), col("t.id") == col("s.id"))
counts = merge.whenNotMatchedInsert(values={"id": col("s.id"), "s": col("s.s")}).execute().first()
assert counts["num_inserted_rows"] == 4, counts
merge = table.merge(source, table.toDF()["id"] == source["id"])
assert merge.whenMatchedUpdate(set={"s": lit("both")}).execute().first()[1] == 4
table.update(col("id") > 2, {"s": functions.upper(col("s"))})
table.delete(col("id").isin(0, 1))
assert sorted((row.id, row.s) for row in table.toDF().collect()) == [(2, "both"), (3, "BOTH")]
assert table.history(1).first().operation == "DELETE"
assert table.detail().first().numFiles >= 1
assert table.restoreToVersion(1).first() is not None
assert table.vacuum().columns == []
table.optimize().executeCompaction()
assert table.clone(f"{path}-clone", True).toDF().count() == 4
mark("done")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio")
def test_tables_are_made_and_changed_on_connect(tmp_path):
    with SparkProcess(SCRIPT, tmp_path, remote="local[2]") as spark:
        spark.finish()
    assert {"refused", "done"} <= {file.name for file in spark.marks.iterdir()}
    table = da.DeltaTable(spark.table)
    assert table.to_pyarrow_table().sort_by("id")["number"].to_pylist() == [1, 2, 3, 4]
    assert table.verify(deep=True).ok
