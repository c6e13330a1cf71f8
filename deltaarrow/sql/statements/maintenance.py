"""Statements that keep a table in order and change none of its rows."""

from dataclasses import dataclass

from deltaarrow.spark_sql import TableName

__all__ = ["Generate"]


@dataclass(frozen=True)
class Generate:
    """``GENERATE mode FOR TABLE table``."""

    table: TableName
    mode: str
