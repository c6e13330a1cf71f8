"""The SQLSTATEs of error classes are those of Spark and of delta-spark."""

import pytest

from deltaarrow.sql.error_states import _STATES

pytestmark = pytest.mark.spark


def test_states_are_those_of_spark(spark):
    known = spark._jvm.org.apache.spark.SparkThrowableHelper
    deltas = spark._jvm.org.apache.spark.sql.delta.DeltaThrowableHelper
    found = {name: (deltas if name.startswith("DELTA_") else known).getSqlState(name) for name in _STATES}
    assert found == _STATES
