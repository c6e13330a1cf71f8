"""Concurrent writes of both data sources to one table."""

import threading

import pytest

import deltaarrow as da
import deltaarrow.spark
from tests.support.spark import spark_table


@pytest.mark.slow
def test_appends_of_both_sources_at_the_same_time_are_all_there(spark, tmp_path):
    deltaarrow.spark.register(spark)
    spark.range(0).write.format("delta").save(str(tmp_path))
    errors = []

    def append(source, first):
        try:
            spark.createDataFrame([], "id LONG")  # makes the session the active one of this thread
            for number in range(first, first + 5):
                rows = spark.range(number * 10, number * 10 + 10, 1, 2)
                rows.write.format(source).mode("append").save(str(tmp_path))
        except Exception as error:
            errors.append(error)

    threads = [
        threading.Thread(target=append, args=(source, first))
        for source, first in (("deltaarrow", 0), ("delta", 5), ("deltaarrow", 10))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [str(error) for error in errors]
    assert sorted(spark_table(spark, tmp_path)["id"].to_pylist()) == list(range(150))
    assert da.DeltaTable(tmp_path).version() == 15
    assert da.DeltaTable(tmp_path).verify(deep=True).ok
