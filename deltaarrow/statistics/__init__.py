"""Per-file statistics: collected while files are written, rendered as Spark renders them, and used to skip.

Implements *Per-file Statistics* of PROTOCOL.md.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.statistics.arrow_guarantees import (
        guarantee as guarantee,
        guarantees as guarantees,
        partition_expression as partition_expression,
    )
    from deltaarrow.statistics.char_bounds import stored_predicate as stored_predicate
    from deltaarrow.statistics.collect import (
        FOOTER_BOUND_LIMIT as FOOTER_BOUND_LIMIT,
        CollectedColumns as CollectedColumns,
        ColumnStatistics as ColumnStatistics,
        FileStatistics as FileStatistics,
        parquet_leaves as parquet_leaves,
    )
    from deltaarrow.statistics.column_selection import (
        DEFAULT_INDEXED_COLUMNS as DEFAULT_INDEXED_COLUMNS,
        DEFAULT_STRING_PREFIX_LENGTH as DEFAULT_STRING_PREFIX_LENGTH,
        StatisticsColumn as StatisticsColumn,
        parse_column_names as parse_column_names,
        statistics_columns as statistics_columns,
        string_prefix_length as string_prefix_length,
    )
    from deltaarrow.statistics.evidence import (
        ROWS_CANNOT_MATCH as ROWS_CANNOT_MATCH,
        ROWS_MIGHT_MATCH as ROWS_MIGHT_MATCH,
        Asked as Asked,
        FileEvidence as FileEvidence,
        Verdicts as Verdicts,
    )
    from deltaarrow.statistics.footer_bounds import LeafBounds as LeafBounds
    from deltaarrow.statistics.from_footers import FooterStatistics as FooterStatistics
    from deltaarrow.statistics.json_edits import (
        with_num_records as with_num_records,
        with_wide_bounds as with_wide_bounds,
    )
    from deltaarrow.statistics.json_parsing import (
        parse_statistics as parse_statistics,
        statistics_schema as statistics_schema,
    )
    from deltaarrow.statistics.listed import (
        PLACE as PLACE,
        ListedFiles as ListedFiles,
        matching_each as matching_each,
        matching_rows as matching_rows,
        read_statistics as read_statistics,
    )
    from deltaarrow.statistics.recounting import (
        RecountedStatistics as RecountedStatistics,
        are_tight as are_tight,
    )
    from deltaarrow.statistics.render import (
        Bound as Bound,
        JsonTree as JsonTree,
        nest as nest,
        render_bound as render_bound,
        render_statistics as render_statistics,
        truncate_max as truncate_max,
    )
    from deltaarrow.statistics.skipping import may_match as may_match, statistics_asked as statistics_asked

__getattr__ = lazy_package(__name__)
