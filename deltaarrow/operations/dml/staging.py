"""What an operation does with the rows that it has found: marked or rewritten files, new rows, change data.

The rows come as a stream, once. Those that are to be written go to new files while the stream is read, and
the places of those that go are kept, a bitmap a file. After the last one each file that loses rows is dealt
with:

- one without a live row left is removed;
- one of a table with deletion vectors gets a larger vector, unless most of its rows are gone then: what is
  left of it would be dear to read;
- any other is removed, and the rows that it keeps are copied to the new files, under their row ids.

Chapters "Deletion Vectors", "Add CDC File" and "Row Tracking" of the protocol.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from pyroaring import BitMap64

import deltaarrow.scan as scan
from deltaarrow.actions import AddCDCFile, AddFile
from deltaarrow.deletion_vectors import inline_deletion_vector, read_deletion_vectors
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations.dml.query import ClauseKind, FoundRows
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

_MOST_DEAD = 0.5
"""The part of a file's rows that may be marked as deleted: it is what reading the others costs more."""

_WRITTEN = {ClauseKind.UPDATE: ChangeType.UPDATE_POSTIMAGE, ClauseKind.INSERT: ChangeType.INSERT}
_TAKEN = {ClauseKind.UPDATE: ChangeType.UPDATE_PREIMAGE, ClauseKind.DELETE: ChangeType.DELETE}


@dataclass
class StagedRows:
    """What was staged: rows by the number of their clause, and what becomes of files.

    `scan_seconds` is the time that finding rows took, `seconds` that of all.
    """

    by_clause: dict[int, int] = field(default_factory=dict)
    copied_rows: int = 0
    added: Sequence[AddFile] = ()
    change_files: Sequence[AddCDCFile] = ()
    removed_files: int = 0
    removed_bytes: int = 0
    vectors_added: int = 0
    vectors_updated: int = 0
    vectors_removed: int = 0
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
        hidden: the columns of row tracking in files; none where rows are not tracked.
        writes_changes: whether change data files are written.
        may_rewrite_marked: whether files that could be marked may be rewritten; without change data files,
            readers of the change feed would take rows that are copied for new ones.
        may_repeat: whether a row may be found more than once, which counts once.
    """

    transaction: OptimisticTransaction
    plan: scan.ScanPlan
    write_plan: WritePlan
    numbering: RowNumbering
    hidden: tuple[Field, ...]
    writes_changes: bool
    may_rewrite_marked: bool
    may_repeat: bool = False
    _gone: dict[int, BitMap64] = field(default_factory=dict, init=False)
    _kept: dict[int, BitMap64] = field(default_factory=dict, init=False)
    _staged: StagedRows = field(default_factory=StagedRows, init=False)
    _removed: list[int] = field(default_factory=list, init=False)
    _marked: list[int] = field(default_factory=list, init=False)

    def stage(self, found: Iterable[FoundRows]) -> StagedRows:
        """Write and stage what becomes of the rows; nothing is left behind when it fails.

        Raises `UnsupportedFeatureError` for a row of the table that was found twice, and what reading and
        writing raise.
        """
        begun = time.perf_counter()
        staged, clock = self._staged, self.transaction.clock
        plan = self.write_plan.without_rules()
        with self.transaction.all_or_nothing(), ChangeFileWriter(plan, clock=clock) as changes:
            with_ids = replace(plan, hidden_columns=self.hidden)
            staged.added = write_files(with_ids, self._written(found, changes), clock=clock)
            self.transaction.add_files(staged.added)
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
                changes.write(with_change_type(each.old, _TAKEN[kind]))
            for batch, row_ids in self._completed(each):
                if self.writes_changes:
                    changes.write(with_change_type(batch, _WRITTEN[kind]))
                yield self._with_row_ids(batch, row_ids)
        self._ensure_found_once()
        yield from self._copied(self._decide())

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
        for file, rows in _by_file(each.files):
            distinct, first = np.unique(each.positions[rows].astype(np.uint64), return_index=True)
            known = self._gone.get(file, BitMap64()) & BitMap64(distinct)
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

    def _with_row_ids(self, batch: pa.RecordBatch, row_ids: pa.Array | None) -> pa.RecordBatch:
        """The batch with the columns of row tracking: a changed row keeps its id and has a new version."""
        if not self.hidden:
            return batch
        nothing = pa.nulls(batch.num_rows, pa.int64())
        arrays = [*batch.columns, nothing if row_ids is None else row_ids, nothing]
        names = [*batch.schema.names, *(each.name for each in self.hidden)]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    # --- files that lose rows ---------------------------------------------------------------------

    def _decide(self) -> list[scan.FileTask]:
        """Sort the files that lose rows by what becomes of them, and return what is left of some to copy."""
        places = sorted(self._gone)
        live = dict(zip(places, scan.count_live_rows(self.plan, places), strict=True))
        copied = []
        for place in places:
            left = live[place] - len(self._gone[place])
            if left and self._is_worth_marking(place, left, live[place]):
                self._marked.append(place)
            else:
                self._removed.append(place)
                if left:
                    copied.append(place)
        self._staged.copied_rows = sum(live[place] - len(self._gone[place]) for place in copied)
        return self._tasks_of_the_rest(copied)

    def _is_worth_marking(self, place: int, left: int, live: int) -> bool:
        if not self.transaction.marks_deleted_rows:
            return False
        vector = self.plan.tasks[place].deletion_vector
        rows = live + (0 if vector is None else vector.cardinality)
        return not self.may_rewrite_marked or left >= rows * (1 - _MOST_DEAD)

    def _tasks_of_the_rest(self, places: Sequence[int]) -> list[scan.FileTask]:
        tasks = [self.plan.tasks[place] for place in places]
        vectors = [task.deletion_vector for task in tasks if task.deletion_vector is not None]
        present = iter(read_deletion_vectors(self.plan.store, vectors))
        rest = []
        for place, task in zip(places, tasks, strict=True):
            gone = self._gone[place]
            if task.deletion_vector is not None:
                gone = gone | next(present).bitmap
            rest.append(replace(task, deletion_vector=inline_deletion_vector(gone)))
        return rest

    def _copied(self, tasks: Sequence[scan.FileTask]) -> Iterator[pa.RecordBatch]:
        layout = self.plan.layout
        names = tuple(layout.table_schema.names)
        if not self.hidden:
            yield from scan.BatchReader(layout, names).read(tasks)
            return
        reader = scan.BatchReader(layout, (*names, *scan.ROW_TRACKING_COLUMNS))
        in_files = [*names, *(each.name for each in self.hidden)]
        for batch in reader.read(tasks):
            yield batch.rename_columns(in_files)

    def _take_away(self) -> None:
        """Stage what the files lose."""
        staged, files = self._staged, self.plan.files
        tombstones = self.transaction.remove_files(files.take(pa.array(self._removed, pa.int64())))
        staged.removed_files = len(tombstones)
        staged.removed_bytes = sum(each.size or 0 for each in tombstones)
        staged.vectors_removed = sum(each.deletion_vector is not None for each in tombstones)
        for place, positions in self._kept.items():
            self.transaction.read_rows({"path": self.plan.tasks[place].path}, positions)
        for place in self._marked:
            row = self._file_row(place)
            self.transaction.remove_rows(row, self._gone[place])
            if row["deletion_vector"] is None:
                staged.vectors_added += 1
            else:
                staged.vectors_updated += 1

    def _file_row(self, place: int) -> dict[str, Any]:
        """The row of the table of files, which a deletion vector needs the number of rows of."""
        (row,) = self.plan.files.slice(place, 1).to_pylist(maps_as_pydicts="strict")
        task = self.plan.tasks[place]
        if task.num_records is None:
            (live,) = scan.count_live_rows(self.plan, [place])
            rows = live + (0 if task.deletion_vector is None else task.deletion_vector.cardinality)
            known = {} if row["stats"] is None else orjson.loads(row["stats"])
            row["stats"] = orjson.dumps({**known, "numRecords": rows}).decode()
        return dict(row)


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
