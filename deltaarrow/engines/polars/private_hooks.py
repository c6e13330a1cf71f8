"""Private hooks of Polars, and the Polars versions on which they were tested.

- Polars accepts deletion vectors for a whole scan through a private argument of `polars.scan_parquet`. With
  it, one scan reads all files, whatever their deletion vectors; without it, every file with a deletion vector
  is a separate scan with a row index (see `deltaarrow.engines.polars.native_scan`).
- `LazyFrame.pipe_with_schema` is public but needs another package to pickle; the private method below it does
  not. It chooses a frame when a query is planned.

Without the hooks the results are the same but slower. The hooks are used only on the versions in `VERIFIED`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deltaarrow.deletion_vectors import DeletedRows, DeletionVectorDescriptor, read_deletion_vectors
from deltaarrow.runtime.optional import require
from deltaarrow.scan import FileTask
from deltaarrow.scan.damage import reading
from deltaarrow.storage import Store

if TYPE_CHECKING:
    import polars as pl
else:
    pl = require("polars")

__all__ = ["VERIFIED", "chosen_when_planned", "deletion_arguments", "is_hook_verified", "read_deleted_rows"]

VERIFIED = ((2, 1),)
"""Polars releases (major, minor) that behave as this module relies on."""


def is_hook_verified(version: str | None = None) -> bool:
    """Whether the hooks may be used with a version of Polars, by default the installed one.

    >>> is_hook_verified("2.1.7"), is_hook_verified("99.0.0")
    (True, False)
    """
    major, minor = (version or pl.__version__).split(".")[:2]
    return (major, minor) in {(str(a), str(b)) for a, b in VERIFIED}


@dataclass(frozen=True)
class _Choice:
    choose: "Callable[[pl.LazyFrame], pl.LazyFrame]"

    def __call__(self, inputs: Any) -> Any:
        (frame,), _ = inputs
        return self.choose(pl.LazyFrame._from_pyldf(frame))._ldf


def chosen_when_planned(
    frame: "pl.LazyFrame", choose: "Callable[[pl.LazyFrame], pl.LazyFrame]"
) -> "pl.LazyFrame":
    """Return a lazy frame that query planning replaces by ``choose(frame)``, which has the same schema.

    It is picklable if `choose` is.
    """
    return pl.LazyFrame._from_pyldf(frame._ldf.pipe_with_schema(_Choice(choose)))


def deletion_arguments(store: Store, tasks: Mapping[str, FileTask]) -> dict[str, Any]:
    """Return the arguments of `polars.scan_parquet` that make it leave out deleted rows.

    `tasks` maps every location of the scan to its file. All deletion vectors are read at once when the scan
    runs.
    """
    if all(task.deletion_vector is None for task in tasks.values()):
        return {}
    return {"_deletion_files": ("delta-deletion-vector", _SelectionVectors(store, tasks))}


class _SelectionVectors:
    """Answers Polars with masks of the live rows of files; picklable.

    The last answer is cached, because a frame asks for the same files in each of its queries.
    """

    def __init__(self, store: Store, tasks: Mapping[str, FileTask]) -> None:
        self._store = store
        self._tasks = tasks
        self._last: tuple[list[str], pl.DataFrame] = [], pl.DataFrame()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the answer."""
        return _SelectionVectors, (self._store, self._tasks)

    def __call__(self, requested: "pl.DataFrame") -> "pl.DataFrame":
        locations = requested.get_column("path").to_list()
        known, answer = self._last
        if locations != known:
            answer = self._answer(locations)
            self._last = locations, answer
        return answer

    def _answer(self, locations: list[str]) -> "pl.DataFrame":
        if unknown := [location for location in locations if location not in self._tasks]:
            raise RuntimeError(
                f"Polars asks for deletion vectors of files that are not in the scan: {unknown}"
            )
        tasks = [self._tasks[location] for location in locations]
        wanted = [task for task in tasks if task.deletion_vector is not None]
        vectors = read_deleted_rows(self._store, wanted)
        deleted = dict(zip([task.path for task in wanted], vectors, strict=True))
        masks = _masks([deleted.get(task.path) for task in tasks])
        return pl.DataFrame({"selection_vector": pl.from_arrow(masks)})


def read_deleted_rows(store: Store, tasks: list[FileTask]) -> list[DeletedRows]:
    """Read the deletion vectors of files, each of which has one.

    Raises `CorruptDeletionVectorError` for a broken vector, or one that marks rows beyond the end of its
    file.
    """
    descriptors: list[DeletionVectorDescriptor] = []
    for task in tasks:
        assert task.deletion_vector is not None
        descriptors.append(task.deletion_vector)
    found = read_deletion_vectors(store, descriptors)
    for task, deleted in zip(tasks, found, strict=True):
        deleted.ensure_within(_num_rows(store, task))
    return found


def _num_rows(store: Store, task: FileTask) -> int:
    """The number of rows of a file, deleted ones included, from the log or else from the file."""
    if task.num_records is not None:
        return task.num_records
    with reading(task.path):
        metadata = pq.read_metadata(store.arrow_path(task.path), filesystem=store.arrow_filesystem())
    return int(metadata.num_rows)


def _masks(vectors: list[DeletedRows | None]) -> pa.LargeListArray:
    """Return one list of booleans per file, True for live rows; rows beyond the end of a list are live."""
    lengths = [0 if each is None or not each.bitmap else each.bitmap.max() + 1 for each in vectors]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    masks = [each.mask(0, length) for each, length in zip(vectors, lengths, strict=True) if each is not None]
    bits = np.packbits(np.concatenate([*masks, np.zeros(0, np.bool_)]), bitorder="little")
    values = pa.Array.from_buffers(pa.bool_(), int(offsets[-1]), [None, pa.py_buffer(bits)])
    return pa.LargeListArray.from_arrays(
        pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)]), values
    )
