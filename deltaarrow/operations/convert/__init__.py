"""CONVERT: a folder of Parquet files or an Iceberg table becomes a table, from names, metadata and footers.

`source` says which files count, `partitions` what their folders mean, `footers` reads the ends of the files
in threads, `schemas` merges their columns. `conversion` drives it: the plan, and one commit. Newcomers begin
there. `iceberg` makes the plan of an Iceberg table: `iceberg_source` reads its metadata and manifests,
`iceberg_columns` turns its columns and partitions into Delta's, `iceberg_matching` finds them in the files.
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
    from deltaarrow.operations.convert.folder_files import is_hidden as is_hidden, is_iceberg as is_iceberg
    from deltaarrow.operations.convert.iceberg import plan_iceberg_conversion as plan_iceberg_conversion

__getattr__ = lazy_package(__name__)
