"""`ChangeTask`: finds the rows of some files that a statement changes, and writes their new files.

The rows arrive once, as a stream. New and updated rows are written to new files while the stream is read; the
positions of deleted and updated rows are collected, one bitmap per file. After the last row, the remaining
rows of files that `deltaarrow.operations.rows.mark_or_rewrite` chooses are copied. Nothing is staged; a task
knows neither log nor transaction, and is picklable. Chapters "Add CDC File" and "Row Tracking" of the
protocol.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.compute import files_cursor
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.dml.changed_rows import ClauseKind, FoundRows, read_changes
from deltaarrow.operations.dml.clause_query import ClauseQuery
from deltaarrow.operations.dml.join_query import JoinQuery
from deltaarrow.operations.rows.mark_or_rewrite import LostRows
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import ChangeType
from deltaarrow.storage import Store, decode_path
from deltaarrow.write import (
    ChangeFileWriter,
    RowNumbering,
    WritePlan,
    complete_rows,
    with_change_type,
    write_files,
)

__all__ = ["REPEATED_MATCH", "ChangeTask", "ChangedRows", "RowChanges", "repeated_match"]

REPEATED_MATCH = "MERGE with several matches of a row"
"""The feature that `repeated_match` names."""

_WRITTEN = {ClauseKind.UPDATE: ChangeType.UPDATE_POSTIMAGE, ClauseKind.INSERT: ChangeType.INSERT}
_TAKEN = {ClauseKind.UPDATE: ChangeType.UPDATE_PREIMAGE, ClauseKind.DELETE: ChangeType.DELETE}


@dataclass
class ChangedRows:
    """What was found and written: row counts by clause number, new files, and positions by file index.

    `gone` has the positions of deleted and updated rows, `kept` those of matched rows that stay unchanged.
    `sources` has the numbers of source rows that match a row, if the query tells them. `taken` is how far
    numbers of identity columns are taken, as `NumberedRows.taken` of `deltaarrow.write.identity_columns`.
    `scan_seconds` is the time spent finding rows.
    """

    by_clause: dict[int, int] = field(default_factory=dict)
    gone: dict[int, BitMap64] = field(default_factory=dict)
    kept: dict[int, BitMap64] = field(default_factory=dict)
    sources: BitMap64 = field(default_factory=BitMap64)
    copied_rows: int = 0
    taken: int = 0
    added: Sequence[AddFile] = ()
    change_files: Sequence[AddCDCFile] = ()
    scan_seconds: float = 0.0

    @classmethod
    def joined(cls, parts: Sequence["ChangedRows"], places: Sequence[Sequence[int]]) -> "ChangedRows":
        """Return what tasks over parts of a plan did together.

        Args:
            parts: what each task did.
            places: the indexes in the whole plan of the files of each part.
        """
        joined = cls(scan_seconds=max((part.scan_seconds for part in parts), default=0.0))
        for part, files in zip(parts, places, strict=True):
            for number, rows in part.by_clause.items():
                joined.by_clause[number] = joined.by_clause.get(number, 0) + rows
            joined.gone.update((files[file], rows) for file, rows in part.gone.items())
            joined.kept.update((files[file], rows) for file, rows in part.kept.items())
            joined.sources |= part.sources
            joined.copied_rows += part.copied_rows
            joined.taken = max(joined.taken, part.taken)
        joined.added = [file for part in parts for file in part.added]
        joined.change_files = [file for part in parts for file in part.change_files]
        return joined

    def delete_files(self, store: Store) -> None:
        """Delete the new files, which will not be committed."""
        for path in [*(file.path for file in self.added), *(file.path for file in self.change_files)]:
            # The error that ended the statement is the one to tell.
            with contextlib.suppress(Exception):
                store.delete(decode_path(path))


@dataclass(frozen=True, kw_only=True)
class RowChanges:
    """How the rows that a query finds are written; picklable.

    Args:
        plan: the scan of the query; its files have all columns of `Snapshot.files`, and its layout tracks
            rows if the table does.
        write_plan: how rows are written, and the constraints on new rows; its hidden columns keep the ids of
            rows.
        numbering: the numbering of identity columns that rows lack.
        marks_deleted_rows: whether files may get deletion vectors.
        writes_changes: whether change data files are written.
        may_rewrite_marked: whether files that could get a deletion vector may be rewritten. Without change
            data files, readers of the change data feed would take copied rows for new ones.
        may_repeat: whether the query may find a row more than once; it counts once.
        others_change: whether other tasks of the operation delete or update rows.
    """

    plan: scan.ScanPlan
    write_plan: WritePlan
    numbering: RowNumbering
    marks_deleted_rows: bool
    writes_changes: bool
    may_rewrite_marked: bool
    may_repeat: bool = False
    others_change: bool = False

    def of(self, places: Sequence[int]) -> "RowChanges":
        """Return the same for some files of the plan."""
        return replace(self, plan=replace(self.plan, files=self.plan.files.take(integers(places))))

    def lost_rows(self, gone: dict[int, BitMap64]) -> LostRows:
        """Return what becomes of the files that lose rows, given the positions by file index."""
        return LostRows(
            self.plan,
            gone,
            self.marks_deleted_rows,
            tuple(self.write_plan.hidden_columns),
            self.may_rewrite_marked,
        )

    def write(self, found: Iterable[FoundRows], now_ms: int, clock: Clock = system_clock) -> ChangedRows:
        """Write the changes of the rows; after an error, no written file is left.

        Args:
            found: the rows.
            now_ms: the present time for expressions, in milliseconds since the epoch.
            clock: the time of the files.

        Raises `UnsupportedFeatureError` for a row of the table that was found twice, and the exceptions of
        reading and writing.
        """
        return _Writing(self, now_ms).write(found, clock)


@dataclass(frozen=True)
class ChangeTask:
    """Changes the rows of some files by a statement; picklable.

    Args:
        changes: how the rows are written, with the files as its plan.
        query: finds the rows.
        now_ms: the present time for expressions, in milliseconds since the epoch.
        memory_limit: the memory that DuckDB may use before it spills; the limit of the process if None.
        spill_limit: the bytes that DuckDB may spill at most; as many as it takes if None.
    """

    changes: RowChanges
    query: ClauseQuery | JoinQuery
    now_ms: int
    memory_limit: str | None = None
    spill_limit: int | None = None

    def run(self) -> ChangedRows:
        """Find and write; nothing is staged. Raises what `RowChanges.write` and the query raise."""
        plan = self.changes.plan
        limits: dict[str, Any] = {"memory_limit": self.memory_limit, "spill_limit": self.spill_limit}
        with scan.naming_damaged_files(plan), files_cursor(plan.store, **limits) as cursor:
            rows = scan.located_rows(cursor, plan, f"deltaarrow_target_{plan.version}")
            try:
                with contextlib.closing(read_changes(cursor, self.query(cursor, rows))) as found:
                    return self.changes.write(found, self.now_ms)
            except UnsupportedFeatureError as error:
                if error.feature != REPEATED_MATCH or not isinstance(self.query, JoinQuery):
                    raise
                raise repeated_match(self.query.repeated_keys(cursor, plan)) from None


@dataclass
class _Writing:
    """The changes of one stream of rows."""

    how: RowChanges
    now_ms: int
    _done: ChangedRows = field(default_factory=ChangedRows, init=False)

    def __post_init__(self) -> None:
        self._numbered = self.how.numbering.begin()

    def write(self, found: Iterable[FoundRows], clock: Clock) -> ChangedRows:
        done, plan = self._done, self.how.write_plan.without_rules()
        try:
            with ChangeFileWriter(plan, clock=clock) as changes:
                done.added = write_files(plan, self._written(found, changes), clock=clock)
                if done.gone or self.how.others_change:
                    # A commit that only adds files needs no change data files: all its rows are inserts.
                    done.change_files = changes.finish()
            done.taken = self._numbered.taken
        except BaseException:
            done.delete_files(plan.store)
            raise
        return done

    def _written(self, found: Iterable[FoundRows], changes: ChangeFileWriter) -> Iterator[pa.RecordBatch]:
        """Yield the rows of new files: updated and inserted rows, then the copied rows of rewritten files."""
        for each in self._timed(found):
            if each.sources is not None:
                self._done.sources.update(each.sources.astype(np.uint64))
            if self.how.may_repeat:
                each = self._first_found(each)
            self._note(each)
            if each.clause is None:
                continue
            kind = each.clause.kind
            if each.old is not None and self.how.writes_changes:
                old = self._with_row_ids(each.old, each.row_ids, each.row_versions)
                changes.write(with_change_type(old, _TAKEN[kind]))
            for batch, row_ids in self._completed(each):
                new = self._with_row_ids(batch, row_ids, None)
                if self.how.writes_changes:
                    changes.write(with_change_type(new, _WRITTEN[kind]))
                yield new
        self._ensure_found_once()
        lost = self.how.lost_rows(self._done.gone)
        self._done.copied_rows = lost.copied_rows
        yield from lost.copied()

    def _timed(self, found: Iterable[FoundRows]) -> Iterator[FoundRows]:
        stream = iter(found)
        while True:
            begun = time.perf_counter()
            each = next(stream, None)
            self._done.scan_seconds += time.perf_counter() - begun
            if each is None:
                return
            yield each

    def _note(self, each: FoundRows) -> None:
        """Collect the positions of table rows."""
        if each.clause is not None:
            self._done.by_clause[each.number] = self._done.by_clause.get(each.number, 0) + each.rows
        if each.files is None or each.positions is None:
            return
        places = self._done.kept if each.clause is None else self._done.gone
        for file, rows in _by_file(each.files):
            bitmap = places.setdefault(file, BitMap64())
            before = len(bitmap)
            bitmap.update(each.positions[rows].astype(np.uint64))
            if len(bitmap) != before + len(rows):
                raise repeated_match()

    def _first_found(self, each: FoundRows) -> FoundRows:
        """Drop rows that were found before."""
        if each.files is None or each.positions is None:
            return each
        chosen = np.zeros(each.rows, np.bool_)
        places = self._done.kept if each.clause is None else self._done.gone
        for file, rows in _by_file(each.files):
            distinct, first = np.unique(each.positions[rows].astype(np.uint64), return_index=True)
            known = places.get(file, BitMap64()) & BitMap64(distinct)
            chosen[rows[first[~np.isin(distinct, np.array(known.to_array(), np.uint64))]]] = True
        return each if chosen.all() else each.filter(chosen)

    def _ensure_found_once(self) -> None:
        for place, kept in self._done.kept.items():
            if place in self._done.gone and not kept.isdisjoint(self._done.gone[place]):
                raise repeated_match()

    def _completed(self, each: FoundRows) -> Iterator[tuple[pa.RecordBatch, pa.Array | None]]:
        """Yield the rows to write, in the table's schema, with their present row ids."""
        if each.new is None or each.clause is None:
            return
        new = self._numbered.extend(each.new) if each.clause.kind is ClauseKind.INSERT else each.new
        start = 0
        for batch in complete_rows(self.how.write_plan, [new], clock=lambda: self.now_ms):
            ids = None if each.row_ids is None else each.row_ids.slice(start, batch.num_rows)
            yield batch, ids
            start += batch.num_rows

    def _with_row_ids(
        self, batch: pa.RecordBatch, row_ids: pa.Array | None, versions: pa.Array | None
    ) -> pa.RecordBatch:
        """Return the batch with row tracking columns: an updated row keeps its id and gets a new version."""
        if not self.how.write_plan.hidden_columns:
            return batch
        nothing = pa.nulls(batch.num_rows, pa.int64())
        tracked = [nothing if each is None else each for each in (row_ids, versions)]
        arrays = [*batch.columns, *tracked]
        names = [*batch.schema.names, *(each.name for each in self.how.write_plan.hidden_columns)]
        return pa.RecordBatch.from_arrays(arrays, names=names)


def _by_file(files: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the indexes of rows in a batch, by their file."""
    order = np.argsort(files, kind="stable")
    ends = np.flatnonzero(np.diff(files[order])) + 1
    for rows in np.split(order, ends):
        if len(rows):
            yield int(files[rows[0]]), rows


def repeated_match(keys: str = "") -> UnsupportedFeatureError:
    """Return the error for rows that are found twice; `keys` are the source's, if they are known."""
    shown = f" ({keys})" if keys else ""
    return UnsupportedFeatureError(
        f"several rows of the source match one row of the table{shown}, so the result is ambiguous; remove"
        " duplicate keys from the source, or make the predicate more specific"
        " (Spark: DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE)",
        feature=REPEATED_MATCH,
    )
