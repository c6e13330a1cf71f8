"""Delta tables as a data source of PySpark's, without a jar: `register`, then ``format("deltaarrow")``.

The driver plans and commits; executors read and write files with the very tasks that one node runs.
Needs PySpark, and on executors `deltaarrow` itself.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package
from deltaarrow.spark.registration import register as register

if TYPE_CHECKING:
    from deltaarrow.spark.source import DeltaSource as DeltaSource

__getattr__ = lazy_package(__name__)
