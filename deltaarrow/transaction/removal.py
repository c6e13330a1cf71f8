"""Tombstones of live files, and deletion vectors for files that lose some rows.

A deletion vector deletes rows: the file stays, and its logical file is replaced by one with a larger vector.
Chapters "Add File and Remove File" and "Deletion Vectors" of the protocol.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import orjson
from pyroaring import BitMap64

from deltaarrow.actions import AddFile, RemoveFile
from deltaarrow.deletion_vectors import (
    DeletionVectorDescriptor,
    read_deletion_vectors,
    write_deletion_vectors,
)
from deltaarrow.errors import CorruptLogError
from deltaarrow.features import properties
from deltaarrow.partitions import random_prefix
from deltaarrow.statistics import with_wide_bounds
from deltaarrow.storage import Store

__all__ = [
    "FileRow",
    "MarkedFiles",
    "PresentVectors",
    "RowRemoval",
    "add_again",
    "deletion_vector_prefix",
    "descriptor_of",
    "remove_file",
    "remove_rows",
]

FileRow = Mapping[str, Any]
"""A row of `Snapshot.files`, as `to_pylist(maps_as_pydicts="strict")` returns it."""


@dataclass(frozen=True)
class RowRemoval:
    """Rows of one live file to delete: their positions in the data file, which counts deleted rows too."""

    file: FileRow
    positions: BitMap64


@dataclass
class PresentVectors:
    """Deletion vectors of a table, each read once however often a commit is retried."""

    _known: dict[DeletionVectorDescriptor, BitMap64] = field(default_factory=dict, init=False)

    def read(
        self, store: Store, vectors: Iterable[DeletionVectorDescriptor]
    ) -> Mapping[DeletionVectorDescriptor, BitMap64]:
        """Return the deleted rows of each vector; callers must not change them."""
        news = [vector for vector in vectors if vector not in self._known]
        found = read_deletion_vectors(store, news)
        self._known.update((vector, rows.bitmap) for vector, rows in zip(news, found, strict=True))
        return self._known


class MarkedFiles(NamedTuple):
    """The actions that replace files that lose rows, and the names of the vector files written for them."""

    removes: list[RemoveFile]
    adds: list[AddFile]
    written: list[str]


def descriptor_of(file: FileRow) -> DeletionVectorDescriptor | None:
    """Return the deletion vector of a live file, if it has one."""
    vector = file["deletion_vector"]
    return None if vector is None else DeletionVectorDescriptor(**vector)


def remove_file(file: FileRow, now: int, *, data_change: bool = True) -> RemoveFile:
    """Return the tombstone of a live file; `now` is in milliseconds since the epoch."""
    return RemoveFile(
        path=file["log_path"],
        deletion_timestamp=now,
        data_change=data_change,
        extended_file_metadata=True,
        partition_values=file["partition_values"],
        size=file["size"],
        stats=file["stats"],
        tags=file["tags"],
        deletion_vector=descriptor_of(file),
        base_row_id=file["base_row_id"],
        default_row_commit_version=file["default_row_commit_version"],
    )


def add_again(file: FileRow, *, data_change: bool) -> AddFile:
    """Return the action that adds a live file again unchanged, row ids included."""
    return AddFile(
        path=file["log_path"],
        partition_values=file["partition_values"],
        size=file["size"],
        modification_time=file["modification_time"],
        data_change=data_change,
        stats=file["stats"],
        tags=file["tags"],
        deletion_vector=descriptor_of(file),
        base_row_id=file["base_row_id"],
        default_row_commit_version=file["default_row_commit_version"],
        clustering_provider=file["clustering_provider"],
    )


def _num_records(file: FileRow) -> int:
    stats = file["stats"]
    count = None if stats is None else orjson.loads(stats).get("numRecords")
    if not isinstance(count, int):
        raise CorruptLogError(
            f"{file['path']} has no numRecords in its statistics, which a deletion vector needs"
        )
    return count


def deletion_vector_prefix(configuration: Mapping[str, str]) -> str:
    """Return the folder for a new deletion vector file: random if the table randomizes file prefixes."""
    if not properties.RANDOMIZE_FILE_PREFIXES.parse(configuration):
        return ""
    return random_prefix(properties.RANDOM_PREFIX_LENGTH.parse(configuration))


def remove_rows(
    store: Store, removals: Sequence[RowRemoval], now: int, present: PresentVectors, *, prefix: str = ""
) -> MarkedFiles:
    """Write the deletion vectors of one operation and return the actions that replace the files.

    The vectors of all files share one ``.bin`` file, in the folder `prefix` of the table. A file that loses
    its last row is removed and not added again; a file that loses no further row stays as it is.

    Raises `CorruptLogError` for a file without a row count, and `ValueError` for a position beyond it.
    """
    descriptors = [descriptor_of(removal.file) for removal in removals]
    known = present.read(store, [vector for vector in descriptors if vector is not None])
    removes, kept, vectors = [], [], []
    for removal, vector in zip(removals, descriptors, strict=True):
        file, count = removal.file, _num_records(removal.file)
        if removal.positions and removal.positions.max() >= count:
            raise ValueError(
                f"{file['path']} has {count} rows, so there is none at position {removal.positions.max()}"
            )
        before = BitMap64() if vector is None else known[vector]
        deleted = before | removal.positions
        if len(deleted) == len(before):
            continue
        # delta-spark keeps only this of the statistics in the tombstone of a file that is added again.
        stats = orjson.dumps({"numRecords": count}).decode()
        removes.append(replace(remove_file(file, now), stats=stats))
        if len(deleted) < count:
            kept.append(_with_wide_bounds(file))
            vectors.append(deleted)
    written = write_deletion_vectors(store, vectors, prefix=prefix)
    adds = [replace(add, deletion_vector=vector) for add, vector in zip(kept, written, strict=True)]
    names = {name for each in written if (name := each.file_name()) is not None}
    return MarkedFiles(removes, adds, sorted(names))


def _with_wide_bounds(file: FileRow) -> AddFile:
    """Return the action that adds a live file with wide bounds, because it is about to lose rows."""
    added = add_again(file, data_change=True)
    before = added.deletion_vector
    stats = with_wide_bounds(file["stats"], 0 if before is None else before.cardinality)
    return replace(added, stats=stats)
