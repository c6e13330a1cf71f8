"""CONVERT: a folder of Parquet files becomes a table, from their names and footers alone.

`source` says which files count, `partitions` what their folders mean, `footers` reads the ends of the files
in threads, `schemas` merges their columns. `conversion` drives it: the plan, and one commit. Newcomers begin
there.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.convert.conversion import (
        ConversionPlan as ConversionPlan,
        NewTableOptions as NewTableOptions,
        commit_conversion as commit_conversion,
        plan_conversion as plan_conversion,
    )

__getattr__ = lazy_package(__name__)
