"""Rows that a commit moves to new files, while other commits may delete some of them.

Compaction copies the live rows of files, in order, to one new file. A commit that deletes some of these rows
by deletion vectors in the meantime is no conflict: the position of a row in the new file follows from its
position in the old one, so the new file is committed with a deletion vector of its own. Chapters "Deletion
Vectors" and "Add File and Remove File" of the protocol.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyroaring import BitMap64

from deltaarrow.actions import AddFile
from deltaarrow.deletion_vectors import DeletionVectorDescriptor, write_deletion_vectors
from deltaarrow.statistics import with_wide_bounds
from deltaarrow.storage import Store
from deltaarrow.transaction.removal import FileRow, MarkedFiles, PresentVectors, descriptor_of, remove_file

__all__ = ["RelocatedFile", "Relocation", "relocate"]


@dataclass(frozen=True)
class RelocatedFile:
    """A live file whose live rows stand in the new file from the position `start` on, in their order.

    `read` is its row of `Snapshot.files` when its rows were copied, `newest` the one in the version that the
    commit goes after.
    """

    read: FileRow
    start: int
    newest: FileRow

    @property
    def is_changed(self) -> bool:
        """Whether the file has got another deletion vector since its rows were copied."""
        return descriptor_of(self.read) != descriptor_of(self.newest)

    def lost(self, deleted: Mapping[DeletionVectorDescriptor, BitMap64]) -> BitMap64:
        """Return the positions in the new file of the rows that were deleted since they were copied."""
        if not self.is_changed:
            return BitMap64()
        before, after = descriptor_of(self.read), descriptor_of(self.newest)
        skipped = _positions(before, deleted)
        now = _positions(after, deleted)
        lost = np.setdiff1d(now, skipped, assume_unique=True)
        return BitMap64((lost - np.searchsorted(skipped, lost) + self.start).astype(np.uint64).tolist())


def _positions(
    vector: DeletionVectorDescriptor | None, deleted: Mapping[DeletionVectorDescriptor, BitMap64]
) -> np.ndarray:
    return np.array([] if vector is None else deleted[vector].to_array(), np.int64)


@dataclass(frozen=True)
class Relocation:
    """A new file with a number of rows, and by their paths the files that it takes the place of.

    There is no new file where there are no rows.
    """

    added: AddFile | None
    rows: int
    files: Mapping[str, RelocatedFile]

    @classmethod
    def of(cls, added: AddFile | None, rows: Sequence[FileRow], counts: Sequence[int]) -> "Relocation":
        """The new file with all live rows of files, one file after the other.

        Args:
            added: the new file.
            rows: the files, as rows of `Snapshot.files` with all columns.
            counts: how many live rows each has.
        """
        starts = np.cumsum([0, *counts[:-1]]).tolist()
        return cls(
            added,
            sum(counts),
            {row["path"]: RelocatedFile(row, start, row) for row, start in zip(rows, starts, strict=True)},
        )

    def after(self, files: Mapping[str, FileRow]) -> "Relocation":
        """Return the same for files that another commit has given other deletion vectors."""
        newest = {path: files[path] for path in self.files if path in files}
        if not newest:
            return self
        changed = {path: replace(self.files[path], newest=row) for path, row in newest.items()}
        return replace(self, files={**self.files, **changed})

    def lost(self, deleted: Mapping[DeletionVectorDescriptor, BitMap64]) -> BitMap64:
        """Return the positions of the rows of the new file that others have deleted since."""
        return BitMap64().union(*(file.lost(deleted) for file in self.files.values()))

    @property
    def vectors(self) -> list[DeletionVectorDescriptor]:
        """The deletion vectors that tell which rows others have deleted."""
        rows = (row for file in self.files.values() if file.is_changed for row in (file.read, file.newest))
        return [vector for row in rows if (vector := descriptor_of(row)) is not None]


def relocate(
    store: Store, relocations: Sequence[Relocation], now: int, present: PresentVectors, prefix: str
) -> MarkedFiles:
    """Return what a commit does to the old files and to the new ones.

    Deletion vectors are written for new files with rows that others have deleted meanwhile, all in one file
    in the folder `prefix` of the table. A new file all of whose rows are deleted is not added.
    """
    deleted = present.read(store, [vector for each in relocations for vector in each.vectors])
    lost = [each.lost(deleted) for each in relocations]
    marked = [
        place
        for place, (each, rows) in enumerate(zip(relocations, lost, strict=True))
        if 0 < len(rows) < each.rows
    ]
    written = write_deletion_vectors(store, [lost[place] for place in marked], prefix=prefix)
    vectors = dict(zip(marked, written, strict=True))
    adds = [
        _with_vector(each.added, vectors.get(place))
        for place, each in enumerate(relocations)
        if each.added is not None and len(lost[place]) < each.rows
    ]
    removes = [
        remove_file(file.newest, now, data_change=False)
        for each in relocations
        for file in each.files.values()
    ]
    names = {name for each in written if (name := each.file_name()) is not None}
    return MarkedFiles(removes, adds, sorted(names))


def _with_vector(added: AddFile, vector: DeletionVectorDescriptor | None) -> AddFile:
    """Return a new file with its deletion vector, by which its bounds are no longer tight."""
    if vector is None:
        return added
    assert added.stats is not None
    return replace(added, deletion_vector=vector, stats=with_wide_bounds(added.stats, 0))
