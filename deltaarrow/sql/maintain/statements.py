"""Statements that maintain a table, or make a table from existing files.

A condition is the text of Spark's SQL in both dialects: it chooses partitions.
"""

from dataclasses import dataclass

from deltaarrow.schema import Field
from deltaarrow.spark_sql import TableName

__all__ = ["Analyze", "Convert", "Generate", "Optimize", "Reorg", "Repair", "Restore", "Vacuum"]


@dataclass(frozen=True)
class Optimize:
    """``OPTIMIZE table [FULL] [WHERE condition] [ZORDER BY columns]``.

    `z_order` are columns in Spark's notation.
    """

    table: TableName
    is_full: bool = False
    condition: str | None = None
    z_order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reorg:
    """``REORG TABLE table [WHERE condition] APPLY (...)``.

    `iceberg_compat_version` is None if it applies PURGE.
    """

    table: TableName
    condition: str | None = None
    iceberg_compat_version: int | None = None


@dataclass(frozen=True)
class Vacuum:
    """``VACUUM table [FULL | LITE] [USING INVENTORY ...] [RETAIN n HOURS] [DRY RUN]``.

    Attributes:
        table: the table.
        is_lite: whether the log tells which files go.
        retain_hours: how long removed files stay; None for what the table says.
        is_dry_run: whether files are only listed.
        inventory: the table, or the query, whose rows are the files in storage; None to list them.
    """

    table: TableName
    is_lite: bool = False
    retain_hours: float | None = None
    is_dry_run: bool = False
    inventory: TableName | str | None = None


@dataclass(frozen=True)
class Restore:
    """``RESTORE [TABLE] table [TO] VERSION | TIMESTAMP AS OF target``; a text is a timestamp."""

    table: TableName
    target: int | str


@dataclass(frozen=True)
class Convert:
    """``CONVERT TO DELTA format.`path` [NO STATISTICS] [PARTITIONED BY (...)]``."""

    source_format: str
    path: str
    collects_statistics: bool = True
    partition_by: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Generate:
    """``GENERATE mode FOR TABLE table``."""

    table: TableName
    mode: str


@dataclass(frozen=True)
class Repair:
    """``FSCK REPAIR TABLE table [DRY RUN]``."""

    table: TableName
    is_dry_run: bool = False


@dataclass(frozen=True)
class Analyze:
    """``ANALYZE TABLE table COMPUTE [DELTA] STATISTICS [FOR COLUMNS ...]``.

    `columns` is None for all columns; `is_full` says that statistics are computed anew that look complete.
    """

    table: TableName
    columns: tuple[str, ...] | None = None
    is_full: bool = False
