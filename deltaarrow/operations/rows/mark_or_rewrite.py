"""Files that lose rows: whether each is removed, gets a deletion vector, or is rewritten.

- A file without live rows left is removed.
- In a table with deletion vectors, a file gets a larger deletion vector, unless most of its rows would then
  be deleted and a rewrite is allowed: reading few live rows from a large file is expensive.
- Any other file is removed, and its remaining rows are copied to new files with their row ids.

Chapters "Deletion Vectors", "Add File and Remove File" and "Row Tracking" of the protocol.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyroaring import BitMap64

import deltaarrow.scan as scan
from deltaarrow.actions import Action, AddFile, RemoveFile
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.deletion_vectors import inline_deletion_vector, read_deletion_vectors
from deltaarrow.operations.rows.row_id_assignment import hidden_columns
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import Field
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import with_num_records
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["FileLosses", "LostRows", "hidden_columns_of", "live_rows"]

_MOST_DEAD = 0.5
"""The fraction of a file's rows that deletion vectors may mark: readers still read the marked rows."""


@dataclass
class FileLosses:
    """Counts of files that lost rows, by what was done with them."""

    removed_files: int = 0
    removed_bytes: int = 0
    vectors_added: int = 0
    vectors_updated: int = 0
    vectors_removed: int = 0

    @classmethod
    def of(cls, actions: Iterable[Action]) -> "FileLosses":
        """Count from the actions of a commit; a file that is removed and added again got a new vector."""
        actions = list(actions)
        kept = {each.path for each in actions if isinstance(each, AddFile)}
        losses = cls()
        for each in actions:
            if not isinstance(each, RemoveFile):
                continue
            if each.path not in kept:
                losses.removed_files += 1
                losses.removed_bytes += each.size or 0
                losses.vectors_removed += each.deletion_vector is not None
            elif each.deletion_vector is None:
                losses.vectors_added += 1
            else:
                losses.vectors_updated += 1
        return losses


def hidden_columns_of(snapshot: Snapshot | None, layout: scan.TableLayout) -> tuple[Field, ...]:
    """Return the columns of data files that materialize row ids, or none if a layout does not track rows."""
    tracking = layout.row_tracking
    if tracking is None or snapshot is None:
        return ()
    return hidden_columns(tracking, snapshot.configuration)


def live_rows(
    layout: scan.TableLayout,
    hidden: Sequence[Field],
    tasks: Sequence[scan.FileTask],
    *,
    locate: bool = False,
    encoded: frozenset[str] = frozenset(),
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files as they are written again, file by file; strings of CHAR(n) are not padded.

    Args:
        layout: with row tracking where there are hidden columns.
        hidden: the columns of data files that keep row ids, if there are.
        tasks: the files.
        locate: whether `FILE_COLUMN` and `ROW_COLUMN` come last, with the place of the file in `tasks`.
        encoded: text columns that come as dictionary arrays.
    """
    names = tuple(layout.table_schema.names)
    places = (scan.FILE_COLUMN, scan.ROW_COLUMN) if locate else ()
    tracked = scan.ROW_TRACKING_COLUMNS if hidden else ()
    reader = scan.BatchReader(layout.as_stored, (*names, *tracked), locate=locate, encoded=encoded)
    in_files = [*names, *(each.name for each in hidden), *places]
    for batch in reader.read(tasks):
        yield batch.rename_columns(in_files) if hidden else batch


@dataclass(frozen=True)
class LostRows:
    """The files of a plan that lose rows; decides what happens to each file.

    Args:
        plan: the files, with all columns of `Snapshot.files`; its layout tracks rows if the table does.
        gone: the positions of the deleted rows, by the index of their file in the plan; None for all rows.
        marks_deleted_rows: whether files may get deletion vectors.
        hidden: the row tracking columns in data files; none if rows are not tracked.
        may_rewrite_marked: whether to rewrite a file that could get a deletion vector but would keep few
            rows.
    """

    plan: scan.ScanPlan
    gone: Mapping[int, BitMap64 | None]
    marks_deleted_rows: bool
    hidden: tuple[Field, ...] = ()
    may_rewrite_marked: bool = False

    @classmethod
    def of(
        cls, transaction: OptimisticTransaction, plan: scan.ScanPlan, gone: Mapping[int, BitMap64 | None]
    ) -> "LostRows":
        """Return the lost rows of a table whose transaction decides how they are recorded."""
        hidden = hidden_columns_of(transaction.snapshot, plan.layout)
        return cls(plan, gone, transaction.marks_deleted_rows, hidden)

    @cached_property
    def live(self) -> dict[int, int]:
        """The number of live rows of each file before the deletion, by file index."""
        places = sorted(self.gone)
        return dict(zip(places, scan.count_live_rows(self.plan, places), strict=True))

    @cached_property
    def left(self) -> dict[int, int]:
        """The number of live rows of each file after the deletion, by file index."""
        return {
            place: 0 if (rows := self.gone[place]) is None else live - len(rows)
            for place, live in self.live.items()
        }

    @cached_property
    def marked(self) -> list[int]:
        """The indexes of the files that get a deletion vector."""
        if not self.marks_deleted_rows:
            return []
        return [place for place, left in self.left.items() if left and self._is_worth_marking(place, left)]

    def _is_worth_marking(self, place: int, left: int) -> bool:
        return not self.may_rewrite_marked or left >= self._rows(place) * (1 - _MOST_DEAD)

    @cached_property
    def rewritten(self) -> list[int]:
        """The indexes of the files whose remaining rows are copied."""
        marked = set(self.marked)
        return [place for place, left in self.left.items() if left and place not in marked]

    @property
    def removed(self) -> list[scan.FileTask]:
        """The files to remove: files without rows left, and files whose remaining rows are copied."""
        marked = set(self.marked)
        return [self.plan.tasks[place] for place in self.left if place not in marked]

    @property
    def lost_rows(self) -> int:
        """The number of deleted rows."""
        return sum(self.live.values()) - sum(self.left.values())

    @property
    def copied_rows(self) -> int:
        """The number of copied rows."""
        return sum(self.left[place] for place in self.rewritten)

    def _rows(self, place: int) -> int:
        vector = self.plan.tasks[place].deletion_vector
        return self.live[place] + (0 if vector is None else vector.cardinality)

    def copied(self) -> Iterator[pa.RecordBatch]:
        """Yield the copied rows."""
        tasks = [self.plan.tasks[place] for place in self.rewritten]
        vectors = [task.deletion_vector for task in tasks if task.deletion_vector is not None]
        present = iter(read_deletion_vectors(self.plan.store, vectors))
        rest = []
        for place, task in zip(self.rewritten, tasks, strict=True):
            gone = self.gone[place] or BitMap64()
            if task.deletion_vector is not None:
                gone = gone | next(present).bitmap
            rest.append(replace(task, deletion_vector=inline_deletion_vector(gone)))
        return live_rows(self.plan.layout, self.hidden, rest)

    def lost(self) -> Iterator[pa.RecordBatch]:
        """Yield the deleted rows."""
        tasks = []
        for place, rows in self.gone.items():
            task = self.plan.tasks[place]
            if rows is not None and self.left[place]:
                task = replace(task, only_in=inline_deletion_vector(rows))
            tasks.append(task)
        return live_rows(self.plan.layout, self.hidden, tasks)

    def stage(self, transaction: OptimisticTransaction) -> None:
        """Stage removals and deletion vectors; the caller stages the files with the copied rows."""
        by_row = set(self.marked) | set(self._emptied_by_row)
        whole = [place for place in self.left if place not in by_row]
        files = self.plan.files
        transaction.remove_files(files if len(whole) == len(files) else files.take(integers(whole)))
        for place in sorted(by_row):
            rows = self.gone[place]
            assert rows is not None
            transaction.remove_rows(self._counted_file(place), rows)

    @property
    def _emptied_by_row(self) -> list[int]:
        """The indexes of files that lose all rows row by row; concurrent commits may delete some before."""
        if not self.marks_deleted_rows:
            return []
        return [place for place, left in self.left.items() if not left and self.gone[place] is not None]

    def _counted_file(self, place: int) -> dict[str, Any]:
        """Return the row of a file, with numRecords in its statistics, which a deletion vector requires."""
        (row,) = self.plan.files.slice(place, 1).to_pylist(maps_as_pydicts="strict")
        if self.plan.tasks[place].num_records is None:
            row["stats"] = with_num_records(row["stats"], self._rows(place))
        return dict(row)
