"""The suite of delta-spark runs in a process of its own, which `tests.delta_spark_suite.suite` starts."""

collect_ignore = ["delta_alias.py"]
