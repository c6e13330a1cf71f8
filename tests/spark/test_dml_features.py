"""A table with many features whose rows we change: Spark reads it and continues with it."""

import pytest

from deltaarrow import DeltaTable
from tests.support.many_features import changed_table
from tests.support.spark import delta_table

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COLUMNS = [
    "id",
    "day",
    "year",
    "number",
    "at",
    "note",
    "price",
    "_metadata.row_id",
    "_metadata.row_commit_version",
]
CHANGED = ["_commit_version", "_change_type", "id", "year", "note", "price"]


def ours(table: DeltaTable) -> list[str]:
    return sorted(str(tuple(row.values())) for row in table.to_pyarrow_table(columns=COLUMNS).to_pylist())


def of_spark(frame) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("vectors", [True, False], ids=["vectors", "rewriting"])
def test_spark_sees_the_rows_their_ids_and_what_became_of_them_and_goes_on(spark, tmp_path, vectors):
    table = changed_table(tmp_path, {"delta.enableDeletionVectors": "true"} if vectors else {})
    name = delta_table(tmp_path)
    query = f"SELECT {', '.join(COLUMNS)} FROM {name}"
    assert ours(table) == of_spark(spark.sql(query))
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    changes = table.load_cdf(1).read_all().select(CHANGED).to_pylist()
    assert of_spark(feed.load(str(tmp_path)).select(*CHANGED)) == sorted(
        str(tuple(row.values())) for row in changes
    )
    spark.sql(f"UPDATE {name} SET price = price + 1 WHERE id > 40")
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    table.update_incremental()
    table.update({"note": "'more'"}, predicate="id % 3 = 0")
    assert ours(table) == of_spark(spark.sql(query))
    assert table.verify(deep=True).ok
