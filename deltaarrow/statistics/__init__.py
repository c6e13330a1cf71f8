"""Per-file statistics: collected while files are written, rendered as Spark renders them, and used to skip.

Implements *Per-file Statistics* of PROTOCOL.md.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

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
    from deltaarrow.statistics.evidence import (
        ROWS_CANNOT_MATCH,
        ROWS_MIGHT_MATCH,
        Asked,
        FileEvidence,
        Verdicts,
    )
    from deltaarrow.statistics.listed import PLACE, ListedFiles, matching_rows, read_statistics
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
    from deltaarrow.statistics.skipping import may_match, statistics_asked

__all__ = [
    "DEFAULT_INDEXED_COLUMNS",
    "DEFAULT_STRING_PREFIX_LENGTH",
    "FOOTER_BOUND_LIMIT",
    "PLACE",
    "ROWS_CANNOT_MATCH",
    "ROWS_MIGHT_MATCH",
    "Asked",
    "Bound",
    "FileEvidence",
    "FileStatistics",
    "JsonTree",
    "ListedFiles",
    "StatisticsColumn",
    "Verdicts",
    "guarantee",
    "guarantees",
    "matching_rows",
    "may_match",
    "nest",
    "parquet_leaves",
    "parse_column_names",
    "parse_statistics",
    "partition_expression",
    "read_statistics",
    "render_bound",
    "render_statistics",
    "statistics_asked",
    "statistics_columns",
    "statistics_schema",
    "string_prefix_length",
    "truncate_max",
    "with_num_records",
    "with_wide_bounds",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DEFAULT_INDEXED_COLUMNS": "deltaarrow.statistics.columns",
        "DEFAULT_STRING_PREFIX_LENGTH": "deltaarrow.statistics.columns",
        "FOOTER_BOUND_LIMIT": "deltaarrow.statistics.collect",
        "PLACE": "deltaarrow.statistics.listed",
        "ROWS_CANNOT_MATCH": "deltaarrow.statistics.evidence",
        "ROWS_MIGHT_MATCH": "deltaarrow.statistics.evidence",
        "Asked": "deltaarrow.statistics.evidence",
        "Bound": "deltaarrow.statistics.render",
        "FileEvidence": "deltaarrow.statistics.evidence",
        "FileStatistics": "deltaarrow.statistics.collect",
        "JsonTree": "deltaarrow.statistics.render",
        "ListedFiles": "deltaarrow.statistics.listed",
        "StatisticsColumn": "deltaarrow.statistics.columns",
        "Verdicts": "deltaarrow.statistics.evidence",
        "guarantee": "deltaarrow.statistics.arrow_guarantees",
        "guarantees": "deltaarrow.statistics.arrow_guarantees",
        "matching_rows": "deltaarrow.statistics.listed",
        "may_match": "deltaarrow.statistics.skipping",
        "nest": "deltaarrow.statistics.render",
        "parquet_leaves": "deltaarrow.statistics.collect",
        "parse_column_names": "deltaarrow.statistics.columns",
        "parse_statistics": "deltaarrow.statistics.parsing",
        "partition_expression": "deltaarrow.statistics.arrow_guarantees",
        "read_statistics": "deltaarrow.statistics.listed",
        "render_bound": "deltaarrow.statistics.render",
        "render_statistics": "deltaarrow.statistics.render",
        "statistics_asked": "deltaarrow.statistics.skipping",
        "statistics_columns": "deltaarrow.statistics.columns",
        "statistics_schema": "deltaarrow.statistics.parsing",
        "string_prefix_length": "deltaarrow.statistics.columns",
        "truncate_max": "deltaarrow.statistics.render",
        "with_num_records": "deltaarrow.statistics.rewriting",
        "with_wide_bounds": "deltaarrow.statistics.rewriting",
    },
)
