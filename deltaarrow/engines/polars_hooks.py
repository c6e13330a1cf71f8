"""The private hooks of Polars that are used, and the versions of Polars on which they were tested.

- Polars takes deletion vectors for a whole scan through an argument of `polars.scan_parquet` that is not
  public. With it one scan reads all files, whatever their deletion vectors; without it every file that
  has one is a scan of its own with a row index (see `deltaarrow.engines.polars_native`).
- `LazyFrame.pipe_with_schema` is public, but pickles only with a further package; what is below it does
  without. By it a frame is chosen when a query is planned.

Results are the same without them, and come later. They are used on the versions in `VERIFIED` only.
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
"""Releases (major, minor) of Polars that do what this module relies on."""


def is_hook_verified(version: str | None = None) -> bool:
    """Whether the hook may be used with a version of Polars, by default the one installed.

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
    """Return a lazy frame in whose place a query that is planned has ``choose(frame)``, of the same schema.

    It pickles if `choose` does.
    """
    return pl.LazyFrame._from_pyldf(frame._ldf.pipe_with_schema(_Choice(choose)))


def deletion_arguments(store: Store, tasks: Mapping[str, FileTask]) -> dict[str, Any]:
    """Return the arguments of `polars.scan_parquet` that make it leave deleted rows out.

    `tasks` has the file at every location that the scan is given. Deletion vectors are read when the
    scan runs, all of them at once.
    """
    if all(task.deletion_vector is None for task in tasks.values()):
        return {}
    return {"_deletion_files": ("delta-deletion-vector", _SelectionVectors(store, tasks))}


class _SelectionVectors:
    """Answers Polars with the rows to keep of files; picklable.

    The last answer is kept: a frame is asked for the same files again at each of its queries.
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
                f"Polars asks for deletion vectors of files that were not given to it: {unknown}"
            )
        tasks = [self._tasks[location] for location in locations]
        wanted = [task for task in tasks if task.deletion_vector is not None]
        vectors = read_deleted_rows(self._store, wanted)
        deleted = dict(zip([task.path for task in wanted], vectors, strict=True))
        masks = _masks([deleted.get(task.path) for task in tasks])
        return pl.DataFrame({"selection_vector": pl.from_arrow(masks)})


def read_deleted_rows(store: Store, tasks: list[FileTask]) -> list[DeletedRows]:
    """Read the deletion vectors of files that all have one.

    Raises `CorruptDeletionVectorError` for a vector that is broken or reaches beyond its file.
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
    """The rows of a file, deleted ones included, from the log or else the file itself."""
    if task.num_records is not None:
        return task.num_records
    with reading(task.path):
        metadata = pq.read_metadata(store.arrow_path(task.path), filesystem=store.arrow_filesystem())
    return int(metadata.num_rows)


def _masks(vectors: list[DeletedRows | None]) -> pa.LargeListArray:
    """Return a list of booleans a file, True for a row to keep; rows after the end of a list are kept."""
    lengths = [0 if each is None or not each.bitmap else each.bitmap.max() + 1 for each in vectors]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    masks = [each.mask(0, length) for each, length in zip(vectors, lengths, strict=True) if each is not None]
    bits = np.packbits(np.concatenate([*masks, np.zeros(0, np.bool_)]), bitorder="little")
    values = pa.Array.from_buffers(pa.bool_(), int(offsets[-1]), [None, pa.py_buffer(bits)])
    return pa.LargeListArray.from_arrays(
        pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)]), values
    )
