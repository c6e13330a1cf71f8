"""Each form of ALTER TABLE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltaarrow.operations import ColumnChange
from deltaarrow.schema import Field
from deltaarrow.spark_sql import TableName

__all__ = [
    "AddColumns",
    "AddConstraint",
    "AddFeature",
    "AlterIfExists",
    "ChangeColumns",
    "ClusterBy",
    "CommentColumn",
    "DropColumns",
    "DropConstraint",
    "DropFeature",
    "RenameColumn",
    "RenameTable",
    "ReplaceColumns",
    "SetProperties",
    "SyncIdentity",
    "UnsetProperties",
]


@dataclass(frozen=True)
class AlterIfExists:
    """``ALTER TABLE IF EXISTS table ...``: the statement without these words."""

    table: TableName
    statement: Any


@dataclass(frozen=True)
class AddColumns:
    """``ADD COLUMNS (...)``: the parents and the field of each, and the places of some, by their paths."""

    table: TableName
    fields: tuple[tuple[tuple[str, ...], Field], ...]
    positions: Mapping[str, str]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumns:
    """``DROP COLUMNS [IF EXISTS] (...)``."""

    table: TableName
    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    """``RENAME COLUMN column TO new_name``."""

    table: TableName
    column: str
    new_name: str


@dataclass(frozen=True)
class ChangeColumns:
    """``ALTER COLUMN column ..., ...``."""

    table: TableName
    changes: Mapping[str, ColumnChange]


class CommentColumn(ChangeColumns):
    """``COMMENT ON COLUMN table.column IS comment``."""


@dataclass(frozen=True)
class SyncIdentity:
    """``ALTER COLUMN column SYNC IDENTITY``."""

    table: TableName
    column: str


@dataclass(frozen=True)
class ReplaceColumns:
    """``REPLACE COLUMNS (...)``."""

    table: TableName
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class AddConstraint:
    """``ADD CONSTRAINT name CHECK (condition)``."""

    table: TableName
    name: str
    condition: str


@dataclass(frozen=True)
class DropConstraint:
    """``DROP CONSTRAINT [IF EXISTS] name``."""

    table: TableName
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class SetProperties:
    """``SET TBLPROPERTIES (...)``."""

    table: TableName
    properties: Mapping[str, str]


@dataclass(frozen=True)
class UnsetProperties:
    """``UNSET TBLPROPERTIES [IF EXISTS] (...)``. Spark, too, passes over properties that are not there."""

    table: TableName
    names: tuple[str, ...]


@dataclass(frozen=True)
class ClusterBy:
    """``CLUSTER BY (...)``; no columns for ``CLUSTER BY NONE``."""

    table: TableName
    columns: tuple[str, ...]


@dataclass(frozen=True)
class AddFeature:
    """``ADD FEATURE feature``."""

    table: TableName
    feature: str


@dataclass(frozen=True)
class DropFeature:
    """``DROP FEATURE feature [TRUNCATE HISTORY]``."""

    table: TableName
    feature: str
    truncate_history: bool = False


@dataclass(frozen=True)
class RenameTable:
    """``RENAME TO new_name``."""

    table: TableName
    new_name: TableName
