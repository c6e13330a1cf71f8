"""delta-spark's Python API for tables, without its jar: a notebook moves over by its import.

::

    from deltaarrow.spark.tables import DeltaTable  # before: from delta.tables import DeltaTable

The classes and methods have the names, the arguments and the results of delta-spark's ``delta.tables``, on
classic Spark and on Spark Connect. The table is planned and committed by this package, in the process that
holds the session: on Spark Connect, the client reaches the storage. Expressions are Spark SQL, or columns of
PySpark, which become Spark SQL (`column_sql`). It raises the errors of `deltaarrow.errors`.

`delta_table` is the front door; `operations` has what each method does, as one function.
"""

from typing import TYPE_CHECKING, Any

from deltaarrow.runtime.lazy import lazy_package
from deltaarrow.runtime.optional import require

if TYPE_CHECKING:
    from deltaarrow.spark.tables.delta_table import DeltaTable as DeltaTable
    from deltaarrow.spark.tables.merge_builder import DeltaMergeBuilder as DeltaMergeBuilder
    from deltaarrow.spark.tables.optimize_builder import DeltaOptimizeBuilder as DeltaOptimizeBuilder
    from deltaarrow.spark.tables.table_builder import (
        DeltaTableBuilder as DeltaTableBuilder,
        IdentityGenerator as IdentityGenerator,
    )

_load = lazy_package(__name__)


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        require("pyspark")
    return _load(name)
