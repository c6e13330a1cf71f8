"""Statements that create, clone and drop tables and views."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltaarrow.schema import Field
from deltaarrow.spark_sql import TableName

__all__ = [
    "CloneTable",
    "CommentOnTable",
    "CreateTable",
    "CreateTableLike",
    "CreateView",
    "DropTable",
    "DropView",
    "TableClauses",
]


@dataclass(frozen=True)
class TableClauses:
    """What a statement says of a new table besides its columns.

    `location` is its folder; None for the one that its name gives it.
    """

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    location: str | None = None


@dataclass(frozen=True)
class CreateTable:
    """``[CREATE] [OR] [REPLACE] TABLE [IF NOT EXISTS] table (columns) ... [AS query]``."""

    table: TableName
    columns: tuple[Field, ...] = ()
    clauses: TableClauses = TableClauses()
    query: str | None = None
    may_create: bool = True
    may_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateTableLike:
    """``CREATE TABLE [IF NOT EXISTS] table LIKE source ...``."""

    table: TableName
    source: TableName
    clauses: TableClauses = TableClauses()
    if_not_exists: bool = False


@dataclass(frozen=True)
class CloneTable:
    """``CREATE [OR REPLACE] TABLE table SHALLOW|DEEP CLONE source [VERSION|TIMESTAMP AS OF version]``."""

    table: TableName
    source: TableName
    shallow: bool
    version: int | str | None = None
    clauses: TableClauses = TableClauses()
    may_create: bool = True
    may_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropTable:
    """``DROP TABLE [IF EXISTS] table [PURGE]``."""

    table: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class CommentOnTable:
    """``COMMENT ON TABLE table IS 'text'``; NULL is the empty text, as for Spark."""

    table: TableName
    comment: str


@dataclass(frozen=True)
class CreateView:
    """``CREATE [OR REPLACE] [TEMPORARY] VIEW [IF NOT EXISTS] view [(columns)] AS query``.

    `text` is the whole statement, and `columns` are the names and comments of the columns if they are given.
    """

    view: TableName
    query: str
    text: str = field(repr=False)
    columns: tuple[tuple[str, str | None], ...] = ()
    is_temporary: bool = False
    may_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropView:
    """``DROP VIEW [IF EXISTS] view``; `text` is the whole statement."""

    view: TableName
    text: str = field(repr=False)
    if_exists: bool = False
