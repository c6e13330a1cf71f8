"""`Relations`, the compiler's interface to tables: names, columns and SQL."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import StructType
from deltaarrow.spark_sql.tree.row_errors import PlacedCalls

__all__ = ["CompiledQuery", "Parameters", "QuerySettings", "Relation", "Relations", "Travel"]

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""The values of ``?``, in their order, or of ``:name``."""


@dataclass(frozen=True, slots=True)
class Travel:
    """The version of a table that a query names; exactly one of both is given.

    Args:
        version: of ``VERSION AS OF`` and ``t@v3``.
        timestamp: of ``TIMESTAMP AS OF``, in UTC.
    """

    version: int | None = None
    timestamp: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view or the rows of a table function.

    Args:
        sql: a table expression of DuckDB to which an alias can be added. Its columns have the types that
            DuckDB's reader gives for the types of the schema; a timestamp is a TIMESTAMPTZ.
        schema: the columns.
        metadata: the fields of the further column ``_metadata``; None if there is none.
    """

    sql: str
    schema: StructType
    metadata: StructType | None = None


class Relations(Protocol):
    """Gives the compiler the relations that a query names."""

    def table(self, names: tuple[str, ...], travel: Travel | None) -> Relation:
        """Return the relation of a table name, at a version if one is given.

        Raises `TableNotFoundError` or another `DeltaError` if there is none.
        """
        ...

    def function(self, name: str, arguments: tuple[object, ...]) -> Relation | None:
        """Return the relation of a table function such as ``table_changes``, None for an unknown name.

        The arguments are Python values of literals and parameters.
        """
        ...


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Settings of a session that change what a query means, beside the session time zone.

    Args:
        clock: gives ``current_timestamp()``.
    """

    clock: Clock = system_clock


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query as DuckDB's SQL.

    Args:
        sql: one SELECT. A column of it has the type that DuckDB's reader gives for its type in the schema.
        schema: the columns with Spark's names, of which several may be equal, and their types.
        columns: the same as a query sees them that reads this one as a relation.
        calls: those that DuckDB may let fail, for the places of its errors.
    """

    sql: str
    schema: StructType = field(repr=False)
    columns: StructType = field(repr=False)
    calls: PlacedCalls = field(default=(), repr=False)
