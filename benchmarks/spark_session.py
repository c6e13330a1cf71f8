"""The Spark session of the benchmarks, with deltaarrow's data source and delta-spark: `spark_session`."""

import os
from pathlib import Path
from typing import Any

__all__ = ["CLUSTER", "LOCAL", "spark_session"]

LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,2048]"
"""Two executors in processes of their own, each with one core and 2 GiB."""

_DELTA = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def spark_session(*, has_delta: bool = True, master: str = LOCAL) -> Any:
    """Return the session, started and with its executors warm; without delta-spark's jar if so asked."""
    import sys

    from pyspark.sql import SparkSession

    import deltaarrow.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Executors of a cluster run in folders of their own.
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    if master == CLUSTER:
        settings["spark.executor.memory"] = "2048m"
    if has_delta:
        settings |= _DELTA
    builder = SparkSession.builder.master(master).appName("deltaarrow benchmarks")
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
