"""Partition values: their text in the log, their folders and their literals.

Chapter *Partition Value Serialization* of the protocol; `deltaarrow.partitions.values` draws the conversions
of a value.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.partitions.duckdb_types import duckdb_type as duckdb_type
    from deltaarrow.partitions.encoded import EncodedPartitionValues as EncodedPartitionValues
    from deltaarrow.partitions.folder_names import (
        DEFAULT_PARTITION as DEFAULT_PARTITION,
        escape_path_name as escape_path_name,
        partition_folder as partition_folder,
        random_prefix as random_prefix,
    )
    from deltaarrow.partitions.java import render_double as render_double, render_float as render_float
    from deltaarrow.partitions.literal import (
        partition_literal_sql as partition_literal_sql,
        partition_scalar as partition_scalar,
    )
    from deltaarrow.partitions.value_columns import parse_partition_values as parse_partition_values
    from deltaarrow.partitions.values import (
        parse_partition_value as parse_partition_value,
        render_partition_value as render_partition_value,
        render_timestamp as render_timestamp,
    )

__getattr__ = lazy_package(__name__)
