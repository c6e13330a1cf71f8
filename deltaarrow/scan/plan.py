"""Planning a scan: which files, which columns, and what is known of each file beforehand.

A plan is pure data, picklable, and knows the snapshot no more. Files that provably hold no matching
row are not in it; the rest are tasks for the engines or for `deltaarrow.scan.batches`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.notebook import html_table
from deltaarrow.scan.tasks import FileTask, TableLayout, file_tasks
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = ["PLAN_COLUMNS", "ScanPlan", "ensure_columns", "plan_scan", "table_layout"]

PLAN_COLUMNS = ("path", "size", "partition_values", "stats", "deletion_vector")
"""The columns of the table of files that a scan needs."""


@dataclass(frozen=True)
class ScanPlan:
    """What a scan of one snapshot has to read.

    `columns` are the wanted top-level columns under their logical names, in the wanted order;
    `files` is a table of `PLAN_COLUMNS`.
    """

    layout: TableLayout
    version: int
    columns: tuple[str, ...]
    files: pa.Table

    @property
    def store(self) -> Store:
        """Where the files are."""
        return self.layout.store

    @property
    def schema(self) -> Schema:
        """The logical schema of the whole table."""
        return self.layout.schema

    @cached_property
    def tasks(self) -> list[FileTask]:
        """A task for every file."""
        return file_tasks(self.files)

    @property
    def size(self) -> int:
        """The bytes of all files, before projection."""
        return sum(self.files.column("size").to_pylist())

    def __repr__(self) -> str:
        return f"ScanPlan(files={self.files.num_rows}, bytes={self.size}, columns={list(self.columns)})"

    def _repr_html_(self) -> str:
        said = {"table": self.store.uri, "version": self.version, "files": self.files.num_rows}
        return html_table(said | {"bytes": self.size, "columns": ", ".join(self.columns)})


def ensure_columns(schema: Schema, columns: Sequence[str]) -> None:
    """Raise `SchemaMismatchError` when the table has no column of one of the names."""
    known = {field.name for field in schema.fields}
    if unknown := [name for name in columns if name not in known]:
        raise SchemaMismatchError(
            f"the table has no column {', '.join(map(repr, unknown))}; it has {sorted(known)}"
        )


def table_layout(snapshot: Snapshot) -> TableLayout:
    """Return how the rows of a snapshot lie in its files."""
    return TableLayout(
        store=snapshot.store,
        schema=snapshot.schema,
        partition_columns=snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
    )


def plan_scan(
    snapshot: Snapshot, predicate: Predicate | None = None, columns: Sequence[str] | None = None
) -> ScanPlan:
    """Plan reading `columns` (None: all) of the rows that may match `predicate`.

    Raises `SchemaMismatchError` when a column, of the projection or of the predicate, is not there.
    """
    wanted = tuple(columns) if columns is not None else tuple(f.name for f in snapshot.schema.fields)
    ensure_columns(snapshot.schema, wanted)
    if predicate is not None:
        ensure_columns(snapshot.schema, sorted({path[0] for path in columns_of(predicate)}))
    return ScanPlan(table_layout(snapshot), snapshot.version, wanted, snapshot.files(predicate, PLAN_COLUMNS))
