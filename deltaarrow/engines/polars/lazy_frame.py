"""A snapshot as a `polars.LazyFrame` that Polars scans with its own Parquet reader.

Polars asks for a plan after it has optimised the query, and then knows the columns and filters that reach the
scan. Files that cannot match are not opened. Polars still applies every filter to what is read (and here to
partition values), so its rules for NaN and NULL hold. Files that Polars's reader cannot handle are read by
`deltaarrow.scan.batches` into the same lazy frame. Tables of few similar files are passed to Polars as a
whole (`PlainScan`).
"""

import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, SupportsIndex

from deltaarrow.engines.accepted_tables import TableSource, snapshot_of
from deltaarrow.engines.polars.batch_frames import filtered_frames
from deltaarrow.engines.polars.native_scan import (
    USUAL_LIMITS,
    NativeScan,
    PolarsLimits,
    polars_schema,
    polars_type,
)
from deltaarrow.engines.polars.private_hooks import chosen_when_planned, is_hook_verified
from deltaarrow.engines.polars.pushed_filters import arrow_expression
from deltaarrow.engines.polars.reader_limits import BoundFile, FileBinder, obstacle
from deltaarrow.errors import CorruptDataFileError, CorruptDeletionVectorError, UnsupportedFeatureError
from deltaarrow.expressions import And, Predicate, columns_of, conjuncts, from_arrow, in_total_order
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.runtime.optional import require
from deltaarrow.scan import BatchReader, FileTask, TableLayout, plan_scan, row_tracking_of, with_row_tracking
from deltaarrow.schema import FLOATING, Schema
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import os

    import polars as pl
    from polars.io.plugins import register_io_source
    from polars.lazyframe.resolver import FilterExpr, LazyFrameResolver, ResolvedLazyFrameProps

    from deltaarrow.catalogs import NamespaceCatalog
    from deltaarrow.log import Catalog
else:
    pl = require("polars")
    LazyFrameResolver = require("polars.lazyframe.resolver").LazyFrameResolver
    ResolvedLazyFrameProps = require("polars.lazyframe.resolver").ResolvedLazyFrameProps
    register_io_source = require("polars.io.plugins").register_io_source

__all__ = [
    "DeltaResolver",
    "PlainScan",
    "Resolution",
    "lazy_frame",
    "matching_partitions",
    "resolutions",
    "scan_delta",
]


# --- translate -------------------------------------------------------------------------------------


def _predicate(filters: Sequence["FilterExpr"], schema: Schema) -> Predicate | None:
    """The filters as far as they can be translated, for skipping files; Polars still applies them."""
    expressions = [found for each in filters if (found := arrow_expression(each)) is not None]
    if not expressions:
        return None
    return And(tuple(in_total_order(from_arrow(expression), schema) for expression in expressions))


def _without_floats(predicate: Predicate | None, layout: TableLayout) -> Predicate | None:
    """The parts that pyarrow may evaluate on rows: pyarrow does not order NaN above every number."""
    if predicate is None:
        return None
    floats = {field.name for field in layout.schema.fields if field.type in FLOATING}
    parts = [part for part in conjuncts(predicate) if not floats & {path[0] for path in columns_of(part)}]
    return And(tuple(parts))


# --- plan ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Resolution:
    """What Polars asked of a snapshot, and the files in the answer.

    `matching` are the files whose statistics and partition values may match `filters`; `tasks` are the ones
    of them that are read when `limit` rows are enough.
    """

    snapshot: Snapshot
    filters: Sequence["FilterExpr"]
    columns: tuple[str, ...]
    limit: int | None
    matching: Sequence[FileTask]
    tasks: Sequence[FileTask]


_listening = threading.local()


def resolutions(frame: "pl.LazyFrame") -> list[Resolution]:
    """Return what Polars asks of every Delta table in a query after optimising it.

    Polars caches answers, so a copy of the query is used, whose resolvers are not shared. The query must be
    picklable.
    """
    copied = pickle.dumps(frame)
    heard: list[Resolution] = []
    _listening.resolutions = heard
    try:
        copy = pickle.loads(copied)
    finally:
        del _listening.resolutions
    copy.explain()
    return heard


class DeltaResolver(LazyFrameResolver):
    """Answers Polars with a lazy frame of what a query needs from a snapshot; picklable."""

    def __init__(
        self, snapshot: Snapshot, with_row_ids: bool = False, limits: PolarsLimits = USUAL_LIMITS
    ) -> None:
        self._snapshot = snapshot
        self._with_row_ids = with_row_ids
        self._limits = limits
        self._logical = snapshot.schema
        if with_row_ids:
            row_tracking_of(snapshot)  # refuses a table without row tracking
            self._logical = with_row_tracking(snapshot.schema)
        self._obstacle = obstacle(snapshot)
        self._binder: FileBinder | None = None
        self._heard = getattr(_listening, "resolutions", None)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the snapshot and the limits."""
        return DeltaResolver, (self._snapshot, self._with_row_ids, self._limits)

    def cse_eq(self, other: object) -> bool:
        """Whether the other resolver shows the same rows, so that Polars may read them once."""
        if not isinstance(other, DeltaResolver) or self._with_row_ids != other._with_row_ids:
            return False
        ours, theirs = self._snapshot, other._snapshot
        return ours is theirs or (ours.store == theirs.store and ours.version == theirs.version)

    def schema(self) -> "pl.Schema":
        """Return the schema of the table."""
        return polars_schema(self._logical.fields)

    def resolve_lazyframe(
        self,
        *,
        projection: list[str] | None,
        limit: int | None,
        filters: list["FilterExpr"],
        filter_columns: list[str],
        filter_drop_columns_idx: int | None,
        existing_resolved_version_key: str | None,
    ) -> "tuple[pl.LazyFrame, ResolvedLazyFrameProps]":
        """Return a lazy frame of the columns `projection` with all `filters` applied."""
        predicate = _predicate(filters, self._logical)
        columns = self._logical.names if projection is None else projection
        plan = plan_scan(self._snapshot, predicate, columns, limit=None if filters else limit)
        by_partition, by_row = _divide(filters, plan.layout)
        # Polars drops these columns; the filters that needed them have been applied.
        spent = () if filter_drop_columns_idx is None else plan.columns[filter_drop_columns_idx:]
        unread = frozenset(spent).difference(*(each.expr.meta.root_names() for each in by_row))
        scan = NativeScan(plan.layout, plan.columns, unread, self._limits)
        tasks = matching = matching_partitions(scan.in_order(plan.tasks), by_partition, plan.layout)
        if limit is not None and not by_row:
            tasks = _first_files(tasks, limit)
        if self._heard is not None:
            self._heard.append(Resolution(self._snapshot, filters, plan.columns, limit, matching, tasks))
        reason = self._obstacle
        if reason is None and plan.layout.row_tracking is not None:
            reason = "Polars does not tell the positions of rows in their files"
        if reason is not None:
            native, other = list[BoundFile](), tasks
        else:
            if self._binder is None:
                self._binder = FileBinder(plan.layout)
            native, other = self._binder.split(tasks, plan.columns)
        frames = scan.frames(native)
        if other:
            pushdown = _without_floats(predicate, plan.layout)
            source = _ArrowSource(plan.layout, tuple(other), plan.columns, pushdown)
            frames.append(source.lazy(reason or "Polars would misread these files"))
        if not frames:
            schema = self.schema()
            frames.append(pl.LazyFrame(schema={name: schema[name] for name in plan.columns}))
        found = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical")
        # One by one: Polars pushes a conjunction down as a whole or not at all.
        for each in by_row:
            found = found.filter(each.expr)
        return found, ResolvedLazyFrameProps(applied_filters=range(len(filters)))


def _divide(
    filters: Sequence["FilterExpr"], layout: TableLayout
) -> tuple[list["FilterExpr"], list["FilterExpr"]]:
    """Split the filters: those on partition columns alone, which hold for whole files, and the others."""
    partitions = frozenset(layout.partition_columns)
    alone = [bool(names := each.expr.meta.root_names()) and partitions.issuperset(names) for each in filters]
    return list(compress(filters, alone)), list(compress(filters, map(not_, alone)))


def matching_partitions(
    tasks: Sequence[FileTask], filters: Sequence["FilterExpr"], layout: TableLayout
) -> list[FileTask]:
    """Return the files for whose partition values the filters are true, evaluated by Polars."""
    if not filters:
        return list(tasks)
    keys = [
        tuple(task.partition_values.get(layout.physical_name(f)) for f in layout.partition_fields)
        for task in tasks
    ]
    first = dict(zip(reversed(keys), reversed(tasks), strict=True))
    values = [
        pl.Series(f.name, [layout.partition_value(task, f) for task in first.values()], polars_type(f.type))
        for f in layout.partition_fields
    ]
    conditions = [each.expr.alias(str(number)) for number, each in enumerate(filters)]
    verdicts = pl.DataFrame(values).select(pl.all_horizontal(conditions).fill_null(value=False)).to_series()
    matching = set(compress(first, verdicts))
    return [task for task, key in zip(tasks, keys, strict=True) if key in matching]


def _first_files(tasks: Sequence[FileTask], limit: int) -> list[FileTask]:
    """The first files that together have `limit` live rows, according to the log."""
    found, rows = [], 0
    for task in tasks:
        if rows >= limit:
            break
        found.append(task)
        deleted = task.deletion_vector.cardinality if task.deletion_vector is not None else 0
        rows += 0 if task.num_records is None else task.num_records - deleted
    return found


class PlainScan:
    """Replaces a resolver by one scan of all files if the table has few, similar files; picklable.

    A resolver tells Polars nothing beforehand, so Polars has to guess the order of joins: the 22 queries of
    TPC-H took 1.7 times as long. With the plain scan, files without a matching row are skipped by their
    footers.
    """

    def __init__(self, snapshot: Snapshot, limits: PolarsLimits = USUAL_LIMITS) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._is_heard = hasattr(_listening, "resolutions")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the snapshot and the limits."""
        return PlainScan, (self._snapshot, self._limits)

    def __call__(self, resolver: "pl.LazyFrame") -> "pl.LazyFrame":
        """Return the frame to plan a query with: the plain scan if possible, else the resolver."""
        return resolver if self._is_heard or self._scan is None else self._scan

    @cached_property
    def _scan(self) -> "pl.LazyFrame | None":
        recent, in_checkpoint = self._snapshot.state.file_actions
        if in_checkpoint or not 0 < len(recent.adds) <= self._limits.most_files:
            return None
        try:
            plan = plan_scan(self._snapshot)
            scan, binder = NativeScan(plan.layout, plan.columns, limits=self._limits), FileBinder(plan.layout)
            native, other = binder.split(plan.tasks, plan.columns)
            is_plain = not other and binder.have_one_schema(plan.tasks)
            return scan.plain(native, binder.row_counts(plan.tasks)) if is_plain else None
        except (CorruptDataFileError, CorruptDeletionVectorError, UnsupportedFeatureError):
            # Queries that need neither the file nor the column succeed; for the others the resolver names it.
            return None


# --- stream ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ArrowSource:
    """Files that pyarrow reads and Polars filters, as a Polars source."""

    layout: TableLayout
    tasks: tuple[FileTask, ...]
    columns: tuple[str, ...]
    pushdown: Predicate | None

    def lazy(self, reason: str) -> "pl.LazyFrame":
        """Return the live rows of the files; query plans show `reason`, why Polars does not read them."""
        fields = {field.name: field for field in self.layout.schema.fields}
        return register_io_source(
            self,
            schema=polars_schema(fields[name] for name in self.columns),
            is_pure=True,
            explain_name="deltaarrow",
            explain_detail=f"{len(self.tasks)} file(s); {reason}",
        )

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: "pl.Expr | None",
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator["pl.DataFrame"]:
        columns = self.columns if with_columns is None else tuple(with_columns)
        batches = BatchReader(self.layout, columns, self.pushdown).read(self.tasks)
        return filtered_frames(batches, predicate, n_rows)


def scan_delta(
    table: TableSource,
    version: SupportsIndex | str | date | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    row_tracking: bool = False,
    catalog: "str | os.PathLike[str] | Catalog | NamespaceCatalog | None" = None,
) -> "pl.LazyFrame":
    """Return a table as a `polars.LazyFrame`, pinned to one version.

    Polars reads the data files itself, and only what a query needs: filters and columns reach the files, and
    files that cannot match are not opened. For a local table without partition columns and with at most 64
    files, Polars opens all of them, because their metadata helps it order joins. Files that Polars cannot
    read (see `deltaarrow.engines.polars.reader_limits`) are read with pyarrow, with the same result.
    Lazy frames pickle, with path and version of the table and its `storage_options`, including secrets. If
    Polars's own reader fails on a data file, the exception is Polars's. Polars cannot be used in a forked
    child process; spawned ones can use it.

    Args:
        table: a path, a URI, a `DeltaTable` or a `Snapshot`; or the name of a table in `catalog`.
        version: the version to read, or a timestamp as for `DeltaTable`; by default the newest version
            for a path, the opened version otherwise.
        storage_options: as for `DeltaTable`; used if `table` is a path.
        row_tracking: add the columns ``_metadata.row_id`` and ``_metadata.row_commit_version``. Queries that
            use one of them read the files with pyarrow.
        catalog: as for `DeltaTable`.

    Raises:
        SchemaMismatchError: `row_tracking` is requested but not enabled on the table.
        TableNotFoundError, VersionNotFoundError, CorruptLogError: as for `DeltaTable`.
        UnsupportedFeatureError: the table needs a feature that this release cannot read.
        MissingDependencyError: Polars is not installed.
    """
    return lazy_frame(snapshot_of(table, version, storage_options, catalog), row_tracking=row_tracking)


def lazy_frame(
    snapshot: Snapshot, *, row_tracking: bool = False, limits: PolarsLimits = USUAL_LIMITS
) -> "pl.LazyFrame":
    """Return a snapshot as `scan_delta` does."""
    frame = DeltaResolver(snapshot, row_tracking, limits).lazy()
    may_be_plain = not (row_tracking or snapshot.partition_columns) and snapshot.store.is_local
    if may_be_plain and is_hook_verified() and obstacle(snapshot) is None:
        return chosen_when_planned(frame, PlainScan(snapshot, limits))
    return frame
