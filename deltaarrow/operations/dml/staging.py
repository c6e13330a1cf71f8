"""What an operation does with the rows that it has found: new files, change data, and files that lose rows.

The rows come as a stream, once. Those that are to be written go to new files while the stream is read, and
the places of those that go are kept, a bitmap a file. After the last one
`deltaarrow.operations.mark_or_rewrite` deals with the files that they were in. Chapters "Add CDC File" and
"Row Tracking" of the protocol.
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

__all__ = ["RowStage", "StagedRows"]

_WRITTEN = {ClauseKind.UPDATE: ChangeType.UPDATE_POSTIMAGE, ClauseKind.INSERT: ChangeType.INSERT}
_TAKEN = {ClauseKind.UPDATE: ChangeType.UPDATE_PREIMAGE, ClauseKind.DELETE: ChangeType.DELETE}


@dataclass
class StagedRows:
    """What was staged: rows by the number of their clause, and, once it is committed, what became of files.

    `scan_seconds` is the time that finding rows took, `seconds` that of all.
    """

    by_clause: dict[int, int] = field(default_factory=dict)
    copied_rows: int = 0
    added: Sequence[AddFile] = ()
    change_files: Sequence[AddCDCFile] = ()
    losses: FileLosses = field(default_factory=FileLosses)
    scan_seconds: float = 0.0
    seconds: float = 0.0

    def rows(self, numbers: Iterable[int]) -> int:
        """How many rows clauses have changed."""
        return sum(self.by_clause.get(number, 0) for number in numbers)


@dataclass
class RowStage:
    """Stages the rows that one query over a plan has found.

    Args:
        transaction: to stage in.
        plan: what the query reads; its files have all columns of `Snapshot.files`, and its layout tracks
            rows where the table does.
        write_plan: how rows are written, with the rules that new ones have to meet.
        numbering: of the identity columns that rows do not give.
        writes_changes: whether change data files are written.
        may_rewrite_marked: whether files that could be marked may be rewritten; without change data files,
            readers of the change feed would take rows that are copied for new ones.
        may_repeat: whether a row may be found more than once, which counts once.
        relies_on_kept: whether it matters that rows are there which are left alone.
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
        """The columns of row tracking in files; none where rows are not tracked."""
        return hidden_columns_of(self.transaction, self.plan)

    def stage(self, found: Iterable[FoundRows]) -> StagedRows:
        """Write and stage what becomes of the rows; nothing is left behind when it fails.

        Raises `UnsupportedFeatureError` for a row of the table that was found twice, and what reading and
        writing raise.
        """
        begun = time.perf_counter()
        staged, clock = self._staged, self.transaction.clock
        plan = replace(self.write_plan.without_rules(), hidden_columns=self.hidden)
        with self.transaction.all_or_nothing(), ChangeFileWriter(plan, clock=clock) as changes:
            staged.added = write_files(plan, self._written(found, changes), clock=clock)
            self.transaction.add_files(staged.added)
            if self._gone:
                # Of files that are added alone readers know that all of their rows are new.
                staged.change_files = changes.finish()
                self.transaction.add_files(staged.change_files)
            self._take_away()
        staged.seconds = time.perf_counter() - begun
        return staged

    # --- rows that are found ----------------------------------------------------------------------

    def _written(self, found: Iterable[FoundRows], changes: ChangeFileWriter) -> Iterator[pa.RecordBatch]:
        """The rows of new files: those that are changed or new, then those that their files keep."""
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
        """Stage what the files lose, and what the commit relies on."""
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
        """Keep the places of rows of the table."""
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
                raise _found_twice()

    def _first_found(self, each: FoundRows) -> FoundRows:
        """Leave out the rows that were found before."""
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
                raise _found_twice()

    def _completed(self, each: FoundRows) -> Iterator[tuple[pa.RecordBatch, pa.Array | None]]:
        """The rows that are written, as the table wants them, with the ids that they have already."""
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
        """The batch with the columns of row tracking: a changed row keeps its id and has a new version."""
        if not self.hidden:
            return batch
        nothing = pa.nulls(batch.num_rows, pa.int64())
        tracked = [nothing if each is None else each for each in (row_ids, versions)]
        arrays = [*batch.columns, *tracked]
        names = [*batch.schema.names, *(each.name for each in self.hidden)]
        return pa.RecordBatch.from_arrays(arrays, names=names)


def _by_file(files: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The places of rows in a batch, by the file that they are in."""
    order = np.argsort(files, kind="stable")
    ends = np.flatnonzero(np.diff(files[order])) + 1
    for rows in np.split(order, ends):
        if len(rows):
            yield int(files[rows[0]]), rows


def _found_twice() -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "several rows of the source match one row of the table, and what becomes of it depends on which",
        feature="MERGE with several matches of a row",
    )
