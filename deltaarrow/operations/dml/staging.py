"""Staging of changed rows: new files, change data files, and files that lose rows.

The rows arrive once, as a stream. New and updated rows are written to new files while the stream is read; the
positions of deleted and updated rows are collected, one bitmap per file. After the last row,
`deltaarrow.operations.mark_or_rewrite` handles the files that lose rows. Chapters "Add CDC File" and "Row
Tracking" of the protocol.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.dml.query import ClauseKind, FoundRows
from deltaarrow.operations.mark_or_rewrite import FileLosses, LostRows, hidden_columns_of
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import ChangeType, Field
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.write import (
    ChangeFileWriter,
    RowNumbering,
    WritePlan,
    complete_rows,
    with_change_type,
    write_files,
)

__all__ = ["REPEATED_MATCH", "RowStage", "StagedRows", "repeated_match"]

REPEATED_MATCH = "MERGE with several matches of a row"
"""The feature that `repeated_match` names."""

_WRITTEN = {ClauseKind.UPDATE: ChangeType.UPDATE_POSTIMAGE, ClauseKind.INSERT: ChangeType.INSERT}
_TAKEN = {ClauseKind.UPDATE: ChangeType.UPDATE_PREIMAGE, ClauseKind.DELETE: ChangeType.DELETE}


@dataclass
class StagedRows:
    """The staged changes: row counts by clause number and, after the commit, what happened to files.

    `scan_seconds` is the time spent finding rows, `seconds` the time of the whole operation.
    """

    by_clause: dict[int, int] = field(default_factory=dict)
    copied_rows: int = 0
    added: Sequence[AddFile] = ()
    change_files: Sequence[AddCDCFile] = ()
    losses: FileLosses = field(default_factory=FileLosses)
    scan_seconds: float = 0.0
    seconds: float = 0.0

    def rows(self, numbers: Iterable[int]) -> int:
        """Return the number of rows that these clauses changed."""
        return sum(self.by_clause.get(number, 0) for number in numbers)


@dataclass
class RowStage:
    """The changes of one query over a plan; writes and stages them.

    Args:
        transaction: the transaction to stage in.
        plan: the scan of the query; its files have all columns of `Snapshot.files`, and its layout tracks
            rows if the table does.
        write_plan: how rows are written, and the constraints on new rows.
        numbering: the numbering of identity columns that rows lack.
        writes_changes: whether change data files are written.
        may_rewrite_marked: whether files that could get a deletion vector may be rewritten. Without change
            data files, readers of the change data feed would take copied rows for new ones.
        may_repeat: whether the query may find a row more than once; it counts once.
        relies_on_kept: whether the operation depends on matched rows that it leaves unchanged.
    """

    transaction: OptimisticTransaction
    plan: scan.ScanPlan
    write_plan: WritePlan
    numbering: RowNumbering
    writes_changes: bool
    may_rewrite_marked: bool
    may_repeat: bool = False
    relies_on_kept: bool = False
    _gone: dict[int, BitMap64] = field(default_factory=dict, init=False)
    _kept: dict[int, BitMap64] = field(default_factory=dict, init=False)
    _staged: StagedRows = field(default_factory=StagedRows, init=False)
    _lost: LostRows | None = field(default=None, init=False)

    @cached_property
    def hidden(self) -> tuple[Field, ...]:
        """The row tracking columns in data files; none if rows are not tracked."""
        return hidden_columns_of(self.transaction.snapshot, self.plan.layout)

    def stage(self, found: Iterable[FoundRows]) -> StagedRows:
        """Write and stage the changes of the rows; after an error, no written file is left.

        Raises `UnsupportedFeatureError` for a row of the table that was found twice, and the exceptions of
        reading and writing.
        """
        begun = time.perf_counter()
        staged, clock = self._staged, self.transaction.clock
        plan = replace(self.write_plan.without_rules(), hidden_columns=self.hidden)
        with self.transaction.all_or_nothing(), ChangeFileWriter(plan, clock=clock) as changes:
            staged.added = write_files(plan, self._written(found, changes), clock=clock)
            self.transaction.add_files(staged.added)
            if self._gone:
                # A commit that only adds files needs no change data files: all its rows are inserts.
                staged.change_files = changes.finish()
                self.transaction.add_files(staged.change_files)
            self._take_away()
        staged.seconds = time.perf_counter() - begun
        return staged

    # --- rows that are found ----------------------------------------------------------------------

    def _written(self, found: Iterable[FoundRows], changes: ChangeFileWriter) -> Iterator[pa.RecordBatch]:
        """Yield the rows of new files: updated and inserted rows, then the copied rows of rewritten files."""
        for each in self._timed(found):
            if self.may_repeat:
                each = self._first_found(each)
            self._note(each)
            if each.clause is None:
                continue
            kind = each.clause.kind
            if each.old is not None and self.writes_changes:
                old = self._with_row_ids(each.old, each.row_ids, each.row_versions)
                changes.write(with_change_type(old, _TAKEN[kind]))
            for batch, row_ids in self._completed(each):
                new = self._with_row_ids(batch, row_ids, None)
                if self.writes_changes:
                    changes.write(with_change_type(new, _WRITTEN[kind]))
                yield new
        self._ensure_found_once()
        self._lost = LostRows(self.transaction, self.plan, self._gone, self.may_rewrite_marked)
        self._staged.copied_rows = self._lost.copied_rows
        yield from self._lost.copied()

    def _take_away(self) -> None:
        """Stage the files that lose rows, and record the rows that the commit depends on."""
        for place, positions in self._kept.items() if self.relies_on_kept else ():
            self.transaction.read_rows({"path": self.plan.tasks[place].path}, positions)
        assert self._lost is not None
        self._lost.stage()

    def _timed(self, found: Iterable[FoundRows]) -> Iterator[FoundRows]:
        stream = iter(found)
        while True:
            begun = time.perf_counter()
            each = next(stream, None)
            self._staged.scan_seconds += time.perf_counter() - begun
            if each is None:
                return
            yield each

    def _note(self, each: FoundRows) -> None:
        """Collect the positions of table rows."""
        if each.clause is not None:
            self._staged.by_clause[each.number] = self._staged.by_clause.get(each.number, 0) + each.rows
        if each.files is None or each.positions is None:
            return
        places = self._kept if each.clause is None else self._gone
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
        places = self._kept if each.clause is None else self._gone
        for file, rows in _by_file(each.files):
            distinct, first = np.unique(each.positions[rows].astype(np.uint64), return_index=True)
            known = places.get(file, BitMap64()) & BitMap64(distinct)
            chosen[rows[first[~np.isin(distinct, np.array(known.to_array(), np.uint64))]]] = True
        return each if chosen.all() else each.filter(chosen)

    def _ensure_found_once(self) -> None:
        for place, kept in self._kept.items():
            if place in self._gone and not kept.isdisjoint(self._gone[place]):
                raise repeated_match()

    def _completed(self, each: FoundRows) -> Iterator[tuple[pa.RecordBatch, pa.Array | None]]:
        """Yield the rows to write, in the table's schema, with their present row ids."""
        if each.new is None or each.clause is None:
            return
        new = self.numbering.extend(each.new) if each.clause.kind is ClauseKind.INSERT else each.new
        start = 0
        for batch in complete_rows(self.write_plan, [new], clock=self.transaction.clock):
            ids = None if each.row_ids is None else each.row_ids.slice(start, batch.num_rows)
            yield batch, ids
            start += batch.num_rows

    def _with_row_ids(
        self, batch: pa.RecordBatch, row_ids: pa.Array | None, versions: pa.Array | None
    ) -> pa.RecordBatch:
        """Return the batch with row tracking columns: an updated row keeps its id and gets a new version."""
        if not self.hidden:
            return batch
        nothing = pa.nulls(batch.num_rows, pa.int64())
        tracked = [nothing if each is None else each for each in (row_ids, versions)]
        arrays = [*batch.columns, *tracked]
        names = [*batch.schema.names, *(each.name for each in self.hidden)]
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
