"""The difference between a deep clone and its source, for repeating the clone."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.columnar.numpy_arrays import booleans
from deltaarrow.log.file_differences import keys_of

__all__ = ["CloneChanges", "find_changes", "total_size"]


@dataclass(frozen=True)
class CloneChanges:
    """Files that come and go, as tables of the columns of `Snapshot.files`.

    Attributes:
        new: files whose data files the clone did not have.
        marked: files that it has with another deletion vector; they keep their row ids.
        gone: live files of the clone that the source does not have so.
    """

    new: pa.Table
    marked: pa.Table
    gone: pa.Table


def find_changes(files: pa.Table, live: pa.Table) -> CloneChanges:
    """Return what makes the `live` files of a clone those `files` of the source, as the clone names them."""
    wanted, present = keys_of(files), keys_of(live)
    held, asked, rows = set(present), set(wanted), {key.path: row for row, key in enumerate(present)}
    is_new = _mask([key.path not in rows for key in wanted])
    is_marked = _mask([key.path in rows and key not in held for key in wanted])
    is_gone = _mask([key not in asked for key in present])
    marked = _with_row_ids(files.filter(is_marked), live, rows)
    return CloneChanges(files.filter(is_new), marked, live.filter(is_gone))


def _with_row_ids(files: pa.Table, live: pa.Table, rows: dict[str, int]) -> pa.Table:
    """Give files the row ids that their data files have in the clone."""
    places = pa.array([rows[path] for path in files.column("path").to_pylist()], pa.int64())
    for name in ("base_row_id", "default_row_commit_version"):
        place = files.schema.get_field_index(name)
        files = files.set_column(place, name, live.column(name).take(places))
    return files


def total_size(files: pa.Table) -> int:
    """Return the size of files in bytes."""
    return int(pc.sum(files.column("size")).as_py() or 0)


def _mask(truths: list[bool]) -> pa.Array:
    return booleans(np.array(truths, bool))
