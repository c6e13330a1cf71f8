"""`ScanPlan`: the files and columns of a scan, with the log's data about each file.

A plan is pure data, picklable and independent of the snapshot. It leaves out files that provably hold no
matching row. The other files are tasks for the engines or for `deltaarrow.scan.batches`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.display.near_names import no_column
from deltaarrow.display.notebook import html_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.expressions import Predicate, columns_of
from deltaarrow.features import is_supported, properties
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.metadata_column import METADATA, METADATA_FILE_COLUMNS, metadata_type, row_columns
from deltaarrow.scan.row_id_columns import (
    ROW_TRACKING_COLUMNS,
    RowTracking,
    ensure_recorded,
    recorded_columns,
    with_row_tracking,
)
from deltaarrow.scan.tasks import FileTask, TableLayout, file_tasks
from deltaarrow.schema import Schema, StructType, ensure_known
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = [
    "PLAN_COLUMNS",
    "ScanPlan",
    "ensure_columns",
    "ensure_distinct_files",
    "metadata_of",
    "plan_scan",
    "row_tracking_of",
    "scan_schema",
    "table_layout",
]

PLAN_COLUMNS = ("path", "size", "partition_values", "stats", "deletion_vector")
"""The columns of the file list that a scan needs."""

_ABSOLUTE = re.compile("(/|[^/]*://)")


@dataclass(frozen=True)
class ScanPlan:
    """The files and columns that a scan of one snapshot reads.

    `columns` are the logical names of the requested top-level columns, in order; `files` is a table with
    `PLAN_COLUMNS` and, if requested, the row tracking values. `metadata` is the type of the further column
    `METADATA`, which SQL alone can read; None if it is not requested.
    """

    layout: TableLayout
    version: int
    columns: tuple[str, ...]
    files: pa.Table
    metadata: StructType | None = None

    @property
    def store(self) -> Store:
        """The store with the files."""
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
        """The total size of the files in bytes, with all columns."""
        return sum(self.files.column("size").to_pylist())

    def __repr__(self) -> str:
        return f"ScanPlan(files={self.files.num_rows}, bytes={self.size}, columns={list(self.columns)})"

    def _repr_html_(self) -> str:
        said = {"table": redacted(self.store.uri), "version": self.version, "files": self.files.num_rows}
        return html_table(said | {"bytes": self.size, "columns": ", ".join(self.columns)})


def ensure_columns(schema: Schema, columns: Sequence[str]) -> None:
    """Raise `SchemaMismatchError` if the table lacks one of the columns."""
    known = set(schema.names)
    unknown = next((name for name in columns if name not in known), None)
    if unknown is not None:
        raise SchemaMismatchError(no_column(unknown, schema.names, "the table"))


def _tracks_rows(snapshot: Snapshot) -> bool:
    enabled = properties.ENABLE_ROW_TRACKING.parse(snapshot.configuration)
    return enabled and is_supported(snapshot.protocol, "rowTracking")


def row_tracking_of(snapshot: Snapshot) -> RowTracking:
    """Return the row tracking columns of a snapshot's files.

    Raises `SchemaMismatchError` if row tracking is not enabled, or the table has a column with one of the two
    names, and `CorruptLogError` if the names of the materialized columns are missing.
    """
    if not _tracks_rows(snapshot):
        raise SchemaMismatchError(
            f"the table has no {' and '.join(ROW_TRACKING_COLUMNS)}, because row tracking is not enabled; set"
            f" {properties.ENABLE_ROW_TRACKING.name} to 'true' (table feature rowTracking)"
        )
    if clash := {*snapshot.schema.names}.intersection(ROW_TRACKING_COLUMNS):
        raise SchemaMismatchError(
            f"the table has a column of its own with the name {min(clash)}, which row tracking uses;"
            " rename the column"
        )
    names = []
    for each in (
        properties.MATERIALIZED_ROW_ID_COLUMN_NAME,
        properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME,
    ):
        if not (name := snapshot.configuration.get(each.name)):
            raise CorruptLogError(
                f"rowTracking is enabled on {snapshot.store.uri}, but the table property {each.name} is"
                " missing"
            )
        names.append(name)
    return RowTracking(*names)


def scan_schema(snapshot: Snapshot) -> Schema:
    """Return the columns that a scan may request: the table's and, if enabled, those of row tracking."""
    own = {*snapshot.schema.names}.intersection(ROW_TRACKING_COLUMNS)
    return with_row_tracking(snapshot.schema) if _tracks_rows(snapshot) and not own else snapshot.schema


def table_layout(snapshot: Snapshot, tracking: RowTracking | None = None) -> TableLayout:
    """Return the layout of a snapshot's files, with or without row tracking columns."""
    return TableLayout(
        store=snapshot.store,
        schema=snapshot.schema if tracking is None else with_row_tracking(snapshot.schema),
        partition_columns=snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
        row_tracking=tracking,
    )


def ensure_distinct_files(store: Store, files: pa.Table, few_files: int = 1_000) -> None:
    """Raise `CorruptLogError` if one data file is live twice, even under different spellings of its path.

    Its rows would count once or twice depending on the engine. A file with two deletion vectors is an error
    too, because its live rows are ambiguous. Up to `few_files` paths, a comparison in Python takes less time
    than Arrow's first computation.
    """
    paths = files.column("path")
    if len(paths) <= few_files:
        names = paths.to_pylist()
        distinct, has_absolute = len(set(names)), any(map(_ABSOLUTE.match, names))
    else:
        import pyarrow.compute as pc

        distinct = pc.count_distinct(paths).as_py()
        has_absolute = pc.any(pc.match_substring_regex(paths, f"^{_ABSOLUTE.pattern}")).as_py()
    # Only an absolute path can repeat a file under another spelling; else skip building all locations.
    if distinct == len(paths) and has_absolute:
        distinct = len({store.location(path) for path in paths.to_pylist()})
    if distinct < len(paths):
        counts = Counter(store.location(path) for path in paths.to_pylist())
        raise CorruptLogError(
            f"the table has the data file {counts.most_common(1)[0][0]} twice, so its live rows are ambiguous"
        )


def metadata_of(snapshot: Snapshot) -> StructType | None:
    """Return the type of `METADATA` in a table; None if the table has a column of its own with that name."""
    if snapshot.schema.find(METADATA) is not None:
        return None
    has_row_ids = _tracks_rows(snapshot)
    has_positions = has_row_ids or is_supported(snapshot.protocol, "deletionVectors")
    return metadata_type(has_positions=has_positions, has_row_ids=has_row_ids)


def plan_scan(
    snapshot: Snapshot,
    predicate: Predicate | None = None,
    columns: Sequence[str] | None = None,
    metadata: StructType | None = None,
    *,
    limit: int | None = None,
) -> ScanPlan:
    """Plan reading `columns` (None: all) of the rows that may match `predicate`.

    With a `limit` and no predicate, the files need have no more rows than that. `columns` may include the row
    tracking columns; see `deltaarrow.scan.row_id_columns`. `metadata` is that of `metadata_of`, if the column
    is read as well.

    Raises `SchemaMismatchError` for an unknown column in `columns` or `predicate`, `UnsupportedFeatureError`
    for one with values of an unknown type, and `CorruptLogError` if a data file is live twice, or if row
    tracking columns are requested and a file has no row ids.
    """
    wanted = tuple(columns) if columns is not None else tuple(f.name for f in snapshot.schema.fields)
    asked = () if predicate is None else tuple(sorted({path[0] for path in columns_of(predicate)}))
    tracked = {*wanted, *asked}.intersection(ROW_TRACKING_COLUMNS).difference(snapshot.schema.names)
    tracked.update(row_columns(metadata))
    layout = table_layout(snapshot, row_tracking_of(snapshot) if tracked else None)
    ensure_columns(layout.schema, wanted)
    ensure_columns(layout.schema, asked)
    read = {*wanted, *asked}
    ensure_known(field for field in layout.schema.fields if field.name in read)
    further = METADATA_FILE_COLUMNS if metadata is not None else ()
    asked_of_files = [*PLAN_COLUMNS, *recorded_columns(tracked), *further]
    if limit is not None and predicate is None:
        files = snapshot.some_files(limit, asked_of_files)
    else:
        files = snapshot.files(predicate, asked_of_files)
    ensure_recorded(files, tracked)
    ensure_distinct_files(snapshot.store, files)
    return ScanPlan(layout, snapshot.version, wanted, files, metadata)
