"""Partition values: their text in the log, their folders and their literals.

Implements *Partition Value Serialization* of PROTOCOL.md; `deltaarrow.partitions.values` draws the
way of a value through its spellings.
"""

from deltaarrow.partitions.arrays import parse_partition_values
from deltaarrow.partitions.java import render_double, render_float
from deltaarrow.partitions.literal import duckdb_type, partition_literal_sql, partition_scalar
from deltaarrow.partitions.paths import DEFAULT_PARTITION, escape_path_name, partition_folder, random_prefix
from deltaarrow.partitions.values import parse_partition_value, render_partition_value, render_timestamp

__all__ = [
    "DEFAULT_PARTITION",
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
