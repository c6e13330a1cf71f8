"""Per-file statistics: collected while files are written, rendered as Spark renders them, and used to skip.

Implements *Per-file Statistics* of PROTOCOL.md.
"""

from deltaarrow.statistics.collect import FOOTER_BOUND_LIMIT, FileStatistics, parquet_leaf_paths
from deltaarrow.statistics.columns import (
    DEFAULT_INDEXED_COLUMNS,
    DEFAULT_STRING_PREFIX_LENGTH,
    StatisticsColumn,
    parse_column_names,
    statistics_columns,
    string_prefix_length,
)
from deltaarrow.statistics.render import (
    Bound,
    JsonTree,
    nest,
    render_bound,
    render_statistics,
    truncate_max,
)

__all__ = [
    "DEFAULT_INDEXED_COLUMNS",
    "DEFAULT_STRING_PREFIX_LENGTH",
    "FOOTER_BOUND_LIMIT",
    "Bound",
    "FileStatistics",
    "JsonTree",
    "StatisticsColumn",
    "nest",
    "parquet_leaf_paths",
    "parse_column_names",
    "render_bound",
    "render_statistics",
    "statistics_columns",
    "string_prefix_length",
    "truncate_max",
]
