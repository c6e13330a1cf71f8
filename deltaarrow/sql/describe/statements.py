"""Statements about the names of tables and schemas, and those that describe a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltaarrow.spark_sql import TableName

__all__ = [
    "Attach",
    "CreateSchema",
    "DescribeDetail",
    "DescribeHistory",
    "DescribeQuery",
    "DescribeSchema",
    "DescribeTable",
    "Detach",
    "DropSchema",
    "SetCatalog",
    "ShowCatalogs",
    "ShowColumns",
    "ShowCreateTable",
    "ShowCurrentNamespace",
    "ShowPartitions",
    "ShowProperties",
    "ShowSchemas",
    "ShowTables",
    "ShowViews",
    "Summarize",
    "Use",
]


@dataclass(frozen=True)
class Use:
    """``USE [SCHEMA] schema``; `text` is the whole statement."""

    schema: tuple[str, ...]
    text: str = field(repr=False)


@dataclass(frozen=True)
class CreateSchema:
    """``CREATE SCHEMA|DATABASE|NAMESPACE [IF NOT EXISTS] schema``; `text` is the whole statement."""

    schema: tuple[str, ...]
    if_not_exists: bool = False
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class DropSchema:
    """``DROP SCHEMA|DATABASE|NAMESPACE [IF EXISTS] schema [RESTRICT|CASCADE]``; `text` is the statement."""

    schema: tuple[str, ...]
    if_exists: bool = False
    cascades: bool = False
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class SetCatalog:
    """``SET CATALOG catalog``."""

    catalog: str


@dataclass(frozen=True)
class ShowCatalogs:
    """``SHOW CATALOGS [LIKE pattern]``."""

    pattern: str | None = None


@dataclass(frozen=True)
class ShowSchemas:
    """``SHOW SCHEMAS|DATABASES|NAMESPACES [LIKE pattern]``."""

    pattern: str | None = None


@dataclass(frozen=True)
class ShowCurrentNamespace:
    """``SHOW CURRENT NAMESPACE``."""


@dataclass(frozen=True)
class ShowTables:
    """``SHOW TABLES [IN schema] [LIKE pattern]``; `text` is the whole statement."""

    schema: tuple[str, ...] | None = None
    pattern: str | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class ShowViews:
    """``SHOW VIEWS [IN schema] [LIKE pattern]``."""

    schema: tuple[str, ...] | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class ShowProperties:
    """``SHOW TBLPROPERTIES table [(name)]``."""

    table: TableName
    name: str | None = None


@dataclass(frozen=True)
class ShowColumns:
    """``SHOW COLUMNS IN table [IN schema]``."""

    table: TableName


@dataclass(frozen=True)
class ShowPartitions:
    """``SHOW PARTITIONS table [PARTITION (column = value, ...)]``; a value is a text of Spark SQL."""

    table: TableName
    wanted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ShowCreateTable:
    """``SHOW CREATE TABLE table``."""

    table: TableName


@dataclass(frozen=True)
class DescribeTable:
    """``DESCRIBE [TABLE] [EXTENDED] table [column]``; `text` is the whole statement."""

    table: TableName
    is_extended: bool = False
    column: str | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class Summarize:
    """``SUMMARIZE table``; `text` is the whole statement."""

    table: TableName
    text: str = field(repr=False)


@dataclass(frozen=True)
class DescribeQuery:
    """``DESCRIBE [QUERY] query``."""

    query: str


@dataclass(frozen=True)
class DescribeDetail:
    """``DESCRIBE DETAIL table``."""

    table: TableName


@dataclass(frozen=True)
class DescribeHistory:
    """``DESCRIBE HISTORY table [LIMIT n]``."""

    table: TableName
    limit: int | None = None


@dataclass(frozen=True)
class DescribeSchema:
    """``DESCRIBE SCHEMA [EXTENDED] schema``."""

    schema: tuple[str, ...]
    is_extended: bool = False


@dataclass(frozen=True)
class Attach:
    """``ATTACH 'folder' AS name (TYPE delta)``; the folder of one table gives the table this name."""

    folder: str
    name: str | None = None
    may_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Detach:
    """``DETACH [DATABASE] [IF EXISTS] name``; `text` is the whole statement."""

    name: str
    text: str = field(repr=False)
