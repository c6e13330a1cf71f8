"""The Spark session of the benchmarks: ``local[2]``, with deltaarrow's data source, and with delta-spark."""

import os
from typing import Any

__all__ = ["spark_session"]

_DELTA = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def spark_session(*, has_delta: bool = True) -> Any:
    """Return the session, started and with its executor warm; without delta-spark's jar if so asked."""
    import sys

    from pyspark.sql import SparkSession

    import deltaarrow.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    if has_delta:
        settings |= _DELTA
    builder = SparkSession.builder.master("local[2]").appName("deltaarrow benchmarks")
    for key, value in settings.items():
        builder = builder.config(key, value)
    if has_delta:
        from delta import configure_spark_with_delta_pip

        builder = configure_spark_with_delta_pip(builder)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    deltaarrow.spark.register(spark)
    spark.range(0, 100, 1, 2).selectExpr("sum(id)").collect()
    return spark
