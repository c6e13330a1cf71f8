"""VACUUM in DuckDB's dialect, which has a statement of that name for its own tables."""

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import TableName, Words

__all__ = ["vacuum_subject"]


def vacuum_subject(words: Words) -> TableName | None:
    """Return the table of a VACUUM; None for one without a table.

    >>> vacuum_subject(Words("VACUUM", "duckdb")) is None
    True
    >>> vacuum_subject(Words("VACUUM lake.t DRY RUN", "duckdb"))
    TableName(parts=('lake', 't'), start=7, end=13)
    """
    words.expect("VACUUM")
    try:
        return words.table_name_or_path()
    except UnsupportedFeatureError:
        return None
