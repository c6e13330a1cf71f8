"""The rows left in files with deletion vectors, in the form that ``deltalake`` returns."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.deletion_vectors import DeletedRows, read_deletion_vectors
from deltaarrow.errors import CorruptLogError
from deltaarrow.scan import PLAN_COLUMNS, FileTask, file_tasks
from deltaarrow.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["deletion_vector_masks"]

_MASKS = pa.schema([("filepath", pa.string()), ("selection_vector", pa.list_(pa.bool_()))])


def deletion_vector_masks(snapshot: Snapshot) -> pa.Table:
    """Return each file that has a deletion vector, with a mask of its rows: True for a row that is there.

    Raises `CorruptDeletionVectorError` for a vector that cannot be trusted, and `CorruptLogError` if a file
    with a vector lacks the number of its rows.
    """
    tasks = file_tasks(snapshot.files(columns=PLAN_COLUMNS))
    found = [(each, each.deletion_vector) for each in tasks if each.deletion_vector is not None]
    vectors = read_deletion_vectors(snapshot.store, [vector for _, vector in found])
    masks = [_mask(task, rows) for (task, _), rows in zip(found, vectors, strict=True)]
    uris = [_as_uri(snapshot.store.location(each.path)) for each, _ in found]
    return pa.table({"filepath": uris, "selection_vector": masks}, schema=_MASKS)


def _mask(task: FileTask, rows: DeletedRows) -> "npt.NDArray[np.bool_]":
    if task.num_records is None:
        raise CorruptLogError(f"{task.path} has a deletion vector, and no numRecords in its statistics")
    rows.ensure_within(task.num_records)
    return rows.mask(0, task.num_records)


def _as_uri(location: str) -> str:
    return Path(location).as_uri() if location.startswith("/") else location
