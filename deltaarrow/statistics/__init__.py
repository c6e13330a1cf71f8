"""Per-file statistics: collected while files are written, rendered as Spark renders them, and used to skip.

Implements *Per-file Statistics* of PROTOCOL.md.
"""

from typing import TYPE_CHECKING

from deltaarrow.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.statistics.arrow_guarantees import guarantee, guarantees, partition_expression
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
    from deltaarrow.statistics.held import PLACE, HeldStatistics, Left, StatisticsCondition
    from deltaarrow.statistics.parsing import parse_statistics, statistics_schema
    from deltaarrow.statistics.ranges import comparisons_of
    from deltaarrow.statistics.render import (
        Bound,
        JsonTree,
        nest,
        render_bound,
        render_statistics,
        truncate_max,
    )
    from deltaarrow.statistics.rewriting import with_num_records, with_wide_bounds
    from deltaarrow.statistics.skipping import skipping_sql
    from deltaarrow.statistics.value_conditions import ValueCondition, plain_values, value_condition
    from deltaarrow.statistics.variant_skipping import skip_by_variants

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
    "ValueCondition",
    "comparisons_of",
    "guarantee",
    "guarantees",
    "nest",
    "parquet_leaves",
    "parse_column_names",
    "parse_statistics",
    "partition_expression",
    "plain_values",
    "render_bound",
    "render_statistics",
    "skip_by_variants",
    "skipping_sql",
    "statistics_columns",
    "statistics_schema",
    "string_prefix_length",
    "truncate_max",
    "value_condition",
    "with_num_records",
    "with_wide_bounds",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DEFAULT_INDEXED_COLUMNS": "deltaarrow.statistics.columns",
        "DEFAULT_STRING_PREFIX_LENGTH": "deltaarrow.statistics.columns",
        "FOOTER_BOUND_LIMIT": "deltaarrow.statistics.collect",
        "PLACE": "deltaarrow.statistics.held",
        "ROWS_CANNOT_MATCH": "deltaarrow.statistics.evidence",
        "ROWS_MIGHT_MATCH": "deltaarrow.statistics.evidence",
        "Bound": "deltaarrow.statistics.render",
        "FileStatistics": "deltaarrow.statistics.collect",
        "HeldStatistics": "deltaarrow.statistics.held",
        "JsonTree": "deltaarrow.statistics.render",
        "Left": "deltaarrow.statistics.held",
        "StatisticsColumn": "deltaarrow.statistics.columns",
        "StatisticsCondition": "deltaarrow.statistics.held",
        "ValueCondition": "deltaarrow.statistics.value_conditions",
        "comparisons_of": "deltaarrow.statistics.ranges",
        "guarantee": "deltaarrow.statistics.arrow_guarantees",
        "guarantees": "deltaarrow.statistics.arrow_guarantees",
        "nest": "deltaarrow.statistics.render",
        "parquet_leaves": "deltaarrow.statistics.collect",
        "parse_column_names": "deltaarrow.statistics.columns",
        "parse_statistics": "deltaarrow.statistics.parsing",
        "partition_expression": "deltaarrow.statistics.arrow_guarantees",
        "plain_values": "deltaarrow.statistics.value_conditions",
        "render_bound": "deltaarrow.statistics.render",
        "render_statistics": "deltaarrow.statistics.render",
        "skip_by_variants": "deltaarrow.statistics.variant_skipping",
        "skipping_sql": "deltaarrow.statistics.skipping",
        "statistics_columns": "deltaarrow.statistics.columns",
        "statistics_schema": "deltaarrow.statistics.parsing",
        "string_prefix_length": "deltaarrow.statistics.columns",
        "truncate_max": "deltaarrow.statistics.render",
        "value_condition": "deltaarrow.statistics.value_conditions",
        "with_num_records": "deltaarrow.statistics.rewriting",
        "with_wide_bounds": "deltaarrow.statistics.rewriting",
    },
)
