"""Partition values: their text in the log, their folders and their literals.

Implements *Partition Value Serialization* of PROTOCOL.md; `deltaarrow.partitions.values` draws the
way of a value through its spellings.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.partitions.arrays import parse_partition_values
    from deltaarrow.partitions.duckdb_types import duckdb_type
    from deltaarrow.partitions.encoded import EncodedPartitionValues
    from deltaarrow.partitions.java import render_double, render_float
    from deltaarrow.partitions.literal import partition_literal_sql, partition_scalar
    from deltaarrow.partitions.paths import (
        DEFAULT_PARTITION,
        escape_path_name,
        partition_folder,
        random_prefix,
    )
    from deltaarrow.partitions.values import parse_partition_value, render_partition_value, render_timestamp

__all__ = [
    "DEFAULT_PARTITION",
    "EncodedPartitionValues",
    "duckdb_type",
    "escape_path_name",
    "parse_partition_value",
    "parse_partition_values",
    "partition_folder",
    "partition_literal_sql",
    "partition_scalar",
    "random_prefix",
    "render_double",
    "render_float",
    "render_partition_value",
    "render_timestamp",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DEFAULT_PARTITION": "deltaarrow.partitions.paths",
        "EncodedPartitionValues": "deltaarrow.partitions.encoded",
        "duckdb_type": "deltaarrow.partitions.duckdb_types",
        "escape_path_name": "deltaarrow.partitions.paths",
        "parse_partition_value": "deltaarrow.partitions.values",
        "parse_partition_values": "deltaarrow.partitions.arrays",
        "partition_folder": "deltaarrow.partitions.paths",
        "partition_literal_sql": "deltaarrow.partitions.literal",
        "partition_scalar": "deltaarrow.partitions.literal",
        "random_prefix": "deltaarrow.partitions.paths",
        "render_double": "deltaarrow.partitions.java",
        "render_float": "deltaarrow.partitions.java",
        "render_partition_value": "deltaarrow.partitions.values",
        "render_timestamp": "deltaarrow.partitions.values",
    },
)
