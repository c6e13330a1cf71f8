"""Planning a scan: which files, which columns, and what is known of each file beforehand.

A plan is pure data, picklable, and knows the snapshot no more. Files that provably hold no matching
row are not in it; the rest are tasks for the engines or for `deltaarrow.scan.batches`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.display.notebook import html_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import is_supported, properties
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.row_id_columns import (
    ROW_TRACKING_COLUMNS,
    RowTracking,
    ensure_recorded,
    recorded_columns,
    with_row_tracking,
)
from deltaarrow.scan.tasks import FileTask, TableLayout, file_tasks
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = [
    "PLAN_COLUMNS",
    "ScanPlan",
    "ensure_columns",
    "ensure_distinct_files",
    "plan_scan",
    "row_tracking_of",
    "scan_schema",
    "table_layout",
]

PLAN_COLUMNS = ("path", "size", "partition_values", "stats", "deletion_vector")
"""The columns of the table of files that a scan needs."""

_FEW_FILES = 1_000
"""So many paths are compared in less time than Arrow takes for its first computation."""
_ABSOLUTE = re.compile("(/|[^/]*://)")


@dataclass(frozen=True)
class ScanPlan:
    """What a scan of one snapshot has to read.

    `columns` are the wanted top-level columns under their logical names, in the wanted order;
    `files` is a table of `PLAN_COLUMNS`, and of what row tracking records where that is wanted.
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
        said = {"table": redacted(self.store.uri), "version": self.version, "files": self.files.num_rows}
        return html_table(said | {"bytes": self.size, "columns": ", ".join(self.columns)})


def ensure_columns(schema: Schema, columns: Sequence[str]) -> None:
    """Raise `SchemaMismatchError` when the table has no column of one of the names."""
    known = {field.name for field in schema.fields}
    if unknown := [name for name in columns if name not in known]:
        raise SchemaMismatchError(
            f"the table has no column {', '.join(map(repr, unknown))}; it has {sorted(known)}"
        )


def _tracks_rows(snapshot: Snapshot) -> bool:
    enabled = properties.ENABLE_ROW_TRACKING.parse(snapshot.configuration)
    return enabled and is_supported(snapshot.protocol, "rowTracking")


def row_tracking_of(snapshot: Snapshot) -> RowTracking:
    """Return how the files of a snapshot keep track of rows.

    Raises `SchemaMismatchError` when row tracking is not enabled, or the table has a column of one of the
    two names, and `CorruptLogError` when the materialised columns have no names.
    """
    if not _tracks_rows(snapshot):
        raise SchemaMismatchError(
            f"the table has no {' and '.join(ROW_TRACKING_COLUMNS)}: its feature rowTracking is not enabled"
            f" ({properties.ENABLE_ROW_TRACKING.name})"
        )
    if clash := {*snapshot.schema.names}.intersection(ROW_TRACKING_COLUMNS):
        raise SchemaMismatchError(
            f"the table has a column of its own of the name {min(clash)}, which rowTracking uses"
        )
    names = []
    for each in (
        properties.MATERIALIZED_ROW_ID_COLUMN_NAME,
        properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME,
    ):
        if not (name := snapshot.configuration.get(each.name)):
            raise CorruptLogError(f"rowTracking is enabled on {snapshot.store.uri} without {each.name}")
        names.append(name)
    return RowTracking(*names)


def scan_schema(snapshot: Snapshot) -> Schema:
    """Return the columns that a scan may name: the table's, and those of row tracking where it is enabled."""
    own = {*snapshot.schema.names}.intersection(ROW_TRACKING_COLUMNS)
    return with_row_tracking(snapshot.schema) if _tracks_rows(snapshot) and not own else snapshot.schema


def table_layout(snapshot: Snapshot, tracking: RowTracking | None = None) -> TableLayout:
    """Return how the rows of a snapshot lie in its files, with the columns of row tracking or without."""
    return TableLayout(
        store=snapshot.store,
        schema=snapshot.schema if tracking is None else with_row_tracking(snapshot.schema),
        partition_columns=snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
        row_tracking=tracking,
    )


def ensure_distinct_files(store: Store, files: pa.Table) -> None:
    """Raise `CorruptLogError` when one data file is live twice, under whatever spellings of its path.

    Its rows would be there once or twice depending on the engine. A file with two deletion vectors is
    such a one too: which of its rows are live, nobody can tell.
    """
    paths = files.column("path")
    if len(paths) <= _FEW_FILES:
        names = paths.to_pylist()
        distinct, has_absolute = len(set(names)), any(map(_ABSOLUTE.match, names))
    else:
        import pyarrow.compute as pc

        distinct = pc.count_distinct(paths).as_py()
        has_absolute = pc.any(pc.match_substring_regex(paths, f"^{_ABSOLUTE.pattern}")).as_py()
    # An absolute path may be of a file in the table; only then is it worth building all locations.
    if distinct == len(paths) and has_absolute:
        distinct = len({store.location(path) for path in paths.to_pylist()})
    if distinct < len(paths):
        counts = Counter(store.location(path) for path in paths.to_pylist())
        raise CorruptLogError(f"the table has the data file {counts.most_common(1)[0][0]} twice")


def plan_scan(
    snapshot: Snapshot, predicate: Predicate | None = None, columns: Sequence[str] | None = None
) -> ScanPlan:
    """Plan reading `columns` (None: all) of the rows that may match `predicate`.

    The columns of row tracking may be among them; see `deltaarrow.scan.row_id_columns`.

    Raises `SchemaMismatchError` when a column, of the projection or of the predicate, is not there, and
    `CorruptLogError` when a data file is live twice, or row tracking is wanted and a file has no row ids.
    """
    wanted = tuple(columns) if columns is not None else tuple(f.name for f in snapshot.schema.fields)
    asked = () if predicate is None else tuple(sorted({path[0] for path in columns_of(predicate)}))
    tracked = {*wanted, *asked}.intersection(ROW_TRACKING_COLUMNS).difference(snapshot.schema.names)
    layout = table_layout(snapshot, row_tracking_of(snapshot) if tracked else None)
    ensure_columns(layout.schema, wanted)
    ensure_columns(layout.schema, asked)
    files = snapshot.files(predicate, [*PLAN_COLUMNS, *recorded_columns(tracked)])
    ensure_recorded(files, tracked)
    ensure_distinct_files(snapshot.store, files)
    return ScanPlan(layout, snapshot.version, wanted, files)
