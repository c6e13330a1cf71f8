"""The history of a conditional overwrite has the same figures as delta-spark's."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake

COUNTS = (
    "numFiles",
    "numOutputRows",
    "numCopiedRows",
    "numDeletedRows",
    "numRemovedFiles",
    "numAddedChangeFiles",
)


@pytest.mark.parametrize(
    ("vectors", "feed"),
    [
        ("true", "false"),
        ("false", "true"),
        pytest.param("true", "true", marks=pytest.mark.slow),
        pytest.param("false", "false", marks=pytest.mark.slow),
    ],
)
def test_rows_that_stay_are_counted_as_delta_spark_counts_them(spark, tmp_path, vectors, feed):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    configuration = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": feed}
    rows = pa.table({"id": range(10), "v": [0] * 10})
    news = pa.table({"id": [8, 9, 10], "v": [1] * 3})
    for path in (ours, theirs):
        write_deltalake(path, rows, configuration=configuration)
    write_deltalake(ours, news, mode="overwrite", predicate="id >= 8")
    frame = spark.createDataFrame(news.to_pylist(), "id long, v long").coalesce(1)
    frame.write.format("delta").mode("overwrite").option("replaceWhere", "id >= 8").save(str(theirs))
    (one, other) = (DeltaTable(path).history(1)[0]["operationMetrics"] for path in (ours, theirs))
    assert {key: one[key] for key in COUNTS} == {key: other[key] for key in COUNTS}
    assert one["numOutputRows"] == "11"
