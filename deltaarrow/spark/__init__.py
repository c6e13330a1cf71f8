"""A PySpark data source for Delta tables, without a jar: `register`, then ``format("deltaarrow")``.

The driver plans and commits; executors read and write files with the same tasks that run on one node. Inside
`on_executors`, operations on tables run their tasks there too.
Needs PySpark, and `deltaarrow` on the executors.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package
from deltaarrow.spark.registration import register as register

if TYPE_CHECKING:
    from deltaarrow.spark.data_source import DeltaSource as DeltaSource
    from deltaarrow.spark.executor import SparkExecutor as SparkExecutor, on_executors as on_executors

__getattr__ = lazy_package(__name__)
