"""A description of a table for writers of its data files: `WritePlan`.

A plan holds no connection and no data, so it can be sent to another thread, process or machine, where
`deltaarrow.write.write_files` carries it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import TableRules
from deltaarrow.storage import Store
from deltaarrow.write.writer_properties import WriterProperties

__all__ = ["DEFAULT_TARGET_FILE_SIZE", "WritePlan"]

DEFAULT_TARGET_FILE_SIZE = 128 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class WritePlan:
    """Where and how the data files of one write are made.

    Args:
        store: the table's folder.
        schema: the logical schema of the table.
        partition_columns: logical names.
        mapping_mode: the column mapping mode, ``none``, ``name`` or ``id``.
        configuration: the table properties; those for statistics, compression and file names matter.
        tight_bounds: whether statistics have ``tightBounds``, as in tables that support deletion vectors.
        hidden_columns: columns of the data files after those of the schema.
        target_file_size: bytes after which a file is closed and another begun.
        properties: the Parquet settings.
        data_change: the value of ``add.dataChange``.
        materializes_partitions: whether data files also hold the partition columns, after the others.
        file_tags: the value of ``add.tags``; None for no tags.
        fewest_files: whether the rows of a partition are gathered before they are written, so that each
            partition has as few files as its rows need.
        encoded_columns: text columns whose rows come as dictionary arrays, as files hold them; without rules.
        rules: the rules that rows must meet and that fill missing columns; None for rows of the table that
            are only rewritten.

    Raises:
        SchemaMismatchError: a partition column is not in the schema, or nothing else is.
        TypeError: `target_file_size` is no int, or `properties` are no `WriterProperties`.
        ValueError: `target_file_size` is less than 1.
    """

    store: Store
    schema: Schema
    partition_columns: tuple[str, ...] = ()
    mapping_mode: str = "none"
    configuration: Mapping[str, str] = field(default_factory=dict)
    tight_bounds: bool = False
    hidden_columns: tuple[Field, ...] = ()
    target_file_size: int = DEFAULT_TARGET_FILE_SIZE
    properties: WriterProperties = field(default_factory=WriterProperties)
    data_change: bool = True
    materializes_partitions: bool = False
    file_tags: Mapping[str, str] | None = None
    fewest_files: bool = False
    encoded_columns: frozenset[str] = frozenset()
    rules: TableRules | None = None

    def __post_init__(self) -> None:
        names = set(self.schema.names)
        absent = [name for name in self.partition_columns if name not in names]
        if absent:
            raise SchemaMismatchError(
                f"partition column {absent[0]!r} is not in the schema (columns:"
                f" {', '.join(self.schema.names)})"
            )
        if names <= set(self.partition_columns):
            raise SchemaMismatchError("a table needs a column that is not a partition column")
        if not isinstance(self.target_file_size, int) or isinstance(self.target_file_size, bool):
            raise TypeError(f"target_file_size must be an int, not {self.target_file_size!r}")
        if not isinstance(self.properties, WriterProperties):
            raise TypeError(f"writer_properties must be WriterProperties, not {self.properties!r}")
        if self.target_file_size < 1:
            raise ValueError(f"target_file_size must be at least 1 byte, not {self.target_file_size}")

    def without_rules(self) -> Self:
        """The plan for rows that meet the rules already, or come unchanged from the table."""
        return replace(self, rules=None)
