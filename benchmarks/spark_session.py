"""The Spark session of the benchmarks: ``local[2]``, with delta-spark and deltaarrow's data source."""

import os
from typing import Any

__all__ = ["spark_session"]


def spark_session() -> Any:
    """Return the session, started and with its executor warm."""
    import sys

    from delta import configure_spark_with_delta_pip
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
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    builder = SparkSession.builder.master("local[2]").appName("deltaarrow benchmarks")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    deltaarrow.spark.register(spark)
    spark.range(0, 100, 1, 2).selectExpr("sum(id)").collect()
    return spark
