"""Statements that change the rows of a table.

Conditions, values and queries are texts, in the dialect of the statement. A path to a column is in Spark's
notation: a part in backticks where it is no plain name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltaarrow.operations.dml import MergeClause, When
from deltaarrow.spark_sql import TableName

__all__ = [
    "COPIED_FILES",
    "Begin",
    "Commit",
    "CopyFrom",
    "CopyInto",
    "CopyOut",
    "CopyTo",
    "Delete",
    "Insert",
    "Merge",
    "PassOver",
    "Rollback",
    "Truncate",
    "Update",
]

COPIED_FILES = "__deltaarrow_copied_files"
"""The relation of the rows of the files in the query of a COPY INTO."""


@dataclass(frozen=True)
class Insert:
    """``INSERT {INTO | OVERWRITE} table ... query``.

    Attributes:
        table: the table.
        query: what finds the rows; None for one row of defaults.
        columns: the columns that the query's columns are for, in their order; those of the table if None.
        by_name: whether the query's columns are for the columns of the same names.
        overwrites: whether the rows take the place of present ones.
        replaced: which rows an overwrite replaces, as a condition; None for all, or those of `partition`.
        partition: the partition columns of the clause, with the texts of their values; None without value.
        evolves: whether columns that the table lacks are added.
        using: the columns by which rows of the table match rows of the query, which take their place.
        match: the condition by which they match; `using` excludes it.
        alias: that of the table in `match`.
        query_alias: that of the query in `match`.
    """

    table: TableName
    query: str | None
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    overwrites: bool = False
    replaced: str | None = None
    partition: Mapping[str, str | None] = field(default_factory=dict)
    evolves: bool = False
    using: tuple[str, ...] = ()
    match: str | None = None
    alias: str | None = None
    query_alias: str | None = None


@dataclass(frozen=True)
class Delete:
    """``DELETE FROM table [alias] [USING others] [WHERE condition]``."""

    table: TableName
    alias: str | None = None
    others: str | None = None
    condition: str | None = None


@dataclass(frozen=True)
class Update:
    """``UPDATE table [alias] SET path = value, ... [FROM others] [WHERE condition]``."""

    table: TableName
    values: Mapping[str, str]
    alias: str | None = None
    others: str | None = None
    condition: str | None = None


@dataclass(frozen=True)
class PassOver:
    """``WHEN ... THEN DO NOTHING``: rows that no later clause of a MERGE changes."""

    when: When
    predicate: str | None = None


@dataclass(frozen=True)
class Merge:
    """``MERGE INTO table [alias] USING source [alias] ON condition WHEN ...``.

    Attributes:
        table: the table.
        source: a query, in Spark's dialect; in DuckDB's what stands in FROM, with its alias.
        condition: by which rows match.
        clauses: what is done with the rows, in order.
        alias: that of the table.
        source_alias: that of the source; a table's own name if it has no other.
        evolves: whether columns of the source that the table lacks are added.
    """

    table: TableName
    source: str
    condition: str
    clauses: tuple[MergeClause | PassOver, ...]
    alias: str | None = None
    source_alias: str | None = None
    evolves: bool = False

    @property
    def changes(self) -> list[MergeClause]:
        """The clauses that change rows."""
        return [each for each in self.clauses if isinstance(each, MergeClause)]


@dataclass(frozen=True)
class Truncate:
    """``TRUNCATE [TABLE] table``."""

    table: TableName


@dataclass(frozen=True)
class CopyTo:
    """``COPY (query) TO table (FORMAT delta, ...)``.

    Attributes:
        query: what finds the rows.
        table: the table, which is created if there is none.
        mode: as for `deltaarrow.write_deltalake`.
        partition_by: the partition columns of a new table.
        schema_mode: as for `deltaarrow.write_deltalake`.
    """

    query: str
    table: TableName
    mode: str = "error"
    partition_by: tuple[str, ...] | None = None
    schema_mode: str | None = None


@dataclass(frozen=True)
class CopyOut:
    """``COPY table TO ...`` in another format than Delta; `query` is the same for the rows of a query."""

    table: TableName
    query: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class CopyFrom:
    """``COPY table (columns) FROM files``; `source` is what stands after the columns, `text` the whole."""

    table: TableName
    columns: tuple[str, ...] | None
    source: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class CopyInto:
    """``COPY INTO table FROM 'folder' | (SELECT ... FROM 'folder') FILEFORMAT = format ...``.

    Attributes:
        table: the table.
        source: the folder or the file, as a path or URI.
        format: of the files, in lower case.
        query: what is copied of `COPIED_FILES`; None for all columns.
        columns: the columns that those of the files are for, in their order; None for those of the table.
        by_name: whether columns are for those of the same names.
        files: the names of the files, relative to the folder; None for all.
        pattern: the pattern that such names match; None for any.
        format_options: how files are read, by names in lower case.
        is_forced: whether files are copied that were copied before.
        evolves: whether columns that the table lacks are added.
        validates: whether rows are only checked.
        most_checked: how many are checked; None for all.
    """

    table: TableName
    source: str
    format: str
    query: str | None = None
    columns: tuple[str, ...] | None = None
    by_name: bool = True
    files: tuple[str, ...] | None = None
    pattern: str | None = None
    format_options: Mapping[str, str] = field(default_factory=dict)
    is_forced: bool = False
    evolves: bool = False
    validates: bool = False
    most_checked: int | None = None


@dataclass(frozen=True)
class Begin:
    """``BEGIN``: begins a transaction; `text` is the statement, which DuckDB runs as well."""

    text: str


@dataclass(frozen=True)
class Commit:
    """``COMMIT``: ends a transaction; `text` is the statement, which DuckDB runs as well."""

    text: str


@dataclass(frozen=True)
class Rollback:
    """``ROLLBACK``: gives up a transaction; `text` is the statement, which DuckDB runs as well."""

    text: str
