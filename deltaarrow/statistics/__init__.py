"""Per-file statistics: collected while files are written, rendered as Spark renders them, and used to skip.

Implements *Per-file Statistics* of PROTOCOL.md.
"""

from deltaarrow.statistics.collect import FOOTER_BOUND_LIMIT, FileStatistics, parquet_leaves
from deltaarrow.statistics.columns import (
    DEFAULT_INDEXED_COLUMNS,
    DEFAULT_STRING_PREFIX_LENGTH,
    StatisticsColumn,
    parse_column_names,
    statistics_columns,
    string_prefix_length,
)
from deltaarrow.statistics.evidence import ROWS_CANNOT_MATCH, ROWS_MIGHT_MATCH
from deltaarrow.statistics.guarantees import guarantee, guarantees, partition_expression
from deltaarrow.statistics.held import PLACE, HeldStatistics, Left, StatisticsCondition
from deltaarrow.statistics.parsing import parse_statistics, statistics_schema
from deltaarrow.statistics.render import (
    Bound,
    JsonTree,
    nest,
    render_bound,
    render_statistics,
    truncate_max,
)
from deltaarrow.statistics.rewriting import with_num_records, with_wide_bounds
from deltaarrow.statistics.skipping import skip_by_variants, skipping_sql

__all__ = [
    "DEFAULT_INDEXED_COLUMNS",
    "DEFAULT_STRING_PREFIX_LENGTH",
    "FOOTER_BOUND_LIMIT",
    "PLACE",
    "ROWS_CANNOT_MATCH",
    "ROWS_MIGHT_MATCH",
    "Bound",
    "FileStatistics",
    "HeldStatistics",
    "JsonTree",
    "Left",
    "StatisticsColumn",
    "StatisticsCondition",
    "guarantee",
    "guarantees",
    "nest",
    "parquet_leaves",
    "parse_column_names",
    "parse_statistics",
    "partition_expression",
    "render_bound",
    "render_statistics",
    "skip_by_variants",
    "skipping_sql",
    "statistics_columns",
    "statistics_schema",
    "string_prefix_length",
    "truncate_max",
    "with_num_records",
    "with_wide_bounds",
]
